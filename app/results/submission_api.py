"""JSON API: submissions."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Header, Response

from app.core.access import Action, Actor
from app.core.paging import Before
from app.core.rate_limits import Limited
from app.platform import Platform
from app.results import submissions
from app.results.submissions import SubmissionRow, SubmissionView
from app.submissions import checking, quotas, submitting
from app.submissions.submitting import NewSubmission
from app.web.dependencies import CurrentActor, ThePlatform, limited, requires

router = APIRouter(prefix="/api/v1", tags=["submissions"])

Key = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=200,
        description="repeating a request with the same key has no further effect",
    ),
]


@router.post("/submissions", status_code=201, dependencies=[requires(Action.SUBMIT), limited(Limited.UPLOAD)])
async def confirm(
    platform: ThePlatform,
    actor: CurrentActor,
    requested: NewSubmission,
    response: Response,
    idempotency_key: Key = None,
) -> SubmissionView:
    """Submit a checked upload to be scored as a method's results. A method has one result per competition."""
    act = partial(_confirm, platform, actor, requested, response, idempotency_key)
    return await checking.with_current_check(platform, requested.upload, act)


def _confirm(
    platform: Platform, actor: Actor, requested: NewSubmission, response: Response, key: str | None
) -> SubmissionView:
    submission_id, is_new = submitting.confirm(platform, actor, requested, key)
    response.status_code = 201 if is_new else 200
    response.headers["Location"] = f"/api/v1/submissions/{submission_id}"
    view = submissions.submission_page(platform, actor, submission_id)
    competitions = [result.competition for result in view.results]
    _, fields = quotas.quota_headers(platform, actor, view.challenge, view.image_set, competitions)
    response.headers.update(fields)
    return view


@router.get("/submissions", dependencies=[requires(Action.READ_OWN)])
def mine(
    platform: ThePlatform, actor: CurrentActor, response: Response, before: Before = None
) -> tuple[SubmissionRow, ...]:
    """Your team's results, newest first, up to 100. The `Link` header has the URL of the next page."""
    page = submissions.team_rows(platform, actor, actor.teams, before=before)
    if page.next:
        response.headers["Link"] = f'</api/v1/submissions?before={page.next}>; rel="next"'
    return page.rows


@router.get("/submissions/{submission_id}", dependencies=[requires(Action.READ_SUBMISSION)])
def submission(platform: ThePlatform, actor: CurrentActor, submission_id: int) -> SubmissionView:
    """A submission with its results, states, and scores. Held-out phases show three decimals and full minutes."""
    return submissions.submission_page(platform, actor, submission_id)
