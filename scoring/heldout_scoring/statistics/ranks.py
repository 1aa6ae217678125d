"""Friedman's test of methods ranked in each class, and the tests of pairs that follow it.

Source: Demšar, "Statistical Comparisons of Classifiers over Multiple Data Sets", Journal of Machine Learning Research 7,
2006; applied to VOC2007 by Everingham et al., "The PASCAL Visual Object Classes (VOC) Challenge", 2010, section 6.1.2.
"""

import csv
import io
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from pathlib import Path
from statistics import median
from string import ascii_letters
from typing import ClassVar, Final, Self

import numpy as np

from ..data.arrays import Flags, Floats, assert_is
from ..errors import NOT_CSV, DataError, Problem, Problems, SubmissionError, read_file, shown

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


Group = tuple[int, ...]
"""Indices of methods, ascending; no two of them differ significantly."""


def homogeneous_groups(different: Flags) -> tuple[Group, ...]:
    """Groups of methods that do not differ, such that two methods share a group exactly if they do not differ.

    different: bool (methods, methods), symmetric, False on the diagonal. Returns maximal groups, sorted, none of
    which could be left out; every method is in at least one. The maximal groups can be exponentially many and the
    fewest that suffice are an NP-hard problem, so pairs are covered greedily, in polynomial time. Where two
    methods differ if they are further apart than a fixed distance, as with Nemenyi's critical difference, the
    result is all maximal groups.

    Sources: Piepho, "An algorithm for a letter-based representation of all-pairwise comparisons", Journal of
    Computational and Graphical Statistics 13, 2004; Gramm et al., "Algorithms for compact letter displays:
    comparison and evaluation", Computational Statistics & Data Analysis 52, 2007.

    >>> homogeneous_groups(np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]], bool))
    ((0, 1), (1, 2))
    """
    alike = ~np.asarray(different, np.bool_)
    uncovered = alike.copy()
    groups = []
    for method in range(len(alike)):
        while uncovered[method].any():
            group = _maximal_group(method, alike, uncovered)
            uncovered[np.ix_(group, group)] = False
            groups.append(group)
    return tuple(sorted(_without_redundant(groups, len(alike))))


def _maximal_group(method: int, alike: Flags, uncovered: Flags) -> Group:
    """A maximal group with this method; what joins next is the candidate with the most uncovered pairs."""
    candidates = alike[method].copy()
    gain = np.zeros(len(alike), np.intp)
    members = [method]
    while True:
        candidates[members[-1]] = False
        gain += uncovered[members[-1]]
        if not candidates.any():
            return tuple(sorted(members))
        members.append(int(np.argmax(np.where(candidates, gain, -1))))
        candidates &= alike[members[-1]]


def _without_redundant(groups: Iterable[Group], methods: int) -> list[Group]:
    """The groups without those, smallest first, of which every pair is also in another group."""
    times = np.zeros((methods, methods), np.intp)
    for group in groups:
        times[np.ix_(group, group)] += 1
    needed = []
    for group in sorted(groups, key=len):
        pairs = np.ix_(group, group)
        if times[pairs].min() > 1:
            times[pairs] -= 1
        else:
            needed.append(group)
    return needed


def letters(groups: Sequence[Group], methods: int) -> tuple[str, ...]:
    """The letters of each method, one for each of its groups.

    >>> letters(((0, 1), (1, 2)), 3)
    ('a', 'ab', 'b')
    """
    marks = [""] * methods
    for number, group in enumerate(groups):
        for method in group:
            marks[method] += _letter(number)
    return tuple(marks)


def _letter(number: int) -> str:
    """Letters a … z, A … Z, and then a2, b2 …: a digit belongs to the letter before it."""
    again, letter = divmod(number, len(ascii_letters))
    return ascii_letters[letter] + (str(again + 1) if again else "")


MAX_METHODS: Final = 1000
MAX_CLASSES: Final = 10_000

_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")

