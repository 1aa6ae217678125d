"""Results on boards, and those that stood there before."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import and_, func, literal, or_, select, true, union_all
from sqlalchemy.orm import Session

from app.access import Actor
from app.disclosure.queries import SCORE
from app.disclosure.schemas import StoredScore
from app.editions.queries import is_past_embargo
from app.editions.schemas import PhaseView
from app.exhibits.queries import CURVES
from app.memberships.queries import is_public
from app.models import Board, ClassScore, Entry, Exhibit, GroundTruth, Method, Publication, Run, RunAnalysis
from app.scored_runs.queries import stands_on_board

DIAGNOSIS: Final = -1  # stands before the positions of exhibits


@dataclass(frozen=True, slots=True)
class StandingMean:
    """The mean of an entry that stands on a board; ladder_run: the run whose mean a ladder shows for it."""

    entry: int
    competition: int
    ladder_run: int | None
    score: StoredScore


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run that stands or stood on a board."""

    entry: int
    run: int
    ladder_run: int | None
    ground_truth: int
    scorer: str
    since: datetime


def standing_means(
    session: Session,
    actor: Actor,
    phase: PhaseView,
    competitions: Collection[int],
    own: Collection[int],
) -> list[StandingMean]:
    """The means on these boards, as far as the boards show them to the reader, and those of their `own` entries."""
    is_shown = and_(is_public(), is_past_embargo(Entry.phase_id))
    shown = true() if actor.runs(phase.edition_id) else or_(is_shown, Entry.id.in_(own))
    statement = (
        select(Entry.id, Entry.competition, Run.ladder_run_id, *SCORE)
        .select_from(Entry)
        .join(Board, stands_on_board())
        .join(Run, Entry.published_run_id == Run.id)
        .join(Method, Entry.method_id == Method.id)
        .join(ClassScore, and_(ClassScore.run_id == Run.id, ClassScore.class_name.is_(None)))
        .where(Entry.phase_id == phase.id, Entry.competition.in_(competitions), shown)
    )
    return [
        StandingMean(entry, competition, ladder, StoredScore(value, held_out, reason))
        for entry, competition, ladder, value, held_out, reason in session.execute(statement)
    ]


def published_runs(session: Session, entry_ids: Collection[int]) -> list[StoredRun]:
    """The runs of entries that have stood on their boards, each since when, the first ones first."""
    since = func.min(Publication.published_at)
    statement = (
        select(Run.entry_id, Run.id, Run.ladder_run_id, GroundTruth.version, Run.scorer, since)
        .select_from(Run)
        .join(Publication, Publication.run_id == Run.id)
        .join(GroundTruth, Run.ground_truth_id == GroundTruth.id)
        .where(Publication.entry_id.in_(entry_ids))
        .group_by(Run.id, GroundTruth.version)
        .order_by(since, Run.id)
    )
    return [StoredRun(*row) for row in session.execute(statement)]


def scores_of(session: Session, run_ids: Collection[int]) -> dict[int, dict[str | None, StoredScore]]:
    """By run, the scores of its classes in their order; the mean stands under None."""
    statement = (
        select(ClassScore.run_id, ClassScore.class_name, *SCORE)
        .where(ClassScore.run_id.in_(run_ids))
        .order_by(ClassScore.run_id, ClassScore.position)
    )
    found: dict[int, dict[str | None, StoredScore]] = {}
    for run, name, value, held_out, reason in session.execute(statement):
        found.setdefault(run, {})[name] = StoredScore(value, held_out, reason)
    return found


def stored_detail(
    session: Session, run_id: int, classes: Sequence[str]
) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
    """The exhibits of a run without the curves of other classes than these, and its diagnosis, if it has one."""
    shown = or_(Exhibit.kind.not_in(CURVES), Exhibit.content["class_name"].astext.in_(classes))
    exhibits = select(Exhibit.position, Exhibit.content).where(Exhibit.run_id == run_id, shown)
    diagnosis = select(literal(DIAGNOSIS), RunAnalysis.diagnosis).where(RunAnalysis.run_id == run_id)
    both = union_all(exhibits, diagnosis).subquery()
    rows = session.execute(select(both).order_by(both.c.position)).all()
    found = [content for position, content in rows if position != DIAGNOSIS]
    return found, next((content for position, content in rows if position == DIAGNOSIS), None)
