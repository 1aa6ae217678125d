"""Scales, which map values to positions, and their ticks."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from app.web.charts.shapes import Line, Shape, Text

STEPS = (1, 2, 5, 10)
MOST_TICKS = 9


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


def ticks(low: float, high: float, most: int = MOST_TICKS) -> list[float]:
    """Return at most `most` round numbers in [low, high], spaced by 1, 2 or 5 times a power of ten.

    >>> ticks(0, 1), ticks(0, 0.37, 5), ticks(3, 3)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [0.0, 0.1, 0.2, 0.3], [3.0])
    """
    if high <= low:
        return [float(low)]
    step = _step(low, high, most)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [_multiple(number, step) for number in range(first, last + 1)]


def rounded(low: float, high: float) -> tuple[float, float]:
    """Widen a range until there is a tick at each of its ends; low must be less than high.

    >>> rounded(0, 0.88), rounded(0.38, 0.87), rounded(-0.12, 0.12)
    ((0.0, 1.0), (0.3, 0.9), (-0.15, 0.15))
    """
    step = _step(low, high)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ends = _multiple(first, step), _multiple(last, step)
    return ends if _step(*ends) == step else rounded(*ends)


def _step(low: float, high: float, most: int = MOST_TICKS) -> float:
    magnitude = 10.0 ** math.floor(math.log10((high - low) / most))
    return next(
        (step * magnitude for step in STEPS if (high - low) / (step * magnitude) <= most - 1 + 1e-9),
        20 * magnitude,
    )


def _multiple(number: int, step: float) -> float:
    return round(number * step, max(0, -math.floor(math.log10(step)))) + 0.0


def top_of(values: list[float], least: float = 0.1) -> float:
    """Return a number in (0, 1] with a tick that no value exceeds, for the end of a score axis.

    >>> top_of([0.31, 0.1]), top_of([]), top_of([0.97])
    (0.35, 0.1, 1.0)
    """
    return rounded(0.0, max([least, *values]))[1]


def percent(value: float) -> str:
    """Format the tick of a score in [0, 1] in percent.

    >>> percent(0.2), percent(0.025)
    ('20', '2.5')
    """
    return f"{100 * value:.6g}".replace("-", "\N{MINUS SIGN}")


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
