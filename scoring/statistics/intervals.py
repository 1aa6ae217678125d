"""Confidence intervals from bootstrap replicates."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import ClassVar, Final

import numpy as np

from scoring.data.arrays import Floats
from scoring.statistics.resampling import Replicates

LEVEL: Final = 0.95
HEADLINE: Final = "mean"
"""The name of the row of all classes together."""
FEWEST: Final = 20
"""The fewest replicates with a value that an interval is computed from."""
TOO_FEW_REPLICATES: Final = "too few replicates have an object of the class"
NO_VALUE: Final = "the score itself has no value"

WIDENING: Final = 1.05
"""Percentiles are taken this many times further from the score, in standard deviations of a normal distribution.

The bootstrap's spread is too narrow, and a normal quantile takes it for exact: Hesterberg's expanded percentiles stretch
the distance by t(n - 1) / z * sqrt(n / (n - 1)), which is 1.05 at n = 36 observations. Source: Hesterberg, "What Teachers
Should Know About the Bootstrap", The American Statistician 69, 2015, section 4.3.2. One factor for all classes is enough,
as simulations show; 1 gives the percentiles themselves.
"""
_ROUNDING: Final = 1e-12
_NORMAL: Final = NormalDist()


@dataclass(frozen=True, slots=True)
class Interval:
    """The confidence interval of a score in [0, 1] or of a difference in [-1, 1], or the reason why there is none.

    replicates: how many had a value; the bounds are computed from these.
    """

    name: str
    value: float | None
    low: float | None
    high: float | None
    reason: str | None
    replicates: int


@dataclass(frozen=True, slots=True)
class IntervalTable:
    """Confidence intervals at a level in (0, 1), of each class and, last, of the headline.

    replicates: how many were drawn.
    """

    kind: ClassVar[str] = "interval_table"
    level: float
    replicates: int
    rows: tuple[Interval, ...]

    def __str__(self) -> str:
        """The score of each class with the bounds of its interval, as a table.

        >>> print(IntervalTable(0.95, 1000, (Interval("mean", 0.4, 0.3, 0.5, None, 1000),)))
        95 % confidence intervals
        class      value      low     high
        mean      0.4000   0.3000   0.5000
        """
        width = max([8, *(len(each.name) for each in self.rows)])
        lines = [
            f"{100 * self.level:g} % confidence intervals",
            f"{'class':{width}} {'value':>7}  {'low':>7}  {'high':>7}",
        ]
        for each in self.rows:
            numbers = (
                "-" if value is None else f"{value:.4f}" for value in (each.value, each.low, each.high)
            )
            shown = "  ".join(f"{number:>7}" for number in numbers)
            lines.append(f"{each.name:{width}} {shown}" + (f"  {each.reason}" if each.reason else ""))
        return "\n".join(lines)

    def by_class(self) -> Mapping[str | None, Interval]:
        """The interval of each class, and under None that of the headline.

        >>> car, mean = Interval("car", 0.5, 0.41, 0.6, None, 1000), Interval("mean", 0.4, 0.3, 0.5, None, 1000)
        >>> IntervalTable(0.95, 1000, (car, mean)).by_class()[None].high
        0.5
        """
        *classes, headline = self.rows
        return {each.name: each for each in classes} | {None: headline}


def interval_table(
    replicates: Replicates, *, level: float = LEVEL, widening: float = WIDENING
) -> IntervalTable:
    """The confidence interval of each class and, last, of the headline; see `interval`.

    >>> from scoring.statistics.resampling import Draws, Setup
    >>> drawn = np.tile(np.arange(1, 1000) / 1000, (2, 1))
    >>> setup = Setup("detection", "voc2012", "0f")
    >>> table = interval_table(Replicates(setup, Draws(9, 999), ("cat",), (0.5, 0.5), drawn))
    >>> [(row.name, row.low, row.high) for row in table.rows]
    [('cat', 0.02, 0.98), ('mean', 0.02, 0.98)]
    """
    rows = zip((*replicates.names, HEADLINE), replicates.scores, replicates.values, strict=True)
    intervals = (interval(*row, level=level, widening=widening) for row in rows)
    return IntervalTable(level, replicates.draws.replicates, tuple(intervals))


def interval(
    name: str,
    value: float | None,
    drawn: Floats,
    *,
    level: float = LEVEL,
    widening: float = WIDENING,
    lowest: float = 0.0,
) -> Interval:
    """The confidence interval, for the expected score on as many images, of a score from its replicates.

    drawn: float64 (replicates,), of which NaN are left out; with fewer than `FEWEST` others there is no interval.
    The bounds are percentiles of the replicates, extended to the score itself where it lies outside, with two
    corrections. Replicates tend to exceed the score, because repeated images raise the envelope of a curve, so
    percentiles are counted from the score's own place among its replicates instead of their median; and their
    distance from it is stretched by `widening`. Where that asks for a percentile beyond the replicates, as for the mean of
    hundreds of rare classes, whose replicates all exceed the score, percentiles are counted from the median and moved by
    the difference of score and median. Bounds lie in [lowest, 1].

    Simulated 95 % intervals of the mean of 20 classes cover the expected score in 96 % of the cases with 2 objects
    per class, 97 % with 5, 96 % with 50; those of a single class in 68, 93 and 97 %: two objects say too little
    (`tests/scoring/test_coverage.py` repeats a part). Plain percentiles cover 91 to 95 % with 50 to 300 objects, and
    the BC and BCa intervals, which correct the bias twice, 86 to 93 % for means.

    >>> interval("cat", 0.5, np.arange(1, 1000) / 1000)
    Interval(name='cat', value=0.5, low=0.02, high=0.98, reason=None, replicates=999)
    """
    drawn = np.sort(drawn[~np.isnan(drawn)])
    if value is None:
        return Interval(name, None, None, None, NO_VALUE, len(drawn))
    if len(drawn) < FEWEST:
        return Interval(name, value, None, None, TOO_FEW_REPLICATES, len(drawn))
    low, high = _bounds(value, drawn, widening * _NORMAL.inv_cdf((1 + level) / 2))
    return Interval(name, value, min(max(low, lowest), value), max(min(high, 1.0), value), None, len(drawn))


def _bounds(value: float, drawn: Floats, reach: float) -> tuple[float, float]:
    """Percentiles at a distance in standard deviations: from the value's place, or from the median and then moved."""
    centre = _NORMAL.inv_cdf(_quantile_of(value, drawn))
    low, high = (_NORMAL.cdf(centre + side * reach) for side in (-1, 1))
    if low * (len(drawn) + 1) >= 0.5 and (1 - high) * (len(drawn) + 1) >= 0.5:
        return quantile(low, drawn), quantile(high, drawn)
    shift = value - quantile(0.5, drawn)
    return quantile(_NORMAL.cdf(-reach), drawn) + shift, quantile(_NORMAL.cdf(reach), drawn) + shift


def _quantile_of(value: float, drawn: Floats) -> float:
    """The share of replicates below the value, in (0, 1); those equal to it, but for rounding, are counted half."""
    below = int(np.searchsorted(drawn, value - _ROUNDING)) + int(np.searchsorted(drawn, value + _ROUNDING))
    return min(max(below / 2, 0.5), len(drawn) - 0.5) / len(drawn)


def quantile(share: float, drawn: Floats) -> float:
    """The element of sorted values, float64 (n,), nearest to a share in [0, 1] of n + 1.

    >>> quantile(0.5, np.array([0.1, 0.2, 0.4]))
    0.2
    """
    number = math.floor(share * (len(drawn) + 1) + 0.5)
    return float(drawn[min(max(number, 1), len(drawn)) - 1])
