"""Computing the confidence intervals of a run that has been scored."""

import json
from collections.abc import Mapping
from typing import Any

import scoring
from app import children
from app.errors import NotFoundError
from app.intervals import queries
from app.jobs import queue
from app.models import JobKind, Queue
from app.platform import Platform
from app.sandbox import ChildLimits, run_in_subprocess
from app.scored_runs import queries as scored_runs


def compute(platform: Platform, payload: Mapping[str, Any]) -> None:
    """Compute and store the 95 % intervals of the run in `payload`; doing so twice gives the same.

    Raises NotFoundError for a run without scores, and whatever keeps storage or the child process from working.
    """
    run_id = int(payload["run_id"])
    with platform.transaction() as session:
        run = scored_runs.scored_run(session, run_id)
    if run is None:
        raise NotFoundError(f"there is no scored run {run_id} with statistics")
    settings = platform.settings
    limits = ChildLimits(seconds=settings.delivery_seconds, memory=settings.child_memory, nice=5)
    with (
        platform.truths.materialise(run.statistics) as statistics,
        platform.truths.materialise(run.truth) as truth,
    ):
        output = run_in_subprocess(limits, children.intervals, statistics, truth, run.report.to_json())
    with platform.transaction() as session:
        queries.store(session, run_id, scoring.from_plain(scoring.IntervalTable, json.loads(output)))
        queue.add(session, JobKind.ANALYSIS, {"run_id": run_id})
    platform.notifier.wake_workers(Queue.FOLLOW_UPS)
