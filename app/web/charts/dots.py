"""Dot charts with intervals: one dot per row and series, on a common scale."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.web.charts.scales import Scale, rounded, score_axis
from app.web.charts.shapes import Circle, Drawing, Line, Shape, label, width_of

WIDTH, RIGHT = 440, 426
LEGEND, BELOW = 18, 8  # height of a row of the legend, and space below it
ROW, SPACE = 11, 7  # height of a dot, and space around the dots of a row
MOST_LETTERS = 18
LONGEST = 48  # letters in the legend


@dataclass(frozen=True, slots=True)
class Dot:
    """A value with its interval, if it has one."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class DotRow:
    """A row with a dot for each series; None if it has no value there."""

    name: str
    dots: tuple[Dot | None, ...]


@dataclass(frozen=True, slots=True)
class Series:
    """A series of dots of one colour; colour: its number in the style sheet, from 0."""

    name: str
    colour: int


@dataclass(frozen=True, slots=True)
class Range:
    """The range of the axis; a line marks 0 if it is inside."""

    low: float
    high: float


def dot_chart(
    name: str, title: str, description: str, rows: Sequence[DotRow], series: Sequence[Series], spans: Range
) -> Drawing:
    """Draw rows from top to bottom, each with the dots of its series stacked, and a legend above them."""
    height = SPACE + ROW * len(series)
    top = LEGEND * len(series) + BELOW
    bottom = top + height * len(rows)
    scale = Scale(spans.low, spans.high, 12 + width_of((row.name for row in rows), MOST_LETTERS), RIGHT)
    zero = (Line(scale.at(0), top, scale.at(0), bottom, "axis"),) if spans.low < 0 < spans.high else ()
    shapes = [
        *_legend(series),
        *score_axis(scale, top, bottom),
        *zero,
        *(
            shape
            for place, row in enumerate(rows)
            for shape in _row(row, series, top + height * place, scale)
        ),
    ]
    return Drawing(name, title, description, WIDTH, bottom + 24, tuple(shapes))


def series_of(names: Sequence[str]) -> list[Series]:
    """Return a series for each name, with consecutive colours.

    >>> [each.colour for each in series_of(["oak", "elm"])]
    [0, 1]
    """
    return [Series(name, colour) for colour, name in enumerate(names)]


def symmetric(values: Sequence[float]) -> Range:
    """Return the range around 0 that contains all values, with a tick at each end.

    >>> symmetric([0.03, -0.12]), symmetric([])
    (Range(low=-0.15, high=0.15), Range(low=-0.06, high=0.06))
    """
    furthest = max([0.05, *map(abs, values)])
    return Range(*rounded(-furthest, furthest))


def _row(row: DotRow, series: Sequence[Series], top: float, scale: Scale) -> Iterator[Shape]:
    middle = top + (SPACE + ROW * len(row.dots)) / 2
    yield label(scale.start - 8, middle + 4, row.name, MOST_LETTERS, anchor="end")
    for place, (dot, one) in enumerate(zip(row.dots, series, strict=True)):
        if dot is None:
            continue
        y = top + SPACE / 2 + ROW * (place + 0.5)
        if dot.low is not None and dot.high is not None:
            yield Line(scale.at(dot.low), y, scale.at(dot.high), y, f"whisker series-{one.colour}")
        yield Circle(
            scale.at(dot.value),
            y,
            3.2,
            f"dot series-{one.colour}",
            f"{one.name}, {row.name}: {100 * dot.value:.1f}",
        )


def _legend(series: Sequence[Series]) -> Iterator[Shape]:
    for place, one in enumerate(series):
        y = LEGEND * (place + 0.7)
        yield Circle(6, y - 4, 3.6, f"dot series-{one.colour}", one.name)
        yield label(16, y, one.name, LONGEST)
