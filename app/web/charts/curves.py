"""Curve charts: curves in a frame of fixed size, with a legend below it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.web.charts.scales import Scale, score_axis, score_axis_upwards
from app.web.charts.shapes import Drawing, Line, Plot, Polyline, Shape, Text, label

WIDTH, HEIGHT = 384, 290  # of the frame
LEFT, TOP, RIGHT, AXIS = 42, 10, 14, 42  # around it; the axis has its label below its numbers
ROW = 19  # of the legend
COLUMNS = 150  # horizontal resolution of a curve
FEW_COLUMNS = 50  # the same for thin lines, of which there may be a hundred
MOST_LETTERS = 44
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """A curve with its score. across, up: float64 (n,), `across` ascending; points with NaN are left out."""

    name: str
    value: float | None
    across: Floats
    up: Floats


@dataclass(frozen=True, slots=True)
class Axes:
    """The labels of the axes, what the score of a curve is, and a reference level in [0, 1]."""

    across: str
    up: str
    level: float | None = None
    level_name: str = ""
    right: float = 1.0  # the end of the horizontal axis
    measure: str = ""


PRECISION_RECALL: Final = Axes("recall", "precision", measure="AP")
ROC: Final = Axes("false positive rate", "true positive rate", measure="AUC")


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of the legend: how a line looks, its name and its score."""

    style: str
    name: str
    value: float | None
    measure: str = ""

    def at(self, y: float) -> Iterator[Shape]:
        """Draw the row with its text on this line."""
        yield Line(LEFT, y - 4, LEFT + 26, y - 4, self.style)
        yield label(LEFT + 34, y, self.name, MOST_LETTERS)
        if self.value is not None:
            yield Text(LEFT + WIDTH, y, f"{self.measure} {100 * self.value:.1f}".strip(), "end", "number")


def curve_chart(
    name: str, title: str, description: str, curves: Sequence[Curve], axes: Axes, named: int = 5
) -> Drawing:
    """Draw the first `named` curves in their own colours, with a row of the legend each, and the rest as thin lines."""
    across, up = Scale(0, axes.right, LEFT, LEFT + WIDTH), Scale(0, 1, TOP + HEIGHT, TOP)
    legend = list(_legend(curves[:named], len(curves) - named, axes))
    shapes = [
        *score_axis(across, TOP, TOP + HEIGHT),
        *score_axis_upwards(up, LEFT, LEFT + WIDTH),
        Text(LEFT + WIDTH / 2, TOP + HEIGHT + 32, f"{axes.across} (%)", "middle", "quiet"),
        Text(12, TOP + HEIGHT / 2, f"{axes.up} (%)", "middle", "quiet", turned=-90),
        *(_line(curve, across, up, "faint", FEW_COLUMNS) for curve in curves[named:]),
        *_level(axes, across, up),
        *(_line(curve, across, up, f"series-{place}") for place, curve in enumerate(curves[:named])),
        *(
            shape
            for place, row in enumerate(legend)
            for shape in row.at(TOP + HEIGHT + AXIS + ROW * (place + 0.7))
        ),
    ]
    plot = Plot(f"{LEFT} {TOP} {WIDTH} {HEIGHT}", axes.across, axes.right, axes.up)
    height = TOP + HEIGHT + AXIS + ROW * len(legend) + 4
    return Drawing(name, title, description, LEFT + WIDTH + RIGHT, height, tuple(shapes), plot)


def thinned(across: Floats, up: Floats, columns: int = COLUMNS) -> tuple[Floats, Floats]:
    """Thin a curve to the points that are visible: the first, highest and lowest of each column.

    >>> [each.tolist() for each in thinned(np.array([0.0, 0.1, 0.2, 1.0]), np.array([1.0, 0.2, 0.7, 0.5]), 2)]
    [[0.0, 0.1, 1.0], [1.0, 0.2, 0.5]]
    """
    kept = ~(np.isnan(across) | np.isnan(up))
    across, up = across[kept], up[kept]
    if len(up) <= columns:
        return across, up
    column = np.minimum((across * columns).astype(np.int64), columns - 1)
    starts = np.flatnonzero(np.r_[True, column[1:] != column[:-1]])
    order = np.lexsort((up, column))
    ends = np.r_[starts[1:], len(column)]
    chosen = np.unique(np.r_[starts, order[starts], order[ends - 1]])
    return across[chosen], up[chosen]


def _line(curve: Curve, across: Scale, up: Scale, style: str, columns: int = COLUMNS) -> Polyline:
    right, high = thinned(curve.across / across.high, curve.up, columns)
    xs = across.start + (across.end - across.start) * right
    ys = up.start + (up.end - up.start) * high
    points = map("{:.1f},{:.1f}".format, xs.tolist(), ys.tolist())
    return Polyline(" ".join(points), f"curve {style}", _title(curve))


def _title(curve: Curve) -> str:
    return curve.name if curve.value is None else f"{curve.name} {100 * curve.value:.1f}"


def _level(axes: Axes, across: Scale, up: Scale) -> Iterator[Shape]:
    if axes.level is not None:
        yield Line(across.start, up.at(axes.level), across.end, up.at(axes.level), "mark")


def _legend(curves: Sequence[Curve], others: int, axes: Axes) -> Iterator[_Row]:
    for place, curve in enumerate(curves):
        yield _Row(f"curve series-{place}", curve.name, curve.value, axes.measure)
    if axes.level is not None:
        yield _Row("mark", axes.level_name, axes.level)
    if others > 0:
        yield _Row("curve faint", f"{others} more", None)
