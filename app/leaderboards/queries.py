"""What stands on a board, in two queries whatever the number of rows."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.models import Board, ClassScore, Entry, EntryState, GroundTruth, Method, Rescore, Run, Submission
from app.submissions.queries import method_view
from app.submissions.schemas import MethodView


@dataclass(frozen=True, slots=True)
class StoredBoard:
    """A board's versions."""

    protocol: str
    ground_truth: int
    fingerprint: str
    scorer: str
    version: int
    updated_at: datetime
    rescoring: bool


@dataclass(frozen=True, slots=True)
class StoredRow:
    """A method on a board; its scores follow by run."""

    run_id: int
    method: MethodView
    submission: int
    date: datetime
    measure: str


def board(session: Session, phase_id: int, competition: int) -> StoredBoard | None:
    """The versions of a board."""
    under_way = select(Rescore.id).where(
        Rescore.phase_id == phase_id, Rescore.published_at.is_(None), Rescore.abandoned_at.is_(None)
    )
    statement = (
        select(
            Board.protocol, GroundTruth.version, GroundTruth.fingerprint, Board.scorer, Board.version, Board.updated_at,
            under_way.exists(),
        )
        .join(GroundTruth, Board.ground_truth_id == GroundTruth.id)
        .where(Board.phase_id == phase_id, Board.competition == competition)
    )  # fmt: skip
    row = session.execute(statement).one_or_none()
    return StoredBoard(*row) if row else None


def rows(session: Session, phase_id: int, competition: int) -> list[StoredRow]:
    """The methods on a board; a run that is not the board's own is not among them."""
    statement = (
        select(Run.id, Method, Submission.id, Submission.created_at, Run.measure)
        .join(Entry, Entry.shown_run_id == Run.id)
        .join(Method, Entry.method_id == Method.id)
        .join(Submission, Entry.submission_id == Submission.id)
        .join(Board, (Board.phase_id == Entry.phase_id) & (Board.competition == Entry.competition))
        .where(
            Entry.phase_id == phase_id,
            Entry.competition == competition,
            Entry.state == EntryState.SCORED,
            Run.ground_truth_id == Board.ground_truth_id,
            Run.scorer == Board.scorer,
        )
    )
    return [
        StoredRow(run, method_view(method), number, date, measure or "")
        for run, method, number, date, measure in session.execute(statement)
    ]


def values(session: Session, phase_id: int, competition: int) -> dict[int, dict[str | None, float | None]]:
    """By run, the values of its classes; the headline stands under None."""
    statement = (
        select(ClassScore.run_id, ClassScore.class_name, ClassScore.value)
        .join(Entry, Entry.shown_run_id == ClassScore.run_id)
        .where(Entry.phase_id == phase_id, Entry.competition == competition, Entry.state == EntryState.SCORED)
    )
    found: dict[int, dict[str | None, float | None]] = {}
    for run, name, value in session.execute(statement):
        found.setdefault(run, {})[name] = value
    return found
