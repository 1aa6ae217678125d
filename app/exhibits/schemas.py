"""The pieces of a report, as a reader may see them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from math import isnan
from typing import Any

import scoring
from app.exports import rules as exports
from scoring.tasks.outcome import DIFFICULT_INCLUDED

NO_VALUE = "no value"


@dataclass(frozen=True, slots=True)
class ClassValue:
    """What a run scored for one class, in [0, 1]; `reason` says why there is no value. Counts only where all is public.

    low, high: the 95 % confidence interval, by bootstrap over the images.
    """

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None
    reason: str | None = None
    positives: int | None = None
    predictions: int | None = None


@dataclass(frozen=True, slots=True)
class CurveView:
    """A PR curve in points of [0, 1]."""

    name: str
    recall: tuple[float | None, ...]  # none without positives
    precision: tuple[float | None, ...]  # none before the first prediction that counts


@dataclass(frozen=True, slots=True)
class RocView:
    """A ROC curve in points of [0, 1]."""

    name: str
    fpr: tuple[float | None, ...]
    tpr: tuple[float | None, ...]


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


def exhibits_of(stored: Sequence[Mapping[str, Any]]) -> tuple[ExhibitView, ...]:
    """What a page shows of a run in addition to its scores: further tables, curves and matrices."""
    tables = [one for one in stored if one["kind"] == scoring.ScoreTable.kind]
    shown = [table_view(scoring.from_plain(scoring.ScoreTable, one)) for one in tables[1:]]
    for kind, (title, view) in DRAWN.items():
        rows = tuple(
            view(scoring.from_plain(scoring.EXHIBITS[kind], one)) for one in stored if one["kind"] == kind
        )
        if rows:
            shown.append(ExhibitView(kind, title, rows))
    return tuple(shown)


def table_view(table: scoring.ScoreTable) -> ExhibitView:
    """Scores by other rules than the competition's, such as with difficult objects included; their mean may stand last."""
    rows = [ClassValue(name, value, reason=NO_VALUE if value is None else None) for name, value in table.rows]
    total = rows.pop().value if rows and rows[-1].name == "mean" else None
    return ExhibitView(table.kind, table.title, tuple(rows), total)


def with_difficult(tables: Iterable[Mapping[str, Any]]) -> Mapping[str, float | None]:
    """The values that count difficult objects like any other, of a run's tables of scores; their mean under "mean"."""
    every = (scoring.from_plain(scoring.ScoreTable, one) for one in tables)
    return next((dict(table.rows) for table in every if table.title.endswith(DIFFICULT_INCLUDED)), {})


def curve_view(curve: scoring.Curve) -> CurveView:
    """Every point of a PR curve."""
    points = curve.points()
    return CurveView(curve.class_name, _known(points.recall.tolist()), _known(points.precision.tolist()))


def csv_of(curves: Iterable[CurveView]) -> str:
    """PR curves as a table with a header: a line for each point, blank where it has no value.

    >>> csv_of([CurveView("car", (0.5, 1.0), (1.0, None))]).splitlines()
    ['class,recall,precision', 'car,0.5,1.0', 'car,1.0,']
    """
    points = (zip(repeat(curve.name), curve.recall, curve.precision, strict=False) for curve in curves)
    return exports.csv_of(("class", "recall", "precision"), chain.from_iterable(points))


def roc_view(curve: scoring.RocCurve) -> RocView:
    """Every point of a ROC curve."""
    points = curve.points()
    return RocView(curve.class_name, _known(points.fpr.tolist()), _known(points.tpr.tolist()))


def matrix_view(matrix: scoring.ConfusionMatrix) -> MatrixView:
    """A confusion matrix with the share of each count in its row."""
    totals = [sum(row) for row in matrix.counts]
    shares = tuple(
        tuple(count / total if total else None for count in row)
        for row, total in zip(matrix.counts, totals, strict=True)
    )
    return MatrixView(matrix.labels, shares, matrix.counts)


DRAWN: Mapping[str, tuple[str, Callable[[Any], CurveView | RocView | MatrixView]]] = {
    "curve": ("PR curve", curve_view),
    "roc_curve": ("ROC curve", roc_view),
    "confusion_matrix": ("Confusion matrix", matrix_view),
}
"""The kinds of exhibits that a page draws, with their titles, in the order in which they stand."""


def _known(values: Sequence[float]) -> tuple[float | None, ...]:
    return tuple(None if isnan(value) else value for value in values)