Row = tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Scoreboard:
    """Scores of methods in classes, in any unit, higher being better; None or NaN where a method has no score.

    values: a row for each method, which may be an array, float (methods, classes). Raises DataError where it has another shape.

    >>> Scoreboard(("Oxford", "TKK"), ("car", "cat"), ((43.2, None), (18.4, 5.0))).complete().methods
    ('TKK',)
    """

    methods: tuple[str, ...]
    classes: tuple[str, ...]
    values: tuple[Row, ...]

    def __post_init__(self) -> None:
        """Refuse rows that do not fit the names."""
        expected = [len(self.classes)] * len(self.methods)
        if [len(row) for row in self.values] != expected:
            raise DataError(
                f"expected a row for each of {len(expected)} methods with {len(self.classes)} scores"
            )

    def complete(self) -> Self:
        """The table of the methods that have a score in every class."""
        rows = [(name, row) for name, row in zip(self.methods, self.values, strict=True) if _is_complete(row)]
        return replace(self, methods=tuple(name for name, _ in rows), values=tuple(row for _, row in rows))

    def incomplete(self) -> tuple[str, ...]:
        """The methods without a score in every class."""
        rows = zip(self.methods, self.values, strict=True)
        return tuple(name for name, row in rows if not _is_complete(row))


def _is_complete(row: Row) -> bool:
    return not any(value is None or math.isnan(value) for value in row)


def read_scoreboard(table: Path | str, file: str | None = None) -> Scoreboard:
    r"""Read comma-separated values: a header with the classes from its second field on, then a line for each method.

    table: the path of a file, or its text, which has several lines; file: what messages call a text. An empty field means no score. Raises SubmissionError
    with every problem, by line, and PathError for a file that cannot be read.

    >>> read_scoreboard("method,car,cat\nOxford,43.2,\n").values
    ((43.2, None),)
    """
    if isinstance(table, Path) or (table and not set("\r\n") & set(table)):
        table, file = _text_of(table), Path(table).name
    reading = _Reading(file, Problems())
    (first, head), *rows = _records(table, file)
    classes = tuple(head[1:])
    reading.check_size(len(rows), len(classes), first)
    reading.check_names([(first, name) for name in classes], "class")
    reading.check_names([(line, fields[0]) for line, fields in rows], "method")
    values = tuple(reading.values(fields, len(classes), line) for line, fields in rows)
    if reading.problems.listed:
        raise SubmissionError(*reading.problems.listed)
    return Scoreboard(tuple(fields[0] for _, fields in rows), classes, values)


def _text_of(path: Path | str) -> str:
    try:
        return read_file(path).decode()
    except UnicodeDecodeError as error:
        raise SubmissionError(Problem("encoding", "this is no text in UTF-8", Path(path).name)) from error


def _records(text: str, file: str | None) -> list[tuple[int, list[str]]]:
    """The lines that are not blank, each with its number and stripped fields."""
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""))
    try:
        lines = [(reader.line_num, [field.strip() for field in fields]) for fields in reader]
    except csv.Error as error:
        raise SubmissionError(Problem("not-a-table", NOT_CSV, file, reader.line_num)) from error
    records = [(number, fields) for number, fields in lines if any(fields)]
    if not records:
        raise SubmissionError(Problem("empty-table", "the table is empty", file))
    return records


@dataclass(frozen=True, slots=True)
class _Reading:
    """Collects the problems of a table."""

    file: str | None
    problems: Problems

    def check_size(self, methods: int, classes: int, line: int) -> None:
        if not 0 < methods <= MAX_METHODS or not 0 < classes <= MAX_CLASSES:
            found = f"{methods} methods and {classes} classes"
            expected = f"1 to {MAX_METHODS} methods and 1 to {MAX_CLASSES} classes"
            self._add("table-size", f"expected {expected}, found {found}", line, found, expected)

    def check_names(self, names: Iterable[tuple[int, str]], kind: str) -> None:
        seen: set[str] = set()
        for line, name in names:
            if not name:
                self._add("no-name", f"a {kind} has no name", line, "", f"the name of a {kind}")
            elif name in seen:
                message = f"the {kind} {shown(name)} appears twice"
                self._add("repeated-name", message, line, shown(name), f"each {kind} once")
            seen.add(name)

    def values(self, fields: Sequence[str], classes: int, line: int) -> Row:
        if len(fields) != classes + 1:
            message = f"expected {classes + 1} fields, found {len(fields)}"
            self._add("field-count", message, line, str(len(fields)), str(classes + 1))
        return tuple(self._value(field, line) for field in fields[1:])

    def _value(self, field: str, line: int) -> float | None:
        if not field:
            return None
        value = float(field) if _NUMBER.fullmatch(field) else math.nan
        if not math.isfinite(value):
            message = f"expected a number or nothing, found {shown(field)}"
            self._add("not-a-number", message, line, shown(field), "a number or nothing")
        return value

    def _add(self, code: str, message: str, line: int, found: str, expected: str) -> None:
        self.problems.add(Problem(code, message, self.file, line, found, expected))


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
        raise DataError("there is no method with a value in every class")
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
