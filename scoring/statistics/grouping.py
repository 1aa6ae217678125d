"""Which methods cannot be told apart: groups, and the letters that tables print for them."""

from collections.abc import Sequence
from itertools import combinations
from string import ascii_letters

from scoring.data.arrays import Flags

Group = tuple[int, ...]
"""Methods by their place, rising; no two of them differ."""


def indistinct_groups(different: Flags) -> tuple[Group, ...]:
    """The largest groups in which no two methods differ, in the order of their members.

    different: bool (k, k), symmetric, the methods best first. Every method is in at least one group, and two
    methods share a group exactly if they do not differ. Source: Piepho, "An algorithm for a letter-based
    representation of all-pairwise comparisons", Journal of Computational and Graphical Statistics 13, 2004
    ("insert and absorb").

    >>> import numpy as np
    >>> indistinct_groups(np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]], bool))
    ((0, 1), (1, 2))
    """
    methods = len(different)
    groups = [(1 << methods) - 1] if methods else []  # a group is a number with a bit for each method
    for one, other in combinations(range(methods), 2):
        if different[one, other]:
            both = 1 << one | 1 << other
            whole = [group for group in groups if group & both != both]
            parts = {
                group & ~(1 << each) for group in groups if group & both == both for each in (one, other)
            }
            groups = whole + [part for part in parts if not _is_within(part, whole, parts)]
    return tuple(sorted(tuple(each for each in range(methods) if group >> each & 1) for group in groups))


def _is_within(part: int, whole: Sequence[int], parts: set[int]) -> bool:
    return any(part & group == part for group in whole) or any(
        part & group == part and part != group for group in parts
    )


def letters(groups: Sequence[Group], methods: int) -> tuple[str, ...]:
    """For each method one letter for each of its groups: methods that share a letter cannot be told apart.

    >>> letters(((0, 1), (1, 2)), 3)
    ('a', 'ab', 'b')
    """
    return tuple(
        "".join(_letter(place) for place, group in enumerate(groups) if method in group)
        for method in range(methods)
    )


def _letter(place: int) -> str:
    """Letters a … z, A … Z, and then a2, b2 …: a digit belongs to the letter before it."""
    again, letter = divmod(place, len(ascii_letters))
    return ascii_letters[letter] + (str(again + 1) if again else "")
