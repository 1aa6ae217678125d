"""The Ladder: a new mean is shown only if it beats the best of its team by a standard error."""

import json
from dataclasses import dataclass, replace

import structlog
from sqlalchemy import ColumnElement, and_, exists, func, select, update
from sqlalchemy.orm import Session, aliased

import heldout_scoring
from app.jobs import sandbox
from app.jobs.sandbox import ChildLimits, LimitExceededError, run_in_subprocess
from app.models import ClassScore, Disclosure, Phase, Result, ResultState, Run, RunState
from app.platform import Platform
from app.results import scored_runs
from app.results.scored_runs import ScoredRun

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class LadderEntry:
    """The run whose mean a team sees for its latest results, and that mean."""

    run_id: int
    mean: float


@dataclass(frozen=True, slots=True)
class LadderStep:
    """The entry a new result was compared with (None for a first result), and the run whose mean is shown for it."""

    best: LadderEntry | None
    shown_run_id: int


def is_significant_gain(mean: float, best: float, standard_error: float | None) -> bool:
    """Whether a mean beats the best one so far by more than a standard error of their paired difference.

    standard_error: None if it is unknown, in which case no mean is a gain. Source: Blum and Hardt, "The Ladder: A Reliable
    Leaderboard for Machine Learning Competitions", ICML 2015, the parameter-free mechanism.

    >>> is_significant_gain(0.52, 0.5, 0.01), is_significant_gain(0.505, 0.5, 0.01), is_significant_gain(0.9, 0.5, None)
    (True, False, False)
    """
    return standard_error is not None and mean > best + standard_error


def has_ladder(session: Session, run_id: int) -> bool:
    """Whether a ladder decides what is shown for a run. For runs of a re-scoring, `carry_over` decides instead."""
    statement = (
        select(Run.id)
        .join(Run.result)
        .join(Result.phase)
        .where(Run.id == run_id, Run.rescore_id.is_(None), Phase.disclosure == Disclosure.LADDER)
    )
    return session.scalar(statement) is not None


def lock(session: Session, run_id: int) -> None:
    """Lock the ladder of a run's team and phase until the end of the transaction."""
    name = func.concat("ladder of team ", Run.team_id, " in phase ", Result.phase_id)
    lock = func.pg_advisory_xact_lock(func.hashtextextended(name, 0))
    session.execute(select(lock).join(Run.result).where(Run.id == run_id))


def best_entry(session: Session, run_id: int) -> LadderEntry | None:
    """Return the best entry of the run's team on its board under the run's versions. Withdrawn results count, too."""
    own, own_result = aliased(Run), aliased(Result)
    statement = (
        select(Run.id, ClassScore.held_out_value)
        .select_from(own)
        .join(own_result, own.result_id == own_result.id)
        .join(Run, and_(Run.team_id == own.team_id, Run.id != own.id))
        .join(Run.result)
        .join(ClassScore, and_(ClassScore.run_id == Run.id, ClassScore.class_name.is_(None)))
        .where(
            own.id == run_id,
            Result.phase_id == own_result.phase_id,
            Result.competition == own_result.competition,
            Run.ladder_run_id == Run.id,
            Run.state == RunState.SCORED,
            Run.ground_truth_id == own.ground_truth_id,
            Run.scorer == own.scorer,
            ClassScore.held_out_value.is_not(None),
        )
        .order_by(ClassScore.held_out_value.desc(), Run.id)
        .limit(1)
    )
    row = session.execute(statement).one_or_none()
    return LadderEntry(row[0], row[1] or 0.0) if row else None


def show_own(session: Session, phase_id: int) -> None:
    """Let every result of a phase keep its own mean, which was visible before the phase got a ladder."""
    of_phase = select(Result.id).where(Result.phase_id == phase_id)
    session.execute(
        update(Run)
        .where(Run.result_id.in_(of_phase), Run.state == RunState.SCORED, Run.ladder_run_id.is_(None))
        .values(ladder_run_id=Run.id),
        execution_options={"synchronize_session": False},
    )


