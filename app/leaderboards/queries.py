"""What stands on a board, in two queries whatever the number of rows."""

import uuid
from collections.abc import Hashable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Select, Subquery, and_, func, not_, or_, select, true
from sqlalchemy.orm import Session

from app.disclosure.queries import SCORE
from app.disclosure.schemas import StoredScore
from app.editions.queries import is_past_embargo
from app.leaderboards.rules import Audience
from app.leaderboards.schemas import BoardTeam
from app.memberships.queries import is_public, is_shown
from app.methods.queries import method_view
from app.methods.schemas import MethodView, Training
from app.models import (
    Board,
    BoardGroups,
    ClassScore,
    Entry,
    EntryState,
    GroundTruth,
    Method,
    Publication,
    Rescore,
    Run,
    RunAnalysis,
    Submission,
    Team,
)
from app.scored_runs.queries import stands_on_board

Version = tuple[Hashable, ...]


@dataclass(frozen=True, slots=True)
class Versions:
    """What a result was scored under; ground_truth: its version and what people see of its content."""

    protocol: str
    scorer: str
    ground_truth: int
    ground_truth_id: uuid.UUID


def is_outdated(row: Versions, board: Versions) -> bool:
    """Whether a result was scored under an earlier ground truth or scorer than the board's."""
    return (row.ground_truth, row.scorer) != (board.ground_truth, board.scorer)


@dataclass(frozen=True, slots=True)
class StoredBoard:
    """A board's versions, and of its publications the number and the latest."""

    versions: Versions
    version: int
    updated_at: datetime
    rescoring: bool


@dataclass(frozen=True, slots=True)
class StoredRow:
    """A method on a board; its scores follow by run."""

    run_id: int
    ladder_run_id: int | None
    is_complete: bool
    method: MethodView
    submission_id: int
    training: Training
    team: BoardTeam
    date: datetime
    measure: str
    versions: Versions


def is_shown_to(audience: Audience) -> ColumnElement[bool]:
    """Which methods a board shows; for statements that join Method and Entry."""
    if audience is Audience.ORGANISERS:
        return true()
    return and_(is_public(), is_past_embargo(Entry.phase_id))


def version(session: Session, phase_id: int, competition: int) -> Version | None:
    """What differs between any two states of a board; none if there is no board.

    Publications are only ever appended, so that their number grows with every commit; the largest id alone would not,
    because ids are not given in the order of commits. Revisions of methods grow under a lock, so their sum does.
    """
    published = (
        select(func.count(Publication.id).label("count"), func.max(Publication.id).label("latest"))
        .where(Publication.phase_id == phase_id, Publication.competition == competition)
        .subquery()
    )
    revisions = (
        select(func.coalesce(func.sum(Method.revision), 0))
        .select_from(Entry)
        .join(Method, Entry.method_id == Method.id)
        .where(Entry.phase_id == phase_id, Entry.competition == competition)
        .scalar_subquery()
    )
    analysed = (  # a run's intervals are there before it is analysed
        select(func.count(RunAnalysis.run_id))
        .select_from(Entry)
        .join(RunAnalysis, RunAnalysis.run_id == Entry.published_run_id)
        .where(Entry.phase_id == phase_id, Entry.competition == competition)
        .scalar_subquery()
    )
    statement = (
        select(
            Board.generation, Board.protocol, published.c.count, published.c.latest, revisions,
            _open_rescores(phase_id).exists(), BoardGroups.version, analysed,
        )
        .select_from(Board)
        .join(published, true())
        .outerjoin(
            BoardGroups,
            and_(BoardGroups.phase_id == Board.phase_id, BoardGroups.competition == Board.competition),
        )
        .where(Board.phase_id == phase_id, Board.competition == competition)
    )  # fmt: skip
    row = session.execute(statement).one_or_none()
    return tuple(row) if row else None


def taken_back(session: Session, phase_id: int, competition: int) -> int:
    """Another number whenever results are taken from the readers of a board: withdrawn, or hidden with their team."""
    is_taken = or_(Entry.state == EntryState.WITHDRAWN, not_(is_shown(Method.team_id)))
    statement = (
        select(func.coalesce(func.sum(Entry.id), 0))
        .join(Method, Entry.method_id == Method.id)
        .where(
            Entry.phase_id == phase_id,
            Entry.competition == competition,
            Method.public_at.is_not(None),
            is_taken,
        )
    )
    return int(session.scalar(statement) or 0)


