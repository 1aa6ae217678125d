"""Analyses of scored runs: kinds of errors, sweeps, replicates for comparisons."""

import base64
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Final

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.challenges import challenges
from app.challenges.challenges import description_of
from app.challenges.disclosure import visibility_for, withheld
from app.core.access import Actor
from app.core.errors import NotFoundError, WithheldError
from app.jobs import queue, sandbox
from app.jobs.sandbox import ChildLimits, run_in_subprocess
from app.models import Phase, Result, Run, RunAnalysis, Submission, Upload
from app.platform import Platform
from app.results import scored_runs
from app.storage import content_key
from heldout_scoring import Replicates
from heldout_scoring.analysis import Diagnosis, ErrorBreakdown, ErrorKind, ImageOutcomes, Sweep, Swept
from heldout_scoring.stored import from_plain

EXPLANATIONS: Final = {
    ErrorKind.DUPLICATE: "another detection of an object that has already been detected",
    ErrorKind.LOCALISATION: "overlaps an object of the class, but by less than the threshold",
    ErrorKind.SIMILAR: "confusion: overlaps an object of a similar class",
    ErrorKind.OTHER: "confusion: overlaps an object of any other class",
    ErrorKind.BACKGROUND: "overlaps no object",
    ErrorKind.MISSED: "an object without a detection",
}
"""What each kind counts. An overlap is an IoU of at least 0.1."""

LABELS: Final = {
    ErrorKind.SIMILAR: "similar class",
    ErrorKind.OTHER: "other class",
    ErrorKind.MISSED: "missed object",
}
SWEPT: Final = {Swept.IOU: "IoU threshold", Swept.AREA: "minimum object size, share of the image"}


@dataclass(frozen=True, slots=True)
class ComparisonData:
    """The data that comparisons need: files of replicates and of outcomes by image."""

    replicates: bytes
    image_outcomes: bytes


@dataclass(frozen=True, slots=True)
class ErrorRow:
    """The errors of a kind: their number, and the score in [0, 1] to gain by fixing them."""

    kind: str
    label: str
    explanation: str
    count: int
    gain: float | None


@dataclass(frozen=True, slots=True)
class ClassErrors:
    """The errors of a class by kind; for all classes, total counts and the mean gains of classes with a score."""

    name: str | None
    value: float | None
    rows: tuple[ErrorRow, ...]


@dataclass(frozen=True, slots=True)
class Level:
    """The score in [0, 1] at a level of the swept parameter, and the number of positives there."""

    level: float
    value: float | None
    positives: int


@dataclass(frozen=True, slots=True)
class SweepView:
    """Scores over IoU thresholds or minimum object sizes, of a class or averaged over all that have a score there."""

    swept: str
    label: str
    name: str | None
    levels: tuple[Level, ...]


@dataclass(frozen=True, slots=True)
class AnalysisView:
    """The analysis of a run, all classes together first; empty until it is computed."""

    is_computed: bool
    errors: tuple[ClassErrors, ...] = ()
    sweeps: tuple[SweepView, ...] = ()

    def errors_of(self, name: str | None) -> ClassErrors | None:
        """Return the errors of a class, or of all classes."""
        return next((each for each in self.errors if each.name == name), None)

    def sweeps_of(self, names: Sequence[str | None]) -> tuple[tuple[SweepView, ...], ...]:
        """Return the sweeps of these classes, or of all classes, for each swept parameter."""
        found = {(each.swept, each.name): each for each in self.sweeps}
        groups = (
            tuple(found[swept.value, name] for name in names if (swept.value, name) in found)
            for swept in Swept
        )
        return tuple(group for group in groups if group)


def analysis_view(stored: Mapping[str, Any] | None) -> AnalysisView:
    """Return a stored diagnosis, with all classes together; an empty view if it is not computed yet."""
    if stored is None:
        return AnalysisView(is_computed=False)
    found = from_plain(Diagnosis, dict(stored))
    errors = tuple(_class_errors(each) for each in found.errors)
    sweeps = tuple(_sweep_view(each) for each in found.sweeps)
    return AnalysisView(
        is_computed=True,
        errors=((_together(errors), *errors) if errors else ()),
        sweeps=(*_mean_sweeps(sweeps), *sweeps),
    )


def _class_errors(found: ErrorBreakdown) -> ClassErrors:
    rows = tuple(
        ErrorRow(
            row.error.value,
            LABELS.get(row.error, row.error.value),
            EXPLANATIONS[row.error],
            row.count,
            row.gain,
        )
        for row in found.rows
    )
    return ClassErrors(found.class_name, found.value, rows)


def _together(classes: Sequence[ClassErrors]) -> ClassErrors:
    rows = tuple(
        ErrorRow(
            row.kind,
            row.label,
            row.explanation,
            sum(each.rows[place].count for each in classes),
            _mean(each.rows[place].gain for each in classes),
        )
        for place, row in enumerate(classes[0].rows)
    )
    return ClassErrors(None, _mean(each.value for each in classes), rows)


