"""The pieces of a report, as a reader may see them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

import scoring
from app.editions.rules import disclosed

NO_VALUE = "no value"


@dataclass(frozen=True, slots=True)
class ClassValue:
    """What a run scored for one class, in [0, 1]; `reason` says why there is no value. Counts only where all is public.

    low, high: of 100 such intervals 95 hold the score to be expected on images like these.
    """

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None
    reason: str | None = None
    positives: int | None = None
    answers: int | None = None


@dataclass(frozen=True, slots=True)
class CurveView:
    """A precision/recall curve in points of [0, 1]."""

    name: str
    recall: tuple[float | None, ...]  # none where there is nothing to find
    precision: tuple[float | None, ...]  # none before the first answer that counts
    coarse: bool  # an envelope with two decimals instead of every point


@dataclass(frozen=True, slots=True)
class RocView:
    """A ROC curve in points of [0, 1]."""

    name: str
    false_alarms: tuple[float | None, ...]
    found: tuple[float | None, ...]
    coarse: bool


@dataclass(frozen=True, slots=True)
class MatrixView:
    """Of the pixels of each true label, the share that was given each label, and how many those are."""

    labels: tuple[str, ...]
    shares: tuple[tuple[float | None, ...], ...]
    counts: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class ExhibitView:
    """A piece of a run's report, as the template `exhibits/<kind>.html` shows it.

    total: what the rows come to, in [0, 1], with its interval.
    """

    kind: str
    title: str
    rows: tuple[ClassValue | CurveView | RocView | MatrixView, ...]
    total: float | None = None
    low: float | None = None
    high: float | None = None


def exhibits_of(kept: Sequence[Mapping[str, Any]], *, everything: bool) -> tuple[ExhibitView, ...]:
    """What a page shows of a run beside its scores: further tables, and what is drawn of each kind."""
    tables = [one for one in kept if one["kind"] == scoring.ScoreTable.kind]
    shown = [table_view(scoring.ScoreTable.from_plain(one), everything) for one in tables[1:]]
    for kind, (title, view) in DRAWN.items():
        if kind in ONLY_IN_THE_OPEN and not everything:
            continue
        rows = tuple(
            view(scoring.EXHIBITS[kind].from_plain(one), everything) for one in kept if one["kind"] == kind
        )
        if rows:
            shown.append(ExhibitView(kind, title, rows))
    return tuple(shown)


def table_view(table: scoring.ScoreTable, everything: bool) -> ExhibitView:  # noqa: FBT001 - every view has this form
    """Scores by other rules than the competition's, such as with difficult objects included; their mean may stand last."""
    rows = [
        ClassValue(name, disclosed(value, everything=everything), reason=NO_VALUE if value is None else None)
        for name, value in table.rows
    ]
    total = rows.pop().value if rows and rows[-1].name == "mean" else None
    return ExhibitView(table.kind, table.title, tuple(rows), total)


LEVELS = tuple(step / 40 for step in range(41))  # of a coarse curve
COARSE_DECIMALS = 2


def curve_view(curve: scoring.Curve, everything: bool) -> CurveView:  # noqa: FBT001 - as above
    """A curve as a reader may see it: every point, or an envelope that gives no single answer away."""
    if everything:
        points = curve.points()
        recall, precision = (_known(values.tolist()) for values in (points.recall, points.precision))
        return CurveView(curve.class_name, recall, precision, coarse=False)
    return CurveView(curve.class_name, LEVELS, _coarse(curve.envelope(len(LEVELS))), coarse=True)


def roc_view(curve: scoring.RocCurve, everything: bool) -> RocView:  # noqa: FBT001 - as above
    """A ROC curve as a reader may see it."""
    if everything:
        points = curve.points()
        alarms, found = (_known(values.tolist()) for values in (points.false_alarms, points.found))
        return RocView(curve.class_name, alarms, found, coarse=False)
    return RocView(curve.class_name, LEVELS, _coarse(curve.envelope(len(LEVELS))), coarse=True)


def matrix_view(matrix: scoring.ConfusionMatrix, _everything: bool) -> MatrixView:  # noqa: FBT001 - as above
    """A confusion matrix with the share of each count in its row."""
    totals = [sum(row) for row in matrix.counts]
    shares = tuple(
        tuple(count / total if total else None for count in row)
        for row, total in zip(matrix.counts, totals, strict=True)
    )
    return MatrixView(matrix.labels, shares, matrix.counts)


DRAWN: Mapping[str, tuple[str, Callable[[Any, bool], CurveView | RocView | MatrixView]]] = {
    "curve": ("Precision over recall", curve_view),
    "roc_curve": ("Found over false alarms", roc_view),
    "confusion_matrix": ("Confusion of labels", matrix_view),
}
"""The kinds of exhibits that a page draws, with their titles, in the order in which they stand."""

ONLY_IN_THE_OPEN = frozenset({scoring.ConfusionMatrix.kind})
"""Kinds that are not shown of a held-out phase: who gives every image a label of its own reads a matrix image by image."""


def _coarse(values: Sequence[float]) -> tuple[float, ...]:
    return tuple(round(value, COARSE_DECIMALS) for value in values)


def _known(values: Sequence[float]) -> tuple[float | None, ...]:
    return tuple(None if isnan(value) else value for value in values)
