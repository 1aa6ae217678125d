"""Scales, which map values to positions, and their ticks."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from app.web.charts.shapes import Line, Shape, Text

STEPS = (1, 2, 5, 10)


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps [low, high] to positions from start to end; start may be greater than end.

    >>> Scale(0, 1, 100, 300).at(0.5), Scale(0, 1, 100, 0).at(0.25)
    (200.0, 75.0)
    """

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Return the position of a value; values outside the range are clamped."""
        if self.high == self.low:
            return (self.start + self.end) / 2
        share = (value - self.low) / (self.high - self.low)
        return self.start + (self.end - self.start) * min(max(share, 0.0), 1.0)


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Return at most `most` round numbers in [low, high], spaced by 1, 2 or 5 times a power of ten.

    >>> ticks(0, 1), ticks(0, 0.37, 5), ticks(3, 3)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [0.0, 0.1, 0.2, 0.3], [3.0])
    """
    if high <= low:
        return [float(low)]
    magnitude = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(
        (step * magnitude for step in STEPS if (high - low) / (step * magnitude) <= most - 1 + 1e-9),
        20 * magnitude,
    )
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    digits = max(0, -math.floor(math.log10(step)))
    return [round(number * step, digits) + 0.0 for number in range(first, last + 1)]


def top_of(values: list[float], least: float = 0.1) -> float:
    """Return a round number in (0, 1] that no value exceeds, for the end of a score axis.

    >>> top_of([0.31, 0.1]), top_of([]), top_of([0.97])
    (0.4, 0.1, 1.0)
    """
    highest = max(values, default=0.0)
    return min(1.0, max(least, math.ceil(highest * 10 - 1e-9) / 10))


def percent(value: float) -> str:
    """Format the tick of a score in [0, 1] in percent.

    >>> percent(0.2), percent(0.025)
    ('20', '2.5')
    """
    return f"{100 * value:.6g}"


def score_axis(scale: Scale, top: float, bottom: float) -> Iterator[Shape]:
    """Draw vertical grid lines with percentages below them, for a horizontal axis of scores."""
    for tick in ticks(scale.low, scale.high):
        x = scale.at(tick)
        yield Line(x, top, x, bottom, "grid")
        yield Text(x, bottom + 14, percent(tick), "middle", "quiet")


def score_axis_upwards(scale: Scale, left: float, right: float) -> Iterator[Shape]:
    """Draw horizontal grid lines with percentages to their left, for a vertical axis of scores."""
    for tick in ticks(scale.low, scale.high):
        y = scale.at(tick)
        yield Line(left, y, right, y, "grid")
        yield Text(left - 6, y + 4, percent(tick), "end", "quiet")
