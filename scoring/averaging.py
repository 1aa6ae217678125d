"""One number for several classes."""

from collections.abc import Callable, Sequence

Average = Callable[[Sequence[float]], float]
"""The headline of the classes' values; NaN as soon as one of them is."""


def mean_of_classes(values: Sequence[float]) -> float:
    """The mean, added up from left to right; NaN where there is no value.

    >>> mean_of_classes([0.5, 0.25])
    0.375
    """
    total = 0.0
    for value in (
        values
    ):  # not sum(): from Python 3.12 on it compensates, and the last bit would depend on the version
        total += value
    return total / len(values) if values else float("nan")
