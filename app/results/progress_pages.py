"""Pages: the status of a submission while it waits."""

from fastapi import APIRouter, Request
from fastapi.responses import Response

from app.core.access import Action
from app.results import progress, submissions
from app.results.details import Asked
from app.results.submission_pages import Classes, Competition, context
from app.web.dependencies import CurrentActor, ThePlatform, render, requires

router = APIRouter()


@router.get("/submissions/{submission_id}/status", dependencies=[requires(Action.READ_SUBMISSION)])
def status(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    submission_id: int,
    competition: Competition = None,
    class_name: Classes = (),
) -> Response:
    """Return the changing part of the page. It polls itself until it is final; 304 if nothing has changed."""
    etag = progress.etag_while_waiting(platform, actor, submission_id)
    if etag is not None and request.headers.get("if-none-match") == etag:
        return Response(status_code=304, headers={"ETag": etag})
    asked = Asked(competition, tuple(class_name))
    view, detail = submissions.detailed_page(platform, actor, submission_id, asked)
    response = render(request, "submissions/status.html", **context(view, detail, asked, etag))
    if etag is not None:
        response.headers["ETag"] = etag
    return response
