"""HTML pages: submissions with their results, and their status while they wait."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from app.challenges import asking, challenges
from app.core.access import Action, Actor
from app.core.paging import Before
from app.core.rate_limits import Limited
from app.jobs.places import poll_interval
from app.models import RunState
from app.platform import Platform
from app.results import progress, submissions
from app.results.details import DetailRequest, ResultDetail
from app.results.exhibits import ExhibitView
from app.results.submissions import RunView, SubmissionView
from app.web.dependencies import CurrentActor, ThePlatform, limited, mark_as_of, render, requires
from app.web.forms import Form
from app.web.route_marks import marked

router = APIRouter()


Competition = Annotated[int | None, Query(description="the result to show in detail")]

Classes = Annotated[
    Sequence[Annotated[str, Query(max_length=200)]],
    Query(alias="class", max_length=20, description="one or two classes, to draw their curves"),
]


@router.get("/submissions", dependencies=[requires(Action.READ_OWN)])
@marked(in_views=True)
def mine(request: Request, platform: ThePlatform, actor: CurrentActor, before: Before = None) -> Response:
    """List the submissions of the reader's team."""
    page, quotas, unpublishable = submissions.own_page(platform, actor, before)
    older = f"/submissions?before={page.next}" if page.next else None
    return render(
        request,
        "submissions/mine.html",
        methods=submissions.by_method(page.rows),
        older=older,
        quota=quotas,
        unpublishable=unpublishable,
        is_first=before is None,
        open_phases=() if page.rows else challenges.open_phases(platform, actor),
    )


@router.get(
    "/submissions/{submission_id}", dependencies=[requires(Action.READ_SUBMISSION), limited(Limited.VIEW)]
)
def submission(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    submission_id: int,
    competition: Competition = None,
    class_name: Classes = (),
) -> Response:
    """Show a submission: its progress and scores, and one result in detail."""
    asked = DetailRequest(competition, tuple(class_name))
    return submission_page(request, platform, actor, submission_id, asked, Form())


def submission_page(
    request: Request,
    platform: Platform,
    actor: Actor,
    submission_id: int,
    asked: DetailRequest,
    form: Form,
) -> Response:
    """Show a submission with the forms about its results."""
    view, detail = submissions.detailed_page(platform, actor, submission_id, asked)
    mark_as_of(request, view.challenge)
    place = None
    if view.is_member:
        place = asking.asking_about(platform, actor, view.challenge, view.upload_id, view.id)
    return render(
        request,
        "submissions/submission.html",
        asking=place,
        is_part=False,
        form=form,
        **context(view, detail, asked),
    )


def context(
    view: SubmissionView, detail: ResultDetail | None, asked: DetailRequest, etag: str | None = None
) -> dict[str, Any]:
    """Return the variables of the page and of the part that changes; etag: of that part while it waits."""
    shown = view.result_in_detail(asked.competition)
    query = urlencode(
        [
            *((("competition", asked.competition),) if asked.competition else ()),
            *(("class", name) for name in asked.classes),
        ]
    )
    return {
        "submission": view,
        "table": None if shown is None else _table(shown.shown),
        "detail": detail,
        "chosen": shown and shown.id,
        "query": query,
        "pause": pause_of(view, datetime.now(UTC)),
        "etag": etag,
    }


def pause_of(view: SubmissionView, now: datetime) -> int:
    """Return the seconds until a page next polls for the first of these runs to end."""
    runs = [
        result.shown for result in view.results if result.shown.state in (RunState.QUEUED, RunState.RUNNING)
    ]
    return min((poll_interval(now - run.queued_at, run.position) for run in runs), default=1)


def _table(run: RunView) -> ExhibitView:
    """Return the values of a run's classes and their mean."""
    return ExhibitView("score_table", run.measure or "Score", run.classes, run.headline, run.low, run.high)


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
    asked = DetailRequest(competition, tuple(class_name))
    view, detail = submissions.detailed_page(platform, actor, submission_id, asked)
    mark_as_of(request, view.challenge)
    response = render(request, "submissions/renewed.html", is_part=True, **context(view, detail, asked, etag))
    if etag is not None:
        response.headers["ETag"] = etag
    return response
