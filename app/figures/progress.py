"""The best score over time: a step for each result that was better than all before it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import accumulate
from math import floor

from app.figures.scales import Scale, score_axis_upwards, top_of
from app.figures.shapes import Circle, Drawing, Polyline, Shape, Text, joined, shortened

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 620, 50, 600, 20, 260
DATES = 4


@dataclass(frozen=True, slots=True)
class Result:
    """A method's score in [0, 1], and when it was sent in."""

    name: str
    value: float
    date: datetime


def progress_chart(name: str, title: str, description: str, results: Sequence[Result]) -> Drawing:
    """Results by date as points, and the best so far as a line; those that were best have their names."""
    ordered = sorted(results, key=lambda each: (each.date, -each.value))
    first, last = ordered[0].date, ordered[-1].date
    days = max((last - first) / timedelta(days=1), 1e-9)
    across = Scale(0.0, days, LEFT + 12, RIGHT - 12)
    values = [each.value for each in ordered]
    up = Scale(floor(10 * min(values)) / 10, top_of(values), BOTTOM, TOP)
    shapes = [
        *score_axis_upwards(up, LEFT, RIGHT),
        *_dates(first, days, across),
        *_steps(ordered, across, up),
        *_points(ordered, across, up),
    ]
    return Drawing(name, title, description, WIDTH, BOTTOM + 24, tuple(shapes))


def best_so_far(results: Sequence[Result]) -> tuple[Result, ...]:
    """Those of results in the order of their dates that were better than all before them."""
    best = accumulate((each.value for each in results), max, initial=-1.0)
    return tuple(each for each, before in zip(results, best, strict=False) if each.value > before)


def _place(result: Result, first: datetime, across: Scale) -> float:
    return across.at((result.date - first) / timedelta(days=1))


def _dates(first: datetime, days: float, across: Scale) -> Iterator[Shape]:
    shown: set[str] = set()
    for number in range(DATES + 1):
        day = f"{first + timedelta(days=days * number / DATES):%Y-%m-%d}"
        if day not in shown:
            shown.add(day)
            anchor = "start" if number == 0 else "end" if number == DATES else "middle"
            yield Text(across.at(days * number / DATES), BOTTOM + 18, day, anchor, "quiet")


def _steps(ordered: Sequence[Result], across: Scale, up: Scale) -> Iterator[Shape]:
    first = ordered[0].date
    points: list[tuple[float, float]] = []
    for result in best_so_far(ordered):
        x, y = _place(result, first, across), up.at(result.value)
        if points:
            points.append((x, points[-1][1]))
        points.append((x, y))
    points.append((RIGHT, points[-1][1]))
    yield Polyline(joined(points), "curve series-0", "best so far")


def _points(ordered: Sequence[Result], across: Scale, up: Scale) -> Iterator[Shape]:
    best = set(best_so_far(ordered))
    free = 0.0  # where the next name may begin, so that names do not run into each other
    for result in ordered:
        x, y = _place(result, ordered[0].date, across), up.at(result.value)
        said = f"{result.name} {100 * result.value:.1f}, {result.date:%Y-%m-%d}"
        yield Circle(x, y, 3, "point" if result in best else "point quiet", said)
        name = shortened(result.name, 18)
        width = 6.6 * len(name)
        if result in best and x >= free:
            fits = x + width < RIGHT
            yield Text(x if fits else RIGHT, y - 7, name, "start" if fits else "end")
            free = x + width + 8
