"""Comparison of methods by paired bootstrap replicates."""

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Final, Self

import numpy as np

from ..data.arrays import Flags, Floats, assert_is
from ..errors import DataError
from .bootstrap import FEWEST, HEADLINE, LEVEL, WIDENING, Interval, Replicates, interval
from .ranks import Group, holm, homogeneous_groups, letters, normal_p_value

TEST_WIDENING: Final = 1.12
"""A standard error is the standard deviation of the replicates times this, which is too small, and tails are longer than normal ones.

With 1.05, as for intervals, 8 to 9 % of simulated families of ten classes (10 or 50 objects each) had a class in which equal methods
differ significantly after Holm's correction at 5 %.
"""
_NEAR: Final = 1e-9  # relative; the same replicates, kept and read again, give the same p-value
_SMALLEST_ERROR: Final = 1e-9  # below it are rounding errors of replicates, also of those kept in 32 bits


@dataclass(frozen=True, slots=True)
class Comparison:
    """The difference of two methods' scores of a class, in [-1, 1], with its confidence interval.

    better: the share of replicates in which the first method scores higher, with ties counted half, in [0, 1]; None if
    too few replicates have a value. p_value: see `p_value_of_difference`, not corrected for the number of classes.
    """

    name: str
    difference: Interval
    better: float | None
    p_value: float | None


def compare(
    one: Replicates, other: Replicates, *, level: float = LEVEL, widening: float = WIDENING
) -> tuple[Comparison, ...]:
    """The differences of two methods, the first's scores minus the second's: of each class and, last, the headline.

    Raises DataError for replicates of different tasks, protocols, ground truths, classes or draws.

    >>> from heldout_scoring.statistics.bootstrap import Draws, Setup
    >>> setup, drawn = Setup("detection", "voc2012", "0f"), np.tile(np.arange(100) / 200, (2, 1))
    >>> one = Replicates(setup, Draws(9, 100), ("cat",), (0.35, 0.35), drawn + 0.1)
    >>> other = Replicates(setup, Draws(9, 100), ("cat",), (0.25, 0.25), drawn)
    >>> [(each.name, each.better) for each in compare(one, other)]
    [('cat', 1.0), ('mean', 1.0)]
    """
    _check_paired(one, other)
    rows = zip((*one.names, HEADLINE), one.scores, other.scores, one.values - other.values, strict=True)
    return tuple(
        Comparison(
            name,
            interval(name, _difference(first, second), drawn, level=level, widening=widening, lowest=-1.0),
            _share_better(drawn),
            p_value_of_difference(_difference(first, second), drawn),
        )
        for name, first, second, drawn in rows
    )


def p_value_of_difference(
    difference: float | None, drawn: Floats, *, widening: float = TEST_WIDENING
) -> float | None:
    """The two-sided p-value of a difference: in units of its standard error, against the standard normal distribution.

    drawn: float64 (replicates,), the differences of paired replicates, of which NaN are left out; their standard deviation,
    times `widening`, is the standard error. A share of 1000 replicates could not be smaller than 0.001,
    which no correction for a hundred tests survives. None where there is no difference, fewer than `FEWEST` replicates
    have one, or all have the same one though it is not 0.

    >>> p_value_of_difference(0.0, np.zeros(100)), p_value_of_difference(0.1, np.full(100, 0.1))
    (1.0, None)
    >>> round(p_value_of_difference(0.196, np.array([0.0, 0.2] * 50), widening=1.0), 2)
    0.05
    """
    drawn = drawn[~np.isnan(drawn)]
    if difference is None or len(drawn) < FEWEST:
        return None
    error = widening * _standard_deviation(drawn)
    if error < _SMALLEST_ERROR:
        return 1.0 if abs(difference) < _SMALLEST_ERROR else None
    return normal_p_value(difference / error)


def standard_error_of_difference(one: Replicates, other: Replicates) -> float | None:
    """The standard error of the difference of two methods' headlines: its standard deviation over paired replicates.

    None if fewer than `FEWEST` replicates have a value for both. Raises DataError for replicates that are not paired.

    >>> from heldout_scoring.statistics.bootstrap import Draws, Setup
    >>> setup, drawn = Setup("detection", "voc2012", "0f"), np.array([[0.25, 0.75] * 50])
    >>> one = Replicates(setup, Draws(9, 100), (), (0.5,), drawn)
    >>> other = Replicates(setup, Draws(9, 100), (), (0.25,), np.full((1, 100), 0.25))
    >>> standard_error_of_difference(one, other)
    0.25
    """
    _check_paired(one, other)
    differences = one.values[-1] - other.values[-1]
    differences = differences[~np.isnan(differences)]
    if len(differences) < FEWEST:
        return None
    return _standard_deviation(differences)


def _standard_deviation(values: Floats) -> float:
    centred = values - _mean(values)
    return math.sqrt(_mean(centred * centred))


