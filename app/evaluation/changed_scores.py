"""Which teams are told that a re-scoring has changed what participants see of their scores."""

from typing import Any

from sqlalchemy import ColumnElement, Select, and_, func, literal, or_, select
from sqlalchemy.orm import Session, aliased

from app.challenges import challenges
from app.challenges.disclosure import HELD_OUT_DECIMALS, Visibility, public_visibility
from app.jobs import events
from app.models import ClassScore, EventKind, Rescore, Result, ResultState, Run, RunState


def record_changed_scores(session: Session, rescore: Rescore) -> int:
    """Record an event for each team of whose results the public sees other values now; return how many teams these are.

    Call it before the new runs are published, which are compared with those on the boards, and after ladders were carried over.
    What the phase hides is not compared: that it has changed would be a bit of hidden scores.
    """
    phase = challenges.phase_of_id(session, rescore.phase_id)
    assert phase is not None
    visibility = public_visibility(phase)
    if not visibility.means:
        return 0
    changed = _changed_results(rescore.id, visibility).subquery()
    details = func.jsonb_build_object("rescore", rescore.id, "results", func.count())
    teams = select(
        literal(phase.challenge_id).label("challenge_id"),
        literal(phase.id).label("phase_id"),
        changed.c.team_id,
        details.label("details"),
    ).group_by(changed.c.team_id)
    return events.record_each(session, EventKind.RESCORED, teams)


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
