"""What a page says of a result: its rank, what scoring it again changed, its drawings."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import numpy as np

import scoring
from app.analyses.schemas import ClassErrors, SweepView
from app.exhibits.schemas import CurveView, RocView, curve_view, roc_view
from app.figures.bars import Bar, Legend, bar_chart
from app.figures.curves import Axes, Curve, curve_chart
from app.figures.dots import Dot, DotRow, Range, dot_chart, series_of
from app.figures.scales import top_of
from app.figures.shapes import Column, Drawing, Figure, Table
from app.results.schemas import Change

EVERY: Final = "all classes"
LEVELS: Final = 11  # of the table beside curves
MOST: Final = 2  # classes over each other


def classes_to_draw(asked: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    """At most two of the classes that there are, in the order they were asked for; by default the first.

    >>> classes_to_draw(["dog", "cow", "dog"], ["cat", "dog"]), classes_to_draw([], ["cat", "dog"])
    (('dog',), ('cat',))
    """
    found = tuple(name for name in dict.fromkeys(asked) if name in known)[:MOST]
    return found or tuple(known[:1])


def seconds_between(begun: datetime | None, ended: datetime | None) -> float | None:
    """How long something took; none while it is not over.

    >>> seconds_between(datetime(2026, 11, 22, 10, 0), datetime(2026, 11, 22, 10, 1)), seconds_between(None, None)
    (60.0, None)
    """
    return None if begun is None or ended is None else (ended - begun).total_seconds()


def changes_of(before: Mapping[str, float | None], after: Mapping[str, float | None]) -> tuple[Change, ...]:
    """The classes whose shown value is another than before, in their order.

    >>> changes_of({"cat": 0.5, "dog": 0.25}, {"cat": 0.5, "dog": 0.75})
    (Change(name='dog', before=0.25, after=0.75),)
    """
    return tuple(
        Change(name, before.get(name), value) for name, value in after.items() if before.get(name) != value
    )


def view_of(stored: Mapping[str, Any]) -> CurveView | RocView:
    """A curve as it was written down."""
    if stored["kind"] == scoring.Curve.kind:
        return curve_view(scoring.from_plain(scoring.Curve, stored))
    return roc_view(scoring.from_plain(scoring.RocCurve, stored))


def curves_figure(curves: Sequence[tuple[str, float | None, CurveView | RocView]]) -> Figure | None:
    """PR or ROC curves over each other, each with its name and score; none without curves."""
    if not curves:
        return None
    is_roc = isinstance(curves[0][2], RocView)
    axes = Axes("false positive rate", "true positive rate") if is_roc else Axes("recall", "precision")
    title = "ROC curve" if is_roc else "Precision-recall curve"
    lines = [Curve(name, value, *_places(view)) for name, value, view in curves]
    said = "; ".join(f"{name} {_percent(value)}" for name, value, _ in curves)
    drawing = curve_chart("curves", title, f"{title} of {said}.", lines, axes)
    level = f"{axes.across} {'at most' if is_roc else 'at least'}"
    columns = (Column(level), *(Column(f"{name}: best {axes.up}") for name, _, _ in curves))
    return Figure(drawing, Table(columns, tuple(_levels(lines, is_roc=is_roc))))


def _places(view: CurveView | RocView) -> tuple[Any, Any]:
    across, up = (view.fpr, view.tpr) if isinstance(view, RocView) else (view.recall, view.precision)
    return np.array(across, np.float64), np.array(up, np.float64)


def _levels(lines: Sequence[Curve], *, is_roc: bool) -> list[tuple[float | None, ...]]:
    """At each of a few levels the best of each curve that reaches it; of ROC curves the best before it."""
    return [
        (level, *(_best(line, level, is_roc=is_roc) for line in lines))
        for level in (number / (LEVELS - 1) for number in range(LEVELS))
    ]


def _best(line: Curve, level: float, *, is_roc: bool) -> float | None:
    there = (line.across <= level + 1e-12) if is_roc else (line.across >= level - 1e-12)
    there &= ~np.isnan(line.up)
    return float(line.up[there].max()) if there.any() else None


def errors_figure(methods: Sequence[tuple[str, ClassErrors | None]]) -> Figure | None:
    """The score that each kind of error costs, a bar for each kind and method; none without an analysis."""
    known = [(name, errors) for name, errors in methods if errors is not None]
    if not known:
        return None
    title = "What each kind of error costs"
    drawing = _error_bars(title, known[0][1]) if len(known) == 1 else _error_dots(title, known)
    columns = [Column("kind", "text")]
    for name, _ in known:
        columns += [Column(f"{name}: errors", "number"), Column(f"{name}: cost")]
    rows = tuple(
        (
            row.label,
            *(value for _, errors in known for value in (errors.rows[place].count, errors.rows[place].gain)),
        )
        for place, row in enumerate(known[0][1].rows)
    )
    return Figure(drawing, Table(tuple(columns), rows))


def _error_bars(title: str, errors: ClassErrors) -> Drawing:
    bars = [Bar(row.label, row.gain) for row in errors.rows if row.gain is not None]
    return bar_chart("errors", title, f"{title}.", bars, Legend("score that fixing it would gain"))


def _error_dots(title: str, methods: Sequence[tuple[str, ClassErrors]]) -> Drawing:
    names = [name for name, _ in methods]
    rows = [
        DotRow(
            row.label,
            tuple(None if (gain := errors.rows[place].gain) is None else Dot(gain) for _, errors in methods),
        )
        for place, row in enumerate(methods[0][1].rows)
    ]
    gains = [row.gain for _, errors in methods for row in errors.rows if row.gain is not None]
    spans = Range(0.0, top_of(gains))
    return dot_chart("errors", title, f"{title}, for {', '.join(names)}.", rows, series_of(names), spans)


def sweep_figure(group: Sequence[SweepView]) -> Figure:
    """The scores of classes over what was swept."""
    first = group[0]
    lines = [
        Curve(
            each.name or EVERY,
            None,
            np.array([level.level for level in each.levels], np.float64),
            np.array([np.nan if level.value is None else level.value for level in each.levels], np.float64),
        )
        for each in group
    ]
    drawing = curve_chart(
        f"sweep-{first.swept}", f"Score by {first.label}", f"Score by {first.label}.", lines,
        Axes(first.label, "score", right=_end(first)),
    )  # fmt: skip
    columns = (Column(first.label), *(Column(each.name or EVERY) for each in group))
    rows = tuple(
        (level.level, *(each.levels[place].value for each in group))
        for place, level in enumerate(first.levels)
    )
    return Figure(drawing, Table(columns, rows))


def _end(swept: SweepView) -> float:
    """The end of the axis: of thresholds 1, of sizes the largest level."""
    return 1.0 if swept.swept == "iou" else max(level.level for level in swept.levels)


def _percent(value: float | None) -> str:
    return "without a score" if value is None else f"{100 * value:.1f}"
