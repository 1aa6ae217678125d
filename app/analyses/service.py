"""Analysing a run that has been scored, and showing what came of it."""

import base64
import json
from collections.abc import Mapping
from typing import Any

import scoring
from app import children
from app.access import Actor
from app.analyses import queries
from app.analyses.schemas import AnalysisView, Kept, analysis_view
from app.disclosure.rules import sight_of, withheld
from app.editions import queries as editions
from app.editions.service import description_of
from app.errors import NotFoundError, WithheldError
from app.exhibits import queries as exhibits
from app.jobs import queue
from app.models import Entry, Queue
from app.platform import Platform
from app.sandbox import ChildLimits, run_in_subprocess
from app.scored_runs import queries as scored_runs
from scoring.analysis.diagnosis import Diagnosis
from scoring.analysis.image_outcomes import read_outcomes
from scoring.statistics.kept_replicates import read_replicates


def compute(platform: Platform, payload: Mapping[str, Any]) -> None:
    """Analyse the run in `payload` and store what came of it; one that is there is not made again.

    Raises NotFoundError for a run without scores, and whatever keeps storage or the child process from working.
    """
    run_id = int(payload["run_id"])
    with platform.transaction() as session:
        if queries.is_analysed(session, run_id):
            return
        run = scored_runs.scored_run(session, run_id)
        if run is None:
            raise NotFoundError(f"there is no scored run {run_id} with statistics")
        archive_key, description_key = queries.source_of(session, run_id)
    settings = platform.settings
    archive_limits = description_of(platform.descriptions, description_key).limits
    limits = ChildLimits(seconds=settings.delivery_seconds, memory=settings.child_memory, nice=10)
    with (
        platform.archives.materialise(archive_key) as archive,
        platform.truths.materialise(run.statistics) as statistics,
        platform.truths.materialise(run.truth) as truth,
    ):
        report = run.report.to_json()
        output = run_in_subprocess(
            limits, children.analyse, archive, archive_limits, statistics, truth, report, run.truth_id
        )
    _store(platform, run_id, json.loads(output))


def _store(platform: Platform, run_id: int, made: Mapping[str, Any]) -> None:
    """Store what a child has made, once it has turned out to be what pages can read."""
    scoring.from_plain(Diagnosis, made["diagnosis"])
    kept = Kept(*(base64.b64decode(made[name]) for name in ("replicates", "image_outcomes")))
    read_replicates(kept.replicates)
    read_outcomes(kept.image_outcomes)
    with platform.transaction() as session:
        queries.store(session, run_id, made["diagnosis"], kept)
        queue.add_boards(session, Entry.published_run_id == run_id)  # it can be compared with others now
    platform.notifier.wake_workers(Queue.FOLLOW_UPS)


def analysis(platform: Platform, actor: Actor, run_id: int) -> AnalysisView:
    """The analysis of a run. Raises NotFoundError, and WithheldError while the phase is held out."""
    with platform.transaction() as session:
        found = exhibits.visible_run(session, actor, run_id)
        phase = editions.phase_of_id(session, found[1].id) if found else None
        if phase is None:
            raise NotFoundError(f"there is no run {run_id}, or it is not public")
        if hidden := withheld(phase, sight_of(actor, phase)):
            raise WithheldError(hidden)
        stored = queries.diagnoses(session, [run_id]).get(run_id)
    return analysis_view(stored)
