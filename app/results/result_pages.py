"""Pages: withdrawing a result and publishing a method from the page of a submission."""

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from app.core.access import Action
from app.results import submissions, withdrawing
from app.results.details import DetailRequest
from app.results.submission_pages import submission_page
from app.submissions import methods
from app.web.dependencies import CurrentActor, ThePlatform, requires
from app.web.forms import LONGEST_REASON, TheForm
from app.web.route_marks import marked

router = APIRouter()


@router.post("/results/{result_id}/withdraw", dependencies=[requires(Action.WITHDRAW)])
@marked(done="The result is withdrawn.")
def withdraw(
    request: Request, platform: ThePlatform, actor: CurrentActor, result_id: int, form: TheForm
) -> Response:
    """Withdraw a result from its board."""
    with form.showing_errors(names={"reason": f"reason-{result_id}"}):
        reason = form.text("reason", LONGEST_REASON)
        submission_id = withdrawing.withdraw(platform, actor, result_id, reason)
        return RedirectResponse(f"/submissions/{submission_id}", status_code=303)
    submission_id = submissions.submission_id_of(platform, result_id)
    return submission_page(request, platform, actor, submission_id, DetailRequest(), form)


@router.post("/submissions/{submission_id}/public", dependencies=[requires(Action.PUBLISH)])
@marked(done="The method is public now.")
def make_public(platform: ThePlatform, actor: CurrentActor, submission_id: int) -> Response:
    """Make the method of a submission public."""
    method = submissions.submission_page(platform, actor, submission_id).method
    methods.make_public(platform, actor, method.id)
    return RedirectResponse(f"/submissions/{submission_id}", status_code=303)
