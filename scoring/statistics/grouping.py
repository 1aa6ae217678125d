"""Compact letter displays: methods that share a letter do not differ significantly."""

from collections.abc import Iterable, Sequence
from string import ascii_letters

import numpy as np

from scoring.data.arrays import Flags

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
