"""The three distributions that tests of methods need: normal, chi square, and the range of normal numbers."""

import math
from functools import cache
from typing import Final

_STEP: Final = 1 / 16
_FURTHEST: Final = 9.0  # standard deviations; beyond lies less than 1e-18


def normal_beyond(deviations: float) -> float:
    """The chance of a normal number at least so many standard deviations away from its mean, on either side.

    >>> round(normal_beyond(1.959964), 6)
    0.05
    """
    return math.erfc(abs(deviations) / math.sqrt(2))


def chi_square_beyond(statistic: float, degrees: int) -> float:
    """The chance of a chi square of so many degrees of freedom, at least 1, being as large as this or larger.

    The incomplete gamma function is a finite sum for whole and half numbers. Source: Abramowitz and Stegun,
    "Handbook of Mathematical Functions", 26.4.4 and 26.4.5.

    >>> round(chi_square_beyond(26.296, 16), 4), round(chi_square_beyond(3.8415, 1), 4)
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


def range_beyond(size: float, numbers: int) -> float:
    """The chance that the largest and smallest of so many normal numbers, at least 2, are further apart than `size`.

    This is the studentized range with infinitely many degrees of freedom: the integral of n · φ(x) · (Φ(x)**(n - 1) -
    (Φ(x) - Φ(x - size))**(n - 1)) over x, the largest number. The integrand is smooth and vanishes at both ends, so the
    sum over equal steps converges faster than any power of the step: 1/16 gives the last digits.

    >>> round(range_beyond(3.314493, 3), 6)
    0.05
    """
    if size <= 0:
        return 1.0
    steps = int((2 * _FURTHEST + size) / _STEP)
    return min(sum(_beyond_at(step * _STEP - _FURTHEST, size, numbers) for step in range(steps + 1)), 1.0)


def _beyond_at(largest: float, size: float, numbers: int) -> float:
    """The part of the integral that belongs to a largest number; no nearly equal numbers are subtracted."""
    density = math.exp(-largest * largest / 2) / math.sqrt(2 * math.pi)
    below = _up_to(largest)
    # of the others, each below `largest`: too far below
    share = min(_up_to(largest - size) / below, 1 - 1e-16)
    return (
        -math.expm1((numbers - 1) * math.log1p(-share)) * below ** (numbers - 1) * numbers * density * _STEP
    )


@cache
def range_quantile(level: float, numbers: int) -> float:
    """The size that the range of so many normal numbers exceeds with a chance of 1 - level, by halving.

    >>> round(range_quantile(0.95, 17) / math.sqrt(2), 4)
    3.4584
    """
    low, high = 0.0, 2 * _FURTHEST
    for _ in range(60):
        middle = (low + high) / 2
        if range_beyond(middle, numbers) > 1 - level:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _up_to(value: float) -> float:
    return math.erfc(-value / math.sqrt(2)) / 2
