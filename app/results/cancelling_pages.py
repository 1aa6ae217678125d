"""Pages: cancelling a submission that waits, and refunding a result."""

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from app.core.access import Action
from app.results import cancelling, submissions
from app.results.details import DetailRequest
from app.results.submission_pages import submission_page
from app.web.dependencies import CurrentActor, ThePlatform, requires
from app.web.forms import LONGEST_REASON, TheForm
from app.web.route_marks import marked

router = APIRouter()


@router.post("/submissions/{submission_id}/cancel", dependencies=[requires(Action.SUBMIT)])
@marked(done="The submission is cancelled. It costs no quota.")
def cancel(platform: ThePlatform, actor: CurrentActor, submission_id: int) -> Response:
    """Cancel what still waits of a submission."""
    cancelling.cancel(platform, actor, submission_id)
    return RedirectResponse(f"/submissions/{submission_id}", status_code=303)


@router.post("/organise/results/{result_id}/refund", dependencies=[requires(Action.ORGANISE)])
@marked(done="The result does not count against the quota any more.")
def refund(
    request: Request, platform: ThePlatform, actor: CurrentActor, result_id: int, form: TheForm
) -> Response:
    """Give the quota of a result back."""
    with form.showing_errors(names={"reason": f"reason-refund-{result_id}"}):
        reason = form.text("reason", LONGEST_REASON)
        submission_id = cancelling.refund(platform, actor, result_id, reason)
        return RedirectResponse(f"/submissions/{submission_id}", status_code=303)
    submission_id = submissions.submission_id_of(platform, result_id)
    return submission_page(request, platform, actor, submission_id, DetailRequest(), form)
