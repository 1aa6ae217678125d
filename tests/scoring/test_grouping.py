from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heldout_scoring.data.arrays import Flags
from heldout_scoring.statistics.ranks import homogeneous_groups, letters


@st.composite
def differences(draw: st.DrawFn) -> Flags:
    methods = draw(st.integers(0, 7))
    different = np.zeros((methods, methods), np.bool_)
    for one, other in combinations(range(methods), 2):
        different[one, other] = different[other, one] = draw(st.booleans())
    return different


def pairs_that_differ(pairs: int) -> Flags:
    """Only methods 0 and 1, 2 and 3 and so on differ, which gives 2**pairs maximal groups."""
    return np.kron(np.eye(pairs), 1 - np.eye(2)).astype(np.bool_)


def maximal_groups(different: Flags) -> list[tuple[int, ...]]:
    """Every set of methods without a difference that is not part of a larger one."""
    methods = range(len(different))
    sets = [
        set(group)
        for size in range(1, len(different) + 1)
        for group in combinations(methods, size)
        if not any(different[one, other] for one, other in combinations(group, 2))
    ]
    return sorted(tuple(sorted(each)) for each in sets if not any(each < other for other in sets))


def is_display(groups: list[tuple[int, ...]], different: Flags) -> bool:
    marks = letters(groups, len(different))
    return all(marks) and all(
        bool(set(marks[one]) & set(marks[other])) != different[one, other]
        for one, other in combinations(range(len(different)), 2)
    )


@given(differences())
def test_methods_share_a_letter_exactly_if_they_do_not_differ(different: Flags) -> None:
    assert is_display(list(homogeneous_groups(different)), different)


@given(differences())
def test_groups_are_maximal_and_none_is_redundant(different: Flags) -> None:
    groups = list(homogeneous_groups(different))

    assert set(groups) <= set(maximal_groups(different))
    for group in groups:
        assert not is_display([each for each in groups if each != group], different)


@given(st.lists(st.floats(0, 10), max_size=8), st.floats(0, 5))
def test_a_critical_difference_gives_all_maximal_groups(ranks: list[float], critical: float) -> None:
    places = np.sort(np.array(ranks))
    different = np.abs(places[:, None] - places) > critical

    assert list(homogeneous_groups(different)) == maximal_groups(different)


@pytest.mark.parametrize(("pairs", "most"), [(8, 16), (100, 60)])
def test_the_number_of_groups_does_not_explode_with_differing_pairs(pairs: int, most: int) -> None:
    different = pairs_that_differ(pairs)

    groups = homogeneous_groups(different)

    assert len(groups) <= most
    marks = [set(each) for each in np.split(np.arange(2 * pairs), pairs)]
    together = np.zeros_like(different)
    for group in groups:
        assert not any(mark <= set(group) for mark in marks)
        together[np.ix_(group, group)] = True
    assert np.array_equal(together, ~different)


def test_letters_after_the_alphabet_have_numbers() -> None:
    different = ~np.eye(54, dtype=np.bool_)

    marks = letters(homogeneous_groups(different), 54)

    assert [marks[place] for place in (0, 25, 26, 51, 52, 53)] == ["a", "z", "A", "Z", "a2", "b2"]
