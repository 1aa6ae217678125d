"""Tail probabilities of the normal, chi-square and studentized range distributions."""

import math
from functools import cache
from typing import Final

_STEP: Final = 1 / 16
_FURTHEST: Final = 9.0  # standard deviations; less than 1e-18 lies beyond


def normal_p_value(z: float) -> float:
    """The two-sided p-value of a standard normal statistic.

    >>> round(normal_p_value(1.959964), 6)
    0.05
    """
    return math.erfc(abs(z) / math.sqrt(2))


def chi_square_p_value(statistic: float, degrees: int) -> float:
    """The upper tail probability of the chi-square distribution with at least 1 degree of freedom.

    The incomplete gamma function is a finite sum for whole and half arguments. Source: Abramowitz and Stegun,
    "Handbook of Mathematical Functions", 26.4.4 and 26.4.5.

    >>> round(chi_square_p_value(26.296, 16), 4), round(chi_square_p_value(3.8415, 1), 4)
    (0.05, 0.05)
    """
    if statistic <= 0:
        return 1.0
    half = statistic / 2
    start = degrees % 2 / 2  # 0 or 1/2
    total = math.erfc(math.sqrt(half)) if degrees % 2 else 0.0
    for k in range(degrees // 2):
        power = start + k
        total += math.exp(power * math.log(half) - half - math.lgamma(power + 1))
    return min(total, 1.0)


def studentized_range_p_value(size: float, groups: int) -> float:
    """The upper tail probability of the studentized range of at least 2 groups, with infinite degrees of freedom.

    This is the probability that n standard normal numbers span more than `size`: the integral of n · φ(x) ·
    (Φ(x)**(n - 1) - (Φ(x) - Φ(x - size))**(n - 1)) over the largest number x. The integrand is smooth and vanishes at
    both ends, so the sum over equal steps converges faster than any power of the step: 1/16 gives the last digits.

    >>> round(studentized_range_p_value(3.314493, 3), 6)
    0.05
    """
    if size <= 0:
        return 1.0
    steps = int((2 * _FURTHEST + size) / _STEP)
    return min(sum(_tail_at(step * _STEP - _FURTHEST, size, groups) for step in range(steps + 1)), 1.0)


def _tail_at(largest: float, size: float, groups: int) -> float:
    """The integral's share at a largest number; written so that no nearly equal numbers are subtracted."""
    density = math.exp(-largest * largest / 2) / math.sqrt(2 * math.pi)
    below = _normal_cdf(largest)
    too_far_below = min(_normal_cdf(largest - size) / below, 1 - 1e-16)  # among the numbers below the largest
    return (
        -math.expm1((groups - 1) * math.log1p(-too_far_below))
        * below ** (groups - 1)
        * groups
        * density
        * _STEP
    )


@cache
def studentized_range_quantile(level: float, groups: int) -> float:
    """The quantile of the studentized range at a level in (0, 1), with infinite degrees of freedom, by bisection.

    >>> round(studentized_range_quantile(0.95, 17) / math.sqrt(2), 4)
    3.4584
    """
    low, high = 0.0, 2 * _FURTHEST
    for _ in range(60):
        middle = (low + high) / 2
        if studentized_range_p_value(middle, groups) > 1 - level:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _normal_cdf(value: float) -> float:
    return math.erfc(-value / math.sqrt(2)) / 2
