"""Pages: withdrawing a result and publishing a method from the page of a submission."""

from typing import Annotated

from fastapi import APIRouter, Form
from fastapi.responses import RedirectResponse, Response

from app.core.access import Action
from app.results import submissions, withdrawing
from app.submissions import methods
from app.web.dependencies import CurrentActor, ThePlatform, requires

router = APIRouter()


@router.post("/results/{result_id}/withdraw", dependencies=[requires(Action.WITHDRAW)])
def withdraw(
    platform: ThePlatform,
    actor: CurrentActor,
    result_id: int,
    reason: Annotated[str, Form(max_length=1000)] = "",
) -> Response:
    """Withdraw a result from its board."""
    submission_id = withdrawing.withdraw(platform, actor, result_id, reason)
    return RedirectResponse(f"/submissions/{submission_id}", status_code=303)


@router.post("/submissions/{submission_id}/public", dependencies=[requires(Action.PUBLISH)])
def make_public(platform: ThePlatform, actor: CurrentActor, submission_id: int) -> Response:
    """Make the method of a submission public."""
    method = submissions.submission_page(platform, actor, submission_id).method
    methods.make_public(platform, actor, method.id)
    return RedirectResponse(f"/submissions/{submission_id}", status_code=303)