def _sweep_view(found: Sweep) -> SweepView:
    levels = tuple(Level(point.level, point.value, point.positives) for point in found.points)
    return SweepView(found.swept.value, SWEPT[found.swept], found.class_name, levels)


def _mean_sweeps(sweeps: Sequence[SweepView]) -> Iterable[SweepView]:
    for swept in Swept:
        group = [each for each in sweeps if each.swept == swept.value]
        if not group:
            continue
        columns = zip(*(each.levels for each in group), strict=True)
        levels = tuple(
            Level(
                column[0].level,
                _mean(each.value for each in column),
                sum(each.positives for each in column),
            )
            for column in columns
        )
        yield SweepView(swept.value, SWEPT[swept], None, levels)


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def source_of(session: Session, run_id: int) -> tuple[str, str]:
    """Return the keys of a run's archive and of its phase's description."""
    statement = (
        select(Upload.sha256, Upload.id, Phase.description_key)
        .select_from(Run)
        .join(Run.result)
        .join(Result.submission)
        .join(Submission.upload)
        .join(Result.phase)
        .where(Run.id == run_id)
    )
    sha256, upload_id, description_key = session.execute(statement).one()
    return content_key(sha256 or "", upload_id), description_key


def is_analysed(session: Session, run_id: int) -> bool:
    """Whether a run has its analysis, which never changes, since a run never does."""
    return session.scalar(select(RunAnalysis.run_id).where(RunAnalysis.run_id == run_id)) is not None


def store(session: Session, run_id: int, diagnosis: Mapping[str, Any], kept: ComparisonData) -> None:
    """Store the analysis of a run unless it has one."""
    values = {
        "run_id": run_id,
        "diagnosis": dict(diagnosis),
        "replicates": kept.replicates,
        "image_outcomes": kept.image_outcomes,
    }
    session.execute(insert(RunAnalysis).values(values).on_conflict_do_nothing())


def diagnoses(session: Session, run_ids: Collection[int]) -> dict[int, dict[str, Any]]:
    """Return the stored diagnoses by run, for the runs that have an analysis."""
    statement = select(RunAnalysis.run_id, RunAnalysis.diagnosis).where(RunAnalysis.run_id.in_(run_ids))
    return dict(session.execute(statement).all())


def comparison_data(session: Session, run_ids: Collection[int]) -> dict[int, ComparisonData]:
    """Return the data for comparisons by run, for the runs that have an analysis."""
    statement = select(RunAnalysis.run_id, RunAnalysis.replicates, RunAnalysis.image_outcomes)
    rows = session.execute(statement.where(RunAnalysis.run_id.in_(run_ids)))
    return {run_id: ComparisonData(replicates, outcomes) for run_id, replicates, outcomes in rows}


def compute(platform: Platform, payload: Mapping[str, Any]) -> None:
    """Analyse the run in `payload` and store the result, unless it has been analysed.

    Raises NotFoundError for a run without scores, and the errors of storage and the child process.
    """
    run_id = int(payload["run_id"])
    with platform.transaction() as session:
        if is_analysed(session, run_id):
            return
        run = scored_runs.scored_run(session, run_id)
        if run is None and scored_runs.was_discarded(session, run_id):
            return
        if run is None:
            raise NotFoundError(f"there is no scored run {run_id} with statistics")
        archive_key, description_key = source_of(session, run_id)
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
            limits, sandbox.analyse, archive, archive_limits, statistics, truth, report, run.truth_id
        )
    _store(platform, run_id, json.loads(output))


def _store(platform: Platform, run_id: int, made: Mapping[str, Any]) -> None:
    """Store a child's output, after checking that pages can read it."""
    from_plain(Diagnosis, made["diagnosis"])
    kept = ComparisonData(*(base64.b64decode(made[name]) for name in ("replicates", "image_outcomes")))
    Replicates.of_bytes(kept.replicates)
    ImageOutcomes.of_bytes(kept.image_outcomes)
    with platform.transaction() as session:
        store(session, run_id, made["diagnosis"], kept)
        queue.add_boards(
            session, Result.published_run_id == run_id
        )  # the run can be compared with others now
    platform.notifier.wake_workers()


def analysis(platform: Platform, actor: Actor, run_id: int) -> AnalysisView:
    """Return the analysis of a run. Raises NotFoundError, and WithheldError while the phase is held out."""
    with platform.transaction() as session:
        found = scored_runs.visible_run(session, actor, run_id)
        phase = challenges.phase_of_id(session, found[1].id) if found else None
        if phase is None:
            raise NotFoundError(f"there is no run {run_id}, or it is not public")
        if hidden := withheld(phase, visibility_for(actor, phase)):
            raise WithheldError(hidden)
        stored = diagnoses(session, [run_id]).get(run_id)
    return analysis_view(stored)
