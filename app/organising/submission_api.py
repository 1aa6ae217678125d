"""JSON API: everything that arrived in a challenge, as a table, as CSV, as archives, and what is done to many rows."""

from typing import Annotated, Any, Final

from fastapi import APIRouter, Query
from fastapi.responses import Response, StreamingResponse
from pydantic import BaseModel

from app.core.access import Action
from app.core.names import attachment
from app.core.rate_limits import Limited
from app.organising import bulk, overview, submissions
from app.organising.bulk import ArchiveQuery, BulkRequest, Plan, Selection
from app.organising.overview import ChallengeOverview
from app.organising.submissions import SubmissionTable, TableQuery
from app.web.dependencies import CurrentActor, ThePlatform, limited, requires

READ, ORGANISE = map(requires, (Action.READ_ORGANISING, Action.ORGANISE))
FILES: Final[dict[int | str, dict[str, Any]]] = {200: {"content": {"text/csv": {}}}}
TAR: Final[dict[int | str, dict[str, Any]]] = {200: {"content": {"application/x-tar": {}}}}

router = APIRouter(prefix="/api/v1/organise/challenges/{challenge}", tags=["organisers"])


class BulkOutcome(BaseModel):
    """How many rows an action was, or would be, done to, and how many are skipped for each reason."""

    done: int
    skipped: dict[str, int]

    @classmethod
    def of(cls, plan: Plan) -> "BulkOutcome":
        """Count the rows of a plan."""
        return cls(done=len(plan.rows), skipped=dict(plan.reasons))


@router.get("", dependencies=[READ])
def challenge_overview(platform: ThePlatform, actor: CurrentActor, challenge: str) -> ChallengeOverview:
    """Get what needs an organiser in a challenge, how far uploads came, the latest, and frequent problems."""
    return overview.challenge_overview(platform, actor, challenge)


@router.get("/submissions", dependencies=[READ])
def table(
    platform: ThePlatform, actor: CurrentActor, challenge: str, query: Annotated[TableQuery, Query()]
) -> SubmissionTable:
    """List uploads and the results of their submissions, in every state, newest first, 100 per page."""
    return submissions.table(platform, actor, challenge, query)


@router.get(
    "/submissions.csv",
    response_class=Response,
    responses=FILES,
    dependencies=[READ, limited(Limited.VIEW)],
)
def csv(
    platform: ThePlatform, actor: CurrentActor, challenge: str, query: Annotated[TableQuery, Query()]
) -> Response:
    """Download all rows that match as CSV."""
    lines = submissions.csv_lines(submissions.batches(platform, actor, challenge, query))
    headers = {"Content-Disposition": attachment(f"{challenge}-submissions.csv")}
    return StreamingResponse(lines, headers=headers, media_type="text/csv")


@router.get(
    "/archives.tar",
    response_class=Response,
    responses=TAR,
    dependencies=[ORGANISE, limited(Limited.VIEW)],
)
def archives(
    platform: ThePlatform, actor: CurrentActor, challenge: str, query: Annotated[ArchiveQuery, Query()]
) -> Response:
    """Download the archives of the rows that match, or of those named, in one tar; its last file lists them."""
    pieces = bulk.archives(platform, actor, challenge, query)
    headers = {"Content-Disposition": attachment(f"{challenge}-archives.tar")}
    return StreamingResponse(pieces, headers=headers, media_type="application/x-tar")


@router.post("/submissions/preview", dependencies=[ORGANISE])
def preview(platform: ThePlatform, actor: CurrentActor, challenge: str, selection: Selection) -> BulkOutcome:
    """Say what an action would do to these rows, without doing it."""
    return BulkOutcome.of(bulk.plan(platform, actor, challenge, selection))


@router.post("/submissions/bulk", dependencies=[ORGANISE, limited(Limited.CHANGE)])
def do(platform: ThePlatform, actor: CurrentActor, challenge: str, request: BulkRequest) -> BulkOutcome:
    """Run again, cancel, withdraw, refund, hide or show these rows. Sent twice, the second skips all of them."""
    return BulkOutcome.of(bulk.do(platform, actor, challenge, request))
