"""Submissions for programs."""

from typing import Annotated

from fastapi import APIRouter, Header, Response

from app.access import Action
from app.exhibits.schemas import CurveView, ExhibitView
from app.submissions import service
from app.submissions.schemas import NewSubmission, SubmissionRow, SubmissionView
from app.web import CurrentActor, ThePlatform, requires

router = APIRouter(prefix="/api", tags=["submissions"])

Key = Annotated[
    str | None,
    Header(
        min_length=1, max_length=200, description="sending the same again under the same key changes nothing"
    ),
]


@router.post("/submissions", status_code=201, dependencies=[requires(Action.SUBMIT)])
def confirm(
    platform: ThePlatform,
    actor: CurrentActor,
    wanted: NewSubmission,
    response: Response,
    idempotency_key: Key = None,
) -> SubmissionView:
    """Have a checked upload scored as a method's result; each method has one result per competition."""
    number, is_new = service.confirm(platform, actor, wanted, idempotency_key)
    response.status_code = 201 if is_new else 200
    response.headers["Location"] = f"/api/submissions/{number}"
    return service.submission_page(platform, actor, number)


@router.get("/submissions", dependencies=[requires(Action.SUBMIT)])
def mine(platform: ThePlatform, actor: CurrentActor) -> tuple[SubmissionRow, ...]:
    """What your team has entered, newest first."""
    return service.my_rows(platform, actor)


@router.get("/submissions/{number}", dependencies=[requires(Action.READ_SUBMISSION)])
def submission(platform: ThePlatform, actor: CurrentActor, number: int) -> SubmissionView:
    """A submission with its entries, states and scores; a held-out phase shows three decimals."""
    return service.submission_page(platform, actor, number)


@router.get("/runs/{run_id}/tables", dependencies=[requires(Action.READ_SUBMISSION)])
def tables(platform: ThePlatform, actor: CurrentActor, run_id: int) -> tuple[ExhibitView, ...]:
    """Scores by other rules, reported beside the official ones: difficult objects included, all pixels together."""
    return service.tables(platform, actor, run_id)


@router.get("/runs/{run_id}/curves", dependencies=[requires(Action.READ_SUBMISSION)])
def curves(
    platform: ThePlatform, actor: CurrentActor, run_id: int, class_name: str | None = None
) -> tuple[CurveView, ...]:
    """Precision/recall curves: every point where the annotation is public, else 41 with two decimals."""
    return service.curves(platform, actor, run_id, class_name)
