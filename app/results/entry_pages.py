"""The forms on the page of a submission: withdraw an entry, make the method public."""

from typing import Annotated

from fastapi import APIRouter, Form
from fastapi.responses import RedirectResponse, Response

from app.core.access import Action
from app.results import entries, submissions
from app.submissions import methods
from app.web.dependencies import CurrentActor, ThePlatform, requires

router = APIRouter()


@router.post("/entries/{entry_id}/withdraw", dependencies=[requires(Action.WITHDRAW)])
def withdraw(
    platform: ThePlatform,
    actor: CurrentActor,
    entry_id: int,
    reason: Annotated[str, Form(max_length=1000)] = "",
) -> Response:
    """Take an entry's result off its board."""
    submission_id = entries.withdraw(platform, actor, entry_id, reason)
    return RedirectResponse(f"/submissions/{submission_id}", status_code=303)


@router.post("/submissions/{submission_id}/public", dependencies=[requires(Action.PUBLISH)])
def make_public(platform: ThePlatform, actor: CurrentActor, submission_id: int) -> Response:
    """Show a submission's method to everybody."""
    method = submissions.submission_page(platform, actor, submission_id).method
    methods.make_public(platform, actor, method.id)
    return RedirectResponse(f"/submissions/{submission_id}", status_code=303)
