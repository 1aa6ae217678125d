from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scoring.data.arrays import Flags
from scoring.statistics.grouping import indistinct_groups, letters


@st.composite
def differences(draw: st.DrawFn) -> Flags:
    methods = draw(st.integers(0, 7))
    different = np.zeros((methods, methods), np.bool_)
    for one, other in combinations(range(methods), 2):
        different[one, other] = different[other, one] = draw(st.booleans())
    return different


def naive_groups(different: Flags) -> list[tuple[int, ...]]:
    """Every set in which nobody differs and that no other such set holds."""
    methods = range(len(different))
    sets = [
        set(group)
        for size in range(1, len(different) + 1)
        for group in combinations(methods, size)
        if not any(different[one, other] for one, other in combinations(group, 2))
    ]
    return sorted(tuple(sorted(each)) for each in sets if not any(each < other for other in sets))


@given(differences())
def test_groups_are_the_largest_sets_in_which_nobody_differs(different: Flags) -> None:
    assert list(indistinct_groups(different)) == naive_groups(different)


@given(differences())
def test_two_methods_share_a_letter_exactly_if_they_do_not_differ(different: Flags) -> None:
    marks = letters(indistinct_groups(different), len(different))

    for one, other in combinations(range(len(different)), 2):
        assert bool(set(marks[one]) & set(marks[other])) != different[one, other]


def test_after_the_alphabet_letters_have_numbers() -> None:
    different = ~np.eye(54, dtype=np.bool_)

    marks = letters(indistinct_groups(different), 54)

    assert [marks[place] for place in (0, 25, 26, 51, 52, 53)] == ["a", "z", "A", "Z", "a2", "b2"]
