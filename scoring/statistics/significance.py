"""Whether methods differ over many classes: Friedman's test on ranks, and which pairs differ after it.

Each class is a separate trial in which methods are ranked. Nothing is assumed about how scores are
distributed, and how far apart they are does not matter. Source: Demšar, "Statistical Comparisons of
Classifiers over Multiple Data Sets", Journal of Machine Learning Research 7, 2006; used so by Everingham et
al., "The PASCAL Visual Object Classes (VOC) Challenge", 2010, section 6.1.2.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median
from typing import Final

import numpy as np

from scoring.data.arrays import Flags, Floats
from scoring.findings import RankDiagram, RankedMethod
from scoring.statistics.distributions import chi_square_beyond, normal_beyond, range_beyond, range_quantile
from scoring.statistics.grouping import homogeneous_groups, letters
from scoring.statistics.scoreboard import Scoreboard

LEVEL: Final = 0.95


@dataclass(frozen=True, slots=True)
class Friedman:
    """The statistic, corrected for ties; degrees of freedom; the chance of one as large if all methods are alike."""

    statistic: float
    degrees: int
    p: float


@dataclass(frozen=True, slots=True)
class Pair:
    """Two methods, how far apart their mean ranks are, and the chance of that if they are alike.

    nemenyi: among all pairs of methods, as the critical difference has it; holm: by Holm's correction of each
    pair's own test, which finds more of them.
    """

    one: str
    other: str
    difference: float
    nemenyi: float
    holm: float


def rank_methods(table: Scoreboard, *, level: float = LEVEL) -> RankDiagram:
    """The methods by their mean rank, with Friedman's test and the groups that Nemenyi's cannot tell apart.

    A method that has no value in some class cannot be ranked there; it is left out of all, and named. Raises
    ValueError if none is left or there is no class.

    >>> diagram = rank_methods(Scoreboard(("one", "two"), ("car", "cat"), ((0.9, 0.8), (0.1, 0.2))))
    >>> [(method.name, method.mean_rank) for method in diagram.methods], diagram.statistic
    ([('one', 1.0), ('two', 2.0)], 2.0)
    """
    complete = table.complete()
    if not complete.methods or not complete.classes:
        raise ValueError("there is no method with a value in every class")
    ranks = ranks_of(complete)
    means = _mean_ranks(ranks)
    order = sorted(range(len(means)), key=means.__getitem__)
    furthest = critical_difference(*ranks.shape, level=level)
    groups = homogeneous_groups(_further_apart([means[place] for place in order], furthest))
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
        critical_difference=furthest,
        groups=groups,
        left_out=table.incomplete(),
    )


def ranks_of(table: Scoreboard) -> Floats:
    """The rank of each method in each class, 1 the best, equal values sharing the mean of their ranks.

    Returns float64 (methods, classes). Every method must have a value in every class.

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
    """Friedman's test on ranks, float64 (methods, classes), of at least two methods.

    The statistic is corrected for ties; where all methods tie in every class it is 0. Source: Conover,
    "Practical Nonparametric Statistics", 3rd edition, 5.8.

    >>> friedman(np.array([[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]])).statistic
    3.0
    """
    methods, classes = ranks.shape
    expected = (methods + 1) / 2
    # ranks are whole or half numbers: these sums are exact, whatever order they are added in
    between = float(((ranks.sum(axis=1) - classes * expected) ** 2).sum())
    within = float(((ranks - expected) ** 2).sum())
    statistic = (methods - 1) * between / within if within else 0.0
    return Friedman(statistic, methods - 1, chi_square_beyond(statistic, methods - 1))


def critical_difference(methods: int, classes: int, *, level: float = LEVEL) -> float | None:
    """How far apart two mean ranks must be for Nemenyi's test to tell them apart; None for a single method.

    The paper on VOC2007 prints 4.9 for 17 methods in 20 classes. That does not follow from the formula, 5.52
    does; and only with 5.52 the first six methods are one group, as the paper says.

    >>> round(critical_difference(17, 20), 3)
    5.523
    """
    if methods < 2:
        return None
    return range_quantile(level, methods) / math.sqrt(2) * _deviation(methods, classes)


def compare_pairs(table: Scoreboard) -> tuple[Pair, ...]:
    """Every pair of the methods that have a value in every class, the surest differences first.

    >>> [pair] = compare_pairs(Scoreboard(("one", "two"), ("car", "cat"), ((0.9, 0.8), (0.1, 0.2))))
    >>> pair.one, pair.difference, round(pair.holm, 3)
    ('one', 1.0, 0.157)
    """
    complete = table.complete()
    methods, classes = len(complete.methods), len(complete.classes)
    means = _mean_ranks(ranks_of(complete))
    pairs = list(combinations(sorted(range(methods), key=means.__getitem__), 2))
    apart = [(means[other] - means[one]) / _deviation(methods, classes) for one, other in pairs]
    corrected = holm([normal_beyond(each) for each in apart])
    compared = [
        Pair(
            complete.methods[one],
            complete.methods[other],
            means[other] - means[one],
            range_beyond(each * math.sqrt(2), methods),
            random_baseline,
        )
        for (one, other), each, random_baseline in zip(pairs, apart, corrected, strict=True)
    ]
    return tuple(sorted(compared, key=lambda pair: -pair.difference))


def holm(chances: Sequence[float]) -> list[float]:
    """Holm's correction of the chances of several tests: below a level, all of them together are.

    Source: Holm, "A Simple Sequentially Rejective Multiple Test Procedure", Scandinavian Journal of Statistics 6, 1979.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    corrected = [0.0] * len(chances)
    largest = 0.0
    for left, place in enumerate(sorted(range(len(chances)), key=chances.__getitem__)):
        largest = max(largest, min((len(chances) - left) * chances[place], 1.0))
        corrected[place] = largest
    return corrected


def _mean_ranks(ranks: Floats) -> list[float]:
    means: list[float] = (ranks.sum(axis=1) / ranks.shape[1]).tolist()
    return means


def _median(table: Scoreboard, place: int) -> float:
    return median(value for value in table.values[place] if value is not None)


def _deviation(methods: int, classes: int) -> float:
    """The standard deviation of the difference of two mean ranks if all methods are alike."""
    return math.sqrt(methods * (methods + 1) / (6 * classes))


def _further_apart(means: Sequence[float], furthest: float | None) -> Flags:
    places = np.array(means)
    apart: Flags = np.abs(places[:, None] - places) > (math.inf if furthest is None else furthest)
    return apart
