"""Pages: cancelling a submission that waits, and refunding a result."""

from typing import Annotated

from fastapi import APIRouter, Form
from fastapi.responses import RedirectResponse, Response

from app.core.access import Action
from app.results import cancelling
from app.web.dependencies import CurrentActor, ThePlatform, requires

router = APIRouter()


@router.post("/submissions/{submission_id}/cancel", dependencies=[requires(Action.SUBMIT)])
def cancel(platform: ThePlatform, actor: CurrentActor, submission_id: int) -> Response:
    """Cancel what still waits of a submission."""
    cancelling.cancel(platform, actor, submission_id)
    return RedirectResponse(f"/submissions/{submission_id}", status_code=303)


@router.post("/organise/results/{result_id}/refund", dependencies=[requires(Action.ORGANISE)])
def refund(
    platform: ThePlatform,
    actor: CurrentActor,
    result_id: int,
    reason: Annotated[str, Form(max_length=1000)] = "",
) -> Response:
    """Give the quota of a result back."""
    submission_id = cancelling.refund(platform, actor, result_id, reason)
    return RedirectResponse(f"/submissions/{submission_id}", status_code=303)
