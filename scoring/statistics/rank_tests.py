"""Friedman's test of methods ranked in each class, and the tests of pairs that follow it.

Source: Demšar, "Statistical Comparisons of Classifiers over Multiple Data Sets", Journal of Machine Learning Research 7,
2006; applied to VOC2007 by Everingham et al., "The PASCAL Visual Object Classes (VOC) Challenge", 2010, section 6.1.2.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median
from typing import ClassVar, Final

import numpy as np

from scoring.data.arrays import Flags, Floats
from scoring.data.checking import assert_is
from scoring.statistics.distributions import (
    chi_square_p_value,
    normal_p_value,
    studentized_range_p_value,
    studentized_range_quantile,
)
from scoring.statistics.grouping import Group, homogeneous_groups, letters
from scoring.statistics.scoreboard import Scoreboard

LEVEL: Final = 0.95


@dataclass(frozen=True, slots=True)
class RankedMethod:
    """A method's mean rank over the classes, 1 the best, its median score, and a letter for each of its groups."""

    name: str
    mean_rank: float
    median: float
    letters: str


@dataclass(frozen=True, slots=True)
class RankDiagram:
    """Methods by mean rank, best first, with Friedman's test and the groups that Nemenyi's test cannot separate.

    statistic, degrees, p: of Friedman's test; None for a single method. critical_difference: of mean ranks, at `level`;
    None for a single method. groups: indices of methods. left_out: methods without a score in every class.
    """

    kind: ClassVar[str] = "rank_diagram"
    classes: int
    methods: tuple[RankedMethod, ...]
    statistic: float | None
    degrees: int
    p: float | None
    level: float
    critical_difference: float | None
    groups: tuple[Group, ...]
    left_out: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Friedman:
    """Friedman's statistic, corrected for ties, its degrees of freedom and p-value."""

    statistic: float
    degrees: int
    p: float


@dataclass(frozen=True, slots=True)
class Pair:
    """The difference of two methods' mean ranks, with its p-value by Nemenyi's test and by Holm's correction."""

    one: str
    other: str
    difference: float
    nemenyi: float
    holm: float


def rank_methods(table: Scoreboard, *, level: float = LEVEL) -> RankDiagram:
    """Rank methods in each class, and test whether their mean ranks differ.

    Methods without a score in every class are left out and listed in `left_out`. Raises ValueError if none is left or there is no
    class.

    >>> diagram = rank_methods(Scoreboard(("one", "two"), ("car", "cat"), ((0.9, 0.8), (0.1, 0.2))))
    >>> [(method.name, method.mean_rank) for method in diagram.methods], diagram.statistic
    ([('one', 1.0), ('two', 2.0)], 2.0)
    """
    assert_is(table, Scoreboard, "of scores with the names of methods and classes")
    complete = table.complete()
    if not complete.methods or not complete.classes:
        raise ValueError("there is no method with a value in every class")
    ranks = ranks_of(complete)
    means = _mean_ranks(ranks)
    order = sorted(range(len(means)), key=means.__getitem__)
    critical = critical_difference(*ranks.shape, level=level)
    groups = homogeneous_groups(_exceeds([means[place] for place in order], critical))
    marks = letters(groups, len(order))
    test = friedman(ranks) if len(order) > 1 else None
    return RankDiagram(
        classes=len(complete.classes),
        methods=tuple(
            RankedMethod(complete.methods[place], means[place], _median(complete, place), mark)
            for place, mark in zip(order, marks, strict=True)
        ),
        statistic=None if test is None else test.statistic,
        degrees=len(order) - 1,
        p=None if test is None else test.p,
        level=level,
        critical_difference=critical,
        groups=groups,
        left_out=table.incomplete(),
    )