def _open_rescores(phase_id: int) -> Select[int]:
    return select(Rescore.id).where(
        Rescore.phase_id == phase_id, Rescore.activated_at.is_(None), Rescore.abandoned_at.is_(None)
    )


def board(
    session: Session, phase_id: int, competition: int, audience: Audience, before: datetime | None = None
) -> StoredBoard | None:
    """The versions of a board; private results do not count in what the public sees. before: of what was published before."""
    published = (
        select(func.count().label("count"), func.max(Publication.published_at).label("latest"))
        .select_from(Publication)
        .join(Entry, Publication.entry_id == Entry.id)
        .join(Method, Entry.method_id == Method.id)
        .where(
            Publication.phase_id == phase_id,
            Publication.competition == competition,
            is_shown_to(audience),
            _is_before(before),
        )
        .subquery()
    )
    statement = (
        select(
            Board.protocol, Board.scorer, GroundTruth.version, GroundTruth.public_id, published.c.count,
            func.coalesce(published.c.latest, Board.activated_at), _open_rescores(phase_id).exists(),
        )
        .select_from(Board)
        .join(published, true())
        .join(GroundTruth, Board.ground_truth_id == GroundTruth.id)
        .where(Board.phase_id == phase_id, Board.competition == competition)
    )  # fmt: skip
    row = session.execute(statement).one_or_none()
    return StoredBoard(Versions(*row[:4]), *row[4:]) if row else None


def _is_before(moment: datetime | None) -> ColumnElement[bool]:
    return true() if moment is None else Publication.published_at < moment


def current(phase_id: int, competition: int) -> Subquery:
    """The entries that stand on a board now, each with its run: entry_id, run_id."""
    statement = (
        select(Entry.id.label("entry_id"), Entry.published_run_id.label("run_id"))
        .join(Board, stands_on_board())
        .where(Entry.phase_id == phase_id, Entry.competition == competition)
    )
    return statement.subquery()


def rows(session: Session, standing: Subquery, audience: Audience) -> list[StoredRow]:
    """The methods of what stands on a board (`current`), or stood (`publications.queries.former`)."""
    statement = (
        select(
            Run.id, Run.ladder_run_id, Entry.is_complete, Method, Submission.id, Submission.training, Team.id, Team.name,
            Team.suspended_at.is_not(None), Submission.created_at, Run.measure, Run.protocol, Run.scorer,
            GroundTruth.version, GroundTruth.public_id,
        )
        .select_from(standing)
        .join(Entry, Entry.id == standing.c.entry_id)
        .join(Run, Run.id == standing.c.run_id)
        .join(GroundTruth, Run.ground_truth_id == GroundTruth.id)
        .join(Method, Entry.method_id == Method.id)
        .join(Team, Method.team_id == Team.id)
        .join(Submission, Entry.submission_id == Submission.id)
        .where(is_shown_to(audience))
    )  # fmt: skip
    return [
        StoredRow(
            run, ladder, complete, method_view(method), submission_id, Training.model_validate(training),
            BoardTeam(team_id, team, suspended), date, measure or "", Versions(*versions),
        )
        for run, ladder, complete, method, submission_id, training, team_id, team, suspended, date, measure, *versions
        in session.execute(statement)
    ]  # fmt: skip


def scores(session: Session, standing: Subquery) -> dict[int, dict[str | None, StoredScore]]:
    """By run, the scores of its classes; the headline stands under None."""
    statement = select(ClassScore.run_id, ClassScore.class_name, *SCORE, ClassScore.low, ClassScore.high)
    found: dict[int, dict[str | None, StoredScore]] = {}
    for run, name, value, held_out, reason, low, high in session.execute(
        statement.join(standing, standing.c.run_id == ClassScore.run_id)
    ):
        found.setdefault(run, {})[name] = StoredScore(value, held_out, reason, low, high)
    return found
