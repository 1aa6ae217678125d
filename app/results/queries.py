"""Results on boards, and those that stood there before."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Select,
    and_,
    func,
    literal,
    or_,
    select,
    true,
    union_all,
)
from sqlalchemy.orm import Session, aliased

from app.access import Actor
from app.disclosure.queries import SCORE
from app.disclosure.rules import Sight
from app.disclosure.schemas import StoredScore
from app.editions.queries import is_past_embargo
from app.editions.schemas import PhaseView
from app.exhibits.queries import CURVES
from app.memberships.queries import is_public
from app.models import (
    Board,
    ClassScore,
    Entry,
    EntryState,
    Exhibit,
    GroundTruth,
    Method,
    Publication,
    Run,
    RunAnalysis,
)
from app.results.schemas import Rank
from app.scored_runs.queries import stands_on_board

DIAGNOSIS: Final = -1  # stands before the positions of exhibits
OWN_ENTRY: Final = aliased(Entry)


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run that stands or stood on a board."""

    entry: int
    run: int
    ladder_run: int | None
    ground_truth: int
    scorer: str
    since: datetime


def ranks(
    session: Session, actor: Actor, phase: PhaseView, sight: Sight, own: Collection[int]
) -> dict[int, Rank]:
    """The places of these entries of a phase that stand on their boards, among the results that the boards show to the reader.

    Counted in the database, by what ranks are told by: every digit where the reader sees all, else the keys of the board's order.
    """
    statement = _ranks(sight, own, phase.id, is_organised=actor.runs(phase.edition_id))
    return {entry: Rank(rank, of) for entry, rank, of in session.execute(statement)}


def _ranks(sight: Sight, own: Collection[int], phase_id: int, *, is_organised: bool) -> Select[int, int, int]:
    ranked = (
        select(
            OWN_ENTRY.id,
            OWN_ENTRY.competition,
            OWN_ENTRY.published_generation,
            _mean(OWN_ENTRY, sight).label("mean"),
        )
        .join(Board, stands_on_board(OWN_ENTRY))
        .where(OWN_ENTRY.id.in_(own))
        .cte("ranked")
        .prefix_with("MATERIALIZED")
    )
    shown = true() if is_organised else and_(is_public(), is_past_embargo(Entry.phase_id))
    others = (
        select(_mean(Entry, sight).label("mean"))
        .select_from(Entry)
        .join(Method, Entry.method_id == Method.id)
        .where(
            Entry.phase_id == phase_id, Entry.competition == ranked.c.competition, Entry.state == EntryState.SCORED,
            Entry.published_generation == ranked.c.published_generation, Entry.id != ranked.c.id, shown,
        )
        .correlate(ranked)
        .lateral()
    )  # fmt: skip
    better = func.count().filter(others.c.mean > ranked.c.mean)
    return (
        select(ranked.c.id, 1 + better, 1 + func.count(others.c.mean))
        .select_from(ranked)
        .outerjoin(others, true())
        .where(ranked.c.mean.is_not(None))
        .group_by(ranked.c.id)
    )


def _mean(entry: type[Entry], sight: Sight) -> ColumnElement[Any]:
    """The mean of an entry's result as it is compared with others; none without a mean."""
    if sight.details:
        headline = (ClassScore.run_id == entry.published_run_id, ClassScore.class_name.is_(None))
        return select(ClassScore.value).where(*headline).correlate(entry).scalar_subquery()
    key = func.coalesce(entry.ladder_rank_key, entry.rank_key) if sight.by_ladder else entry.rank_key
    return func.nullif(key, -1)


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