def ranks_of(table: Scoreboard) -> Floats:
    """The rank of each method in each class, 1 the best, ties sharing their mean rank: float64 (methods, classes).

    Every method must have a score in every class.

    >>> ranks_of(Scoreboard(("a", "b", "c"), ("car",), ((0.2,), (0.5,), (0.2,)))).T.tolist()
    [[2.5, 1.0, 2.5]]
    """
    values = np.array(table.values, np.float64).reshape(len(table.methods), len(table.classes))
    ranks = np.empty(values.shape)
    for place, column in enumerate(values.T):
        ascending = np.sort(column)
        above = len(column) - np.searchsorted(ascending, column, side="right")
        not_below = len(column) - np.searchsorted(ascending, column, side="left")
        ranks[:, place] = (above + 1 + not_below) / 2
    return ranks


def friedman(ranks: Floats) -> Friedman:
    """Friedman's test, corrected for ties, on ranks, float64 (methods, classes), of at least two methods.

    The statistic is 0 where all methods tie in every class. Source: Conover, "Practical Nonparametric Statistics", 3rd
    challenge, 5.8.

    >>> friedman(np.array([[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]])).statistic
    3.0
    """
    methods, classes = ranks.shape
    expected = (methods + 1) / 2
    # ranks are whole or half numbers: these sums are exact, whatever order they are added in
    between = float(((ranks.sum(axis=1) - classes * expected) ** 2).sum())
    within = float(((ranks - expected) ** 2).sum())
    statistic = (methods - 1) * between / within if within else 0.0
    return Friedman(statistic, methods - 1, chi_square_p_value(statistic, methods - 1))


def critical_difference(methods: int, classes: int, *, level: float = LEVEL) -> float | None:
    """Nemenyi's critical difference of mean ranks; None for a single method.

    The paper on VOC2007 prints 4.9 for 17 methods in 20 classes. The formula gives 5.52, and only with this are the
    first six methods one group, as the paper says.

    >>> round(critical_difference(17, 20), 3)
    5.523
    """
    if methods < 2:
        return None
    return studentized_range_quantile(level, methods) / math.sqrt(2) * _standard_error(methods, classes)


def compare_pairs(table: Scoreboard) -> tuple[Pair, ...]:
    """Test each pair of the methods that have a score in every class; the largest differences first.

    >>> [pair] = compare_pairs(Scoreboard(("one", "two"), ("car", "cat"), ((0.9, 0.8), (0.1, 0.2))))
    >>> pair.one, pair.difference, round(pair.holm, 3)
    ('one', 1.0, 0.157)
    """
    assert_is(table, Scoreboard, "of scores with the names of methods and classes")
    complete = table.complete()
    methods, classes = len(complete.methods), len(complete.classes)
    means = _mean_ranks(ranks_of(complete))
    pairs = list(combinations(sorted(range(methods), key=means.__getitem__), 2))
    z_values = [(means[other] - means[one]) / _standard_error(methods, classes) for one, other in pairs]
    corrected = holm([normal_p_value(z) for z in z_values])
    tested = [
        Pair(
            complete.methods[one],
            complete.methods[other],
            means[other] - means[one],
            studentized_range_p_value(z * math.sqrt(2), methods),
            p_value,
        )
        for (one, other), z, p_value in zip(pairs, z_values, corrected, strict=True)
    ]
    return tuple(sorted(tested, key=lambda pair: -pair.difference))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's correction of p-values for several tests.

    Source: Holm, "A Simple Sequentially Rejective Multiple Test Procedure", Scandinavian Journal of Statistics 6, 1979.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    corrected = [0.0] * len(p_values)
    largest = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min((len(p_values) - rank) * p_values[place], 1.0))
        corrected[place] = largest
    return corrected


def _mean_ranks(ranks: Floats) -> list[float]:
    means: list[float] = (ranks.sum(axis=1) / ranks.shape[1]).tolist()
    return means


def _median(table: Scoreboard, place: int) -> float:
    return median(value for value in table.values[place] if value is not None)


def _standard_error(methods: int, classes: int) -> float:
    """Of the difference of two mean ranks, if no methods differ."""
    return math.sqrt(methods * (methods + 1) / (6 * classes))


def _exceeds(means: Sequence[float], critical: float | None) -> Flags:
    """Which pairs differ by more than the critical difference: bool (methods, methods)."""
    column = np.array(means)
    different: Flags = np.abs(column[:, None] - column) > (math.inf if critical is None else critical)
    return different
