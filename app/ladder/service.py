"""Comparing a new result with the best of its team, when a worker records it."""

import json
from dataclasses import replace

import structlog
from sqlalchemy.orm import Session

import scoring
from app import children
from app.disclosure.rules import depends_on_archive
from app.ladder import queries
from app.ladder.rules import is_step
from app.ladder.schemas import Comparison
from app.models import Run
from app.platform import Platform
from app.sandbox import ChildLimits, LimitExceededError, run_in_subprocess
from app.scored_runs import queries as scored_runs
from app.scored_runs.schemas import ScoredRun

log = structlog.get_logger()


def compare(
    platform: Platform, run_id: int, report: scoring.Result, statistics_key: str
) -> Comparison | None:
    """What the ladder shows for a result that is not recorded yet; none where no ladder decides it.

    Raises whatever keeps storage or the child process from working.
    """
    if depends_on_archive(report.headline_reason):
        return None  # there is no mean to show, as its team knows
    with platform.transaction() as session:
        if not queries.has_ladder(session, run_id):
            return None
        best = queries.best(session, run_id)
        known = scored_runs.scored_run(session, best.run_id) if best else None
    if best is None:
        return Comparison(best, run_id)
    if known is None or report.headline is None:
        return Comparison(best, best.run_id)
    error = _standard_error(platform, known, replace(known, statistics=statistics_key, report=report))
    return Comparison(best, run_id if is_step(report.headline, best.mean, error) else best.run_id)


def _standard_error(platform: Platform, one: ScoredRun, other: ScoredRun) -> float | None:
    """The standard error of the difference of their means; none where it cannot be computed in time."""
    settings = platform.settings
    limits = ChildLimits(seconds=settings.delivery_seconds, memory=settings.child_memory)
    with (
        platform.truths.materialise(one.truth) as truth,
        platform.truths.materialise(one.statistics) as first,
        platform.truths.materialise(other.statistics) as second,
    ):
        results = ((first, one.report.to_json()), (second, other.report.to_json()))
        try:
            output = run_in_subprocess(limits, children.standard_error, truth, results)
        except LimitExceededError:
            log.warning("comparison stopped", best=one.statistics, new=other.statistics)
            return None
    error: float | None = json.loads(output)
    return error


def climb(session: Session, run: Run, comparison: Comparison) -> bool:
    """Store what is shown for a result, in the transaction that records it; False if another has climbed meanwhile."""
    queries.lock(session, run.id)
    if queries.best(session, run.id) != comparison.best:
        return False
    run.ladder_run_id = comparison.shown_run_id
    return True
