"""Analyses as pages and programs see them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Final

import scoring
from scoring.analysis.diagnosis import Diagnosis
from scoring.analysis.errors import ErrorBreakdown, ErrorKind
from scoring.analysis.sweeps import Sweep, Swept

EXPLANATIONS: Final = {
    ErrorKind.DUPLICATE: "a further detection of an object that another detection has found",
    ErrorKind.LOCALISATION: "overlaps an object of the class, but by less than the threshold",
    ErrorKind.SIMILAR: "confusion: overlaps an object of a similar class",
    ErrorKind.OTHER: "confusion: overlaps an object of any other class",
    ErrorKind.BACKGROUND: "overlaps no object",
    ErrorKind.MISSED: "an object that no detection finds",
}
"""What is counted under each kind; an overlap is an IoU of at least 0.1."""

LABELS: Final = {
    ErrorKind.SIMILAR: "similar class",
    ErrorKind.OTHER: "other class",
    ErrorKind.MISSED: "missed object",
}
SWEPT: Final = {Swept.IOU: "IoU threshold", Swept.AREA: "minimum object size, share of the image"}


@dataclass(frozen=True, slots=True)
class Kept:
    """What comparisons are made from: files of replicates and of outcomes by image."""

    replicates: bytes
    image_outcomes: bytes


@dataclass(frozen=True, slots=True)
class ErrorRow:
    """The errors of a kind: how many, and the score in [0, 1] that fixing them would gain."""

    kind: str
    label: str
    explanation: str
    count: int
    gain: float | None


@dataclass(frozen=True, slots=True)
class ClassErrors:
    """The errors of a class by kind, or of all classes: counts added up, gains averaged over those that have a score."""

    name: str | None
    value: float | None
    rows: tuple[ErrorRow, ...]


@dataclass(frozen=True, slots=True)
class Level:
    """The score at a level of what is swept, both in [0, 1], and the number of positives there."""

    level: float
    value: float | None
    positives: int


@dataclass(frozen=True, slots=True)
class SweepView:
    """Scores over IoU thresholds or smallest objects, of a class or of all: the mean of those that have a score there."""

    swept: str
    label: str
    name: str | None
    levels: tuple[Level, ...]


@dataclass(frozen=True, slots=True)
class AnalysisView:
    """The analysis of a run, all classes together first; before it is computed it is empty."""

    is_computed: bool
    errors: tuple[ClassErrors, ...] = ()
    sweeps: tuple[SweepView, ...] = ()

    def errors_of(self, name: str | None) -> ClassErrors | None:
        """The errors of a class, or of all."""
        return next((each for each in self.errors if each.name == name), None)

    def sweeps_of(self, names: Sequence[str | None]) -> tuple[tuple[SweepView, ...], ...]:
        """For each parameter that was swept, the sweeps of these classes, or of all."""
        found = {(each.swept, each.name): each for each in self.sweeps}
        groups = (
            tuple(found[swept.value, name] for name in names if (swept.value, name) in found)
            for swept in Swept
        )
        return tuple(group for group in groups if group)


def analysis_view(stored: Mapping[str, Any] | None) -> AnalysisView:
    """A diagnosis as it was written down, with all classes together; none: it is not computed yet."""
    if stored is None:
        return AnalysisView(is_computed=False)
    found = scoring.from_plain(Diagnosis, dict(stored))
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
