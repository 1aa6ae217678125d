"""Which teams are told that a re-scoring has changed what participants see of their scores and ranks."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Integer,
    Select,
    and_,
    case,
    column,
    func,
    literal,
    or_,
    select,
    values,
)
from sqlalchemy.orm import Session, aliased

from app.challenges import challenges
from app.challenges.challenges import PhaseView
from app.challenges.disclosure import HELD_OUT_DECIMALS, Visibility, public_visibility
from app.jobs import events
from app.models import (
    Board,
    ClassScore,
    EventKind,
    Method,
    Rescore,
    Result,
    ResultState,
    Run,
    RunState,
)
from app.results import recording, standings


@dataclass(frozen=True, slots=True)
class _PublicRank:
    """Where the public sees a result on its board. rank: None without a mean."""

    team_id: int
    rank: int | None


Ranks = Mapping[int, _PublicRank]
"""The public ranks of the results on the boards of a phase."""


def public_ranks(session: Session, rescore: Rescore) -> Ranks:
    """Return the ranks on the public boards of a phase, as readers see them; of a single result nothing is compared."""
    phase = _phase(session, rescore)
    key = standings.rank_column(public_visibility(phase))
    if key is None or rescore.result_id is not None:
        return {}
    value = func.nullif(key, -1)
    place = func.rank().over(partition_by=Result.competition, order_by=value.desc().nulls_last())
    statement = (
        select(Result.id, Method.team_id, case((value.is_not(None), place)))
        .join(Board, recording.is_on_board())
        .join(Result.method)
        .where(Result.phase_id == rescore.phase_id, standings.is_shown())
    )
    return {result: _PublicRank(team, rank) for result, team, rank in session.execute(statement)}


def changed_results(session: Session, rescore: Rescore) -> dict[int, int]:
    """Return of how many results of each team the public is about to see other values.

    Call it before the new runs are published, which are compared with those on the boards, and after ladders were carried over.
    What the phase hides is not compared: that it has changed would be a bit of hidden scores.
    """
    visibility = public_visibility(_phase(session, rescore))
    if not visibility.means:
        return {}
    changed = _changed_results(rescore.id, visibility).subquery()
    counts = select(changed.c.team_id, func.count()).group_by(changed.c.team_id)
    return dict(session.execute(counts).all())


def record(
    session: Session, rescore: Rescore, changed: Mapping[int, int], before: Ranks, after: Ranks
) -> int:
    """Record an event for each team of whose results the public sees other values or ranks now; return how many teams these are.

    changed: as of `changed_results`; before, after: the ranks before the boards switched, and after.
    """
    moved = Counter(
        each.team_id
        for result_id, each in after.items()
        if (old := before.get(result_id)) and old.rank != each.rank
    )
    told = [(team, changed.get(team, 0), moved[team]) for team in sorted(changed.keys() | moved.keys())]
    if not told:
        return 0
    phase = _phase(session, rescore)
    row = values(
        column("team_id", BigInteger), column("results", Integer), column("ranks", Integer), name="told"
    )
    rows = row.data(told)
    details = func.jsonb_build_object("rescore", rescore.id, "results", rows.c.results, "ranks", rows.c.ranks)
    teams = select(
        literal(phase.challenge_id).label("challenge_id"), literal(phase.id).label("phase_id"), rows.c.team_id,
        details.label("details"),
    )  # fmt: skip
    return events.record_each(session, EventKind.RESCORED, teams)


def _phase(session: Session, rescore: Rescore) -> PhaseView:
    phase = challenges.phase_of_id(session, rescore.phase_id)
    assert phase is not None
    return phase


def _changed_results(rescore_id: int, visibility: Visibility) -> Select[*tuple[Any, ...]]:
    """Select the results whose visible values differ between the run on their board and that of a re-scoring, with their team."""
    old, new = aliased(Run), aliased(Run)
    before, after = aliased(ClassScore), aliased(ClassScore)
    # coalesced, because the planner can hash only an equation
    same_class = func.coalesce(before.class_name, "") == func.coalesce(after.class_name, "")
    return (
        select(Result.id, new.team_id)
        .join(new, new.result_id == Result.id)
        .join(old, old.id == Result.published_run_id)
        .join(before, before.run_id == _shown(old, visibility))
        .join(after, and_(after.run_id == _shown(new, visibility), same_class))
        .where(
            new.rescore_id == rescore_id,
            new.state == RunState.SCORED,
            Result.state == ResultState.SCORED,
            or_(before.class_name.is_(None), _shows_classes(visibility)),
            _value(before, visibility).is_distinct_from(_value(after, visibility)),
        )
        .distinct()
    )


def _shown(run: type[Run], visibility: Visibility) -> ColumnElement[int]:
    """The run whose scores are shown for a run: with a ladder, possibly another."""
    return func.coalesce(run.ladder_run_id, run.id) if visibility.by_ladder else run.id.expression


def _shows_classes(visibility: Visibility) -> ColumnElement[bool]:
    """Whether the values of classes of a result are shown."""
    return and_(literal(visibility.classes), or_(Result.is_complete, literal(not visibility.only_complete)))


def _value(score: type[ClassScore], visibility: Visibility) -> ColumnElement[Any]:
    """A value as it is shown."""
    if visibility.details:
        return score.value.expression
    return func.round(score.held_out_value * 10**HELD_OUT_DECIMALS)