def carry_over(session: Session, rescore_id: int) -> None:
    """For each run of a re-scoring, show the mean of the same result as before, with its new score; its own if that has none.

    Call it before their boards switch. Withdrawn results whose means are shown stay steps.
    """
    old, shown, again, own = aliased(Run), aliased(Run), aliased(Run), aliased(Run)
    places = (
        select(Result.id.label("result_id"), func.coalesce(again.id, own.id).label("shown_id"))
        .join(own, and_(own.rescore_id == rescore_id, own.result_id == Result.id))
        .join(old, old.id == Result.published_run_id)
        .join(shown, shown.id == old.ladder_run_id)
        .outerjoin(
            again,
            and_(
                again.rescore_id == rescore_id,
                again.result_id == shown.result_id,
                again.state == RunState.SCORED,
            ),
        )
        .subquery()
    )
    session.execute(
        update(Run)
        .where(
            Run.rescore_id == rescore_id, Run.state == RunState.SCORED, Run.result_id == places.c.result_id
        )
        .values(ladder_run_id=places.c.shown_id),
        execution_options={"synchronize_session": False},
    )
    steps = select(own.ladder_run_id).where(own.rescore_id == rescore_id, own.ladder_run_id.is_not(None))
    session.execute(
        update(Run).where(Run.id.in_(steps), Run.ladder_run_id.is_(None)).values(ladder_run_id=Run.id),
        execution_options={"synchronize_session": False},
    )


def is_step(result: type[Result] = Result) -> ColumnElement[bool]:
    """Whether the mean of a result is shown for another one on a board."""
    own, other, shown = aliased(Run), aliased(Run), aliased(Result)
    return (
        exists()
        .where(
            own.result_id == result.id,
            other.ladder_run_id == own.id,
            shown.published_run_id == other.id,
            shown.id != result.id,
            shown.state == ResultState.SCORED,
        )
        .correlate(result)
    )


def compare(
    platform: Platform, run_id: int, report: heldout_scoring.Result, statistics_key: str
) -> LadderStep | None:
    """Decide what the ladder shows for a result that is not recorded yet; None if no ladder applies.

    Raises the errors of storage and the child process.
    """
    if not all(each.is_entered for each in report.classes):
        return None  # predictions are missing, as the team knows, so there is no mean to show
    with platform.transaction() as session:
        if not has_ladder(session, run_id):
            return None
        best = best_entry(session, run_id)
        known = scored_runs.scored_run(session, best.run_id) if best else None
    if best is None:
        return LadderStep(best, run_id)
    if known is None or report.headline is None:
        return LadderStep(best, best.run_id)
    error = _standard_error(platform, known, replace(known, statistics=statistics_key, report=report))
    return LadderStep(best, run_id if is_significant_gain(report.headline, best.mean, error) else best.run_id)


def _standard_error(platform: Platform, one: ScoredRun, other: ScoredRun) -> float | None:
    """Return the standard error of the difference of their means; None if it cannot be computed in time."""
    settings = platform.settings
    limits = ChildLimits(seconds=settings.delivery_seconds, memory=settings.child_memory)
    with (
        platform.truths.materialise(one.truth) as truth,
        platform.truths.materialise(one.statistics) as first,
        platform.truths.materialise(other.statistics) as second,
    ):
        results = ((first, one.report.to_json()), (second, other.report.to_json()))
        try:
            output = run_in_subprocess(limits, sandbox.standard_error, truth, results)
        except LimitExceededError:
            log.warning("comparison stopped", best=one.statistics, new=other.statistics)
            return None
    error: float | None = json.loads(output)
    return error


def record_if_unchanged(session: Session, run: Run, comparison: LadderStep) -> bool:
    """Store what is shown for a result, in the transaction that records it. Return False if the ladder has changed."""
    lock(session, run.id)
    if best_entry(session, run.id) != comparison.best:
        return False
    run.ladder_run_id = comparison.shown_run_id
    return True
