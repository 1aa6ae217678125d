"""Ranks and other summaries of a table of scores over its classes."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Final

Values = Sequence[float | None]  # of the classes of a row


def best_of(table: Sequence[Values]) -> list[float | None]:
    """Return the highest value of each class.

    >>> best_of([(0.1, None), (0.3, None)])
    [0.3, None]
    """
    return [
        max((value for value in column if value is not None), default=None)
        for column in zip(*table, strict=True)
    ]


def second_of(table: Sequence[Values]) -> list[float | None]:
    """Return the second highest value of each class: the highest below the best.

    >>> second_of([(0.1, None), (0.3, 0.2), (0.3, 0.1)])
    [0.1, 0.1]
    """
    return [
        max((value for value in column if value is not None and value != top), default=None)
        for column, top in zip(zip(*table, strict=True), best_of(table), strict=True)
    ]


def medians(table: Sequence[Values]) -> list[float | None]:
    """Return the median over the classes of each row, None for a row with missing values.

    >>> medians([(0.1, 0.2, 0.6), (0.5, None, 0.5)])
    [0.2, None]
    """
    return [
        median(value for value in row if value is not None) if row and None not in row else None
        for row in table
    ]


def classes_won(table: Sequence[Values]) -> list[float | None]:
    """Count the classes in which no other row is better; None for a row without values.

    >>> classes_won([(0.5, 0.2), (0.5, 0.1), (None, None)])
    [2, 1, None]
    """
    best = best_of(table)
    return [
        sum(value is not None and value == top for value, top in zip(row, best, strict=True))
        if any(value is not None for value in row)
        else None
        for row in table
    ]


def mean_ranks(table: Sequence[Values]) -> list[float | None]:
    """Return the mean over the classes of each row's rank among the complete rows. Ties share their mean rank.

    As in Figure 8 of the VOC2007 paper. None for a row with missing values.

    >>> mean_ranks([(0.5, 0.2), (0.5, 0.1), (0.9, None)])
    [1.25, 1.75, None]
    """
    complete = [row for row in table if row and None not in row]
    columns = [
        sorted(value for value in column if value is not None) for column in zip(*complete, strict=True)
    ]
    return [
        fmean(
            _shared_rank(column, value)
            for column, value in zip(columns, row, strict=True)
            if value is not None
        )
        if row and None not in row
        else None
        for row in table
    ]


def _shared_rank(ascending: Sequence[float], value: float) -> float:
    """Return the mean rank of all values equal to this one; 1 is the highest."""
    return len(ascending) - (bisect_left(ascending, value) + bisect_right(ascending, value) - 1) / 2


@dataclass(frozen=True, slots=True)
class SummaryOfClasses:
    """A summary over the classes that rows can be sorted by. decimals: on pages; is_score: in [0, 1], as scores are."""

    title: str
    of: Callable[[Sequence[Values]], list[float | None]]
    decimals: int = 0
    is_score: bool = False


FIGURES: Final[Mapping[str, SummaryOfClasses]] = {
    "median": SummaryOfClasses("median over the classes", medians, decimals=1, is_score=True),
    "won": SummaryOfClasses("classes won", classes_won),
    "mean-rank": SummaryOfClasses("mean rank over the classes", mean_ranks, decimals=2),
}