def _difference(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one - other


def _share_better(differences: Floats) -> float | None:
    differences = differences[~np.isnan(differences)]
    if len(differences) < FEWEST:
        return None
    higher, equal = np.count_nonzero(differences > 0), np.count_nonzero(differences == 0)
    return float((higher + equal / 2) / len(differences))


def _check_paired(one: Replicates, other: Replicates) -> None:
    for each in (one, other):
        assert_is(each, Replicates, "as `bootstrap(result, truth)` gives them")
    if one.setup != other.setup:
        raise DataError(f"these runs cannot be compared: {one.setup} and {other.setup}")
    if one.draws != other.draws or one.names != other.names:
        raise DataError(
            f"these replicates are not paired: {one.draws} of {', '.join(one.names)} and"
            f" {other.draws} of {', '.join(other.names)}"
        )


@dataclass(frozen=True, slots=True)
class Standing:
    """A method's score in [0, 1], with a letter for each group of methods that it belongs to."""

    name: str
    value: float
    letters: str


@dataclass(frozen=True, slots=True)
class HolmFamily:
    """Holm's correction over all tests of a family, as a function of the uncorrected p-value.

    tests: how many; steps: ascending pairs of an uncorrected p-value and its corrected one, rounded up to four decimals, so that
    a family of half a million tests has at most ten thousand steps. Whatever is decided by the family takes the rounded values.

    >>> family = HolmFamily.of([0.01, 0.04, 0.03])
    >>> family.corrected(0.01), family.corrected(0.04), family.corrected(0.02), family.corrected(0.5)
    (0.03, 0.06, 0.06, 1.0)
    """

    tests: int
    steps: tuple[tuple[float, float], ...]

    @classmethod
    def of(cls, p_values: Sequence[float]) -> Self:
        """The family of these tests.

        >>> HolmFamily.of([0.01, 0.04]).tests
        2
        """
        largest = {_rounded_up(high): low for low, high in sorted(zip(p_values, holm(p_values), strict=True))}
        return cls(len(p_values), tuple((low, high) for high, low in largest.items()))

    def corrected(self, p_value: float) -> float:
        """The corrected p-value of a test; one that is not of the family gets that of the next larger one."""
        place = bisect_left(self.steps, (p_value * (1 - _NEAR), 0.0))
        return self.steps[place][1] if place < len(self.steps) else 1.0


def _rounded_up(p_value: float) -> float:
    return min(math.ceil(p_value * 10_000 - 1e-7) / 10_000, 1.0)


@dataclass(frozen=True, slots=True)
class Standings:
    """Methods by score, best first, and groups of methods that do not differ, as indices in this order.

    family: the tests of all pairs; a difference is significant if its corrected p-value is below 1 - level.
    """

    level: float
    family: HolmFamily
    methods: tuple[Standing, ...]
    groups: tuple[Group, ...]


def standings(
    methods: Mapping[str, Replicates], *, class_name: str | None = None, level: float = LEVEL
) -> Standings:
    """Test all pairs of methods, by the headline or by one class, on paired replicates.

    A difference is significant if its p-value, see `p_value_of_difference`, is below 1 - `level` after Holm's correction
    over all pairs; so with probability `level` no pair of equal methods is found different.

    Raises DataError for replicates that are not paired, for a method without a score, and if fewer than `FEWEST`
    replicates have a value for every method.

    >>> from heldout_scoring.statistics.bootstrap import Draws, Setup
    >>> setup, noise = Setup("detection", "voc2012", "0f"), np.arange(100) % 3 / 100
    >>> drawn = {"oak": (0.5, noise), "elm": (0.7, noise[::-1]), "ash": (0.51, -noise)}
    >>> methods = {
    ...     name: Replicates(setup, Draws(9, 100), (), (score,), (score + each)[None])
    ...     for name, (score, each) in drawn.items()
    ... }
    >>> [(each.name, each.letters) for each in standings(methods).methods]
    [('elm', 'a'), ('ash', 'b'), ('oak', 'b')]
    """
    assert_is(methods, Mapping, "of replicates by the name of their method")
    if not methods:
        return Standings(level, HolmFamily(0, ()), (), ())
    for one, other in pairwise(methods.values()):
        _check_paired(one, other)
    scores = {name: _score(name, replicates, class_name) for name, replicates in methods.items()}
    order = sorted(methods, key=lambda name: -scores[name])
    drawn = np.array([methods[name].values[_row(methods[name], class_name)] for name in order])
    common = int(np.count_nonzero(~np.isnan(drawn).any(axis=0)))
    if common < FEWEST:
        raise DataError(f"only {common} replicates have a value for every method; {FEWEST} are needed")
    family, different = _significant([scores[name] for name in order], drawn, level)
    groups = homogeneous_groups(different)
    marks = letters(groups, len(order))
    rows = tuple(Standing(name, scores[name], mark) for name, mark in zip(order, marks, strict=True))
    return Standings(level, family, rows, groups)


def _row(replicates: Replicates, class_name: str | None) -> int:
    return -1 if class_name is None else replicates.names.index(class_name)


def _score(name: str, replicates: Replicates, class_name: str | None) -> float:
    score = replicates.scores[_row(replicates, class_name)]
    if score is None:
        raise DataError(f"'{name}' has no score of {class_name or 'all classes'}")
    return score


def _significant(scores: Sequence[float], drawn: Floats, level: float) -> tuple[HolmFamily, Flags]:
    """The tests of all pairs, and which differ significantly: bool (methods, methods)."""
    tested = {}
    for one, other in combinations(range(len(scores)), 2):
        p_value = p_value_of_difference(scores[one] - scores[other], drawn[one] - drawn[other])
        if p_value is not None:
            tested[one, other] = p_value
    family = HolmFamily.of(list(tested.values()))
    different = np.zeros((len(scores), len(scores)), np.bool_)
    for (one, other), p_value in tested.items():
        different[one, other] = different[other, one] = family.corrected(p_value) < 1 - level
    return family, different


def _mean(values: Floats) -> float:
    return float(np.cumsum(values)[-1]) / len(values)  # added up in order, the same on every machine
