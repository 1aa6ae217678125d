"""Confidence intervals of scored runs."""

import json
from collections.abc import Mapping
from typing import Any

from sqlalchemy import update
from sqlalchemy.orm import Session

import heldout_scoring
from app.core.errors import NotFoundError
from app.jobs import queue, sandbox
from app.jobs.sandbox import ChildLimits, run_in_subprocess
from app.models import ClassScore, JobKind
from app.platform import Platform
from app.results import scored_runs
from heldout_scoring.stored import from_plain


def store(session: Session, run_id: int, intervals: heldout_scoring.IntervalTable) -> None:
    """Store the bounds of each class and of the headline. Idempotent."""
    for name, bounds in intervals.by_class().items():
        session.execute(
            update(ClassScore)
            .where(ClassScore.run_id == run_id, ClassScore.class_name.is_not_distinct_from(name))
            .values(low=bounds.low, high=bounds.high)
        )


def compute(platform: Platform, payload: Mapping[str, Any]) -> None:
    """Compute and store the 95 % intervals of the run in `payload`. Idempotent.

    Raises NotFoundError for a run without scores, and any error of storage or the child process.
    """
    run_id = int(payload["run_id"])
    with platform.transaction() as session:
        run = scored_runs.scored_run(session, run_id)
        if run is None and scored_runs.was_discarded(session, run_id):
            return
    if run is None:
        raise NotFoundError(f"there is no scored run {run_id} with statistics")
    settings = platform.settings
    limits = ChildLimits(seconds=settings.delivery_seconds, memory=settings.child_memory, nice=5)
    with (
        platform.truths.materialise(run.statistics) as statistics,
        platform.truths.materialise(run.truth) as truth,
    ):
        output = run_in_subprocess(limits, sandbox.intervals, statistics, truth, run.report.to_json())
    with platform.transaction() as session:
        store(session, run_id, from_plain(heldout_scoring.IntervalTable, json.loads(output)))
        queue.add(session, JobKind.ANALYSIS, {"run_id": run_id}, owner=queue.owner_of_run(session, run_id))
    platform.notifier.wake_workers()
