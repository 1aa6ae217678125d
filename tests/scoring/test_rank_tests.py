import math
import tracemalloc
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heldout_scoring.published import classification_of_2007, detection_of_2007
from heldout_scoring.statistics.ranks import (
    RankDiagram,
    Scoreboard,
    compare_pairs,
    critical_difference,
    friedman,
    holm,
    rank_methods,
    ranks_of,
    studentized_range_p_value,
)
from heldout_scoring.stored import from_plain, to_plain

FIGURE_8 = {
    "INRIA_Genetic": 1.05,
    "INRIA_Flat": 2.20,
    "XRCE": 3.00,
    "TKK": 5.425,
    "QMUL_LSPCH": 5.45,
    "QMUL_HSLS": 6.125,
    "UVA_FuseAll": 8.075,
    "UVA_SFS": 8.275,
    "UVA_MCIP": 9.15,
    "INRIA_Larlus": 9.75,
    "Tsinghua": 11.025,
    "MPI_BOW": 11.20,
    "ToshCam_rdf": 12.65,
    "UVA_WGT": 13.325,
    "ToshCam_svm": 14.40,
    "UVA_Bigrams": 14.95,
    "PRIPUVA": 16.95,
}


def board(*rows: Sequence[float | None]) -> Scoreboard:
    names = tuple(chr(ord("a") + place) for place in range(len(rows)))
    classes = tuple(f"class {place}" for place in range(len(rows[0])))
    return Scoreboard(names, classes, tuple(tuple(row) for row in rows))


def test_the_ranks_in_the_voc2007_paper_are_reproduced() -> None:
    diagram = rank_methods(classification_of_2007())

    assert {each.name: each.mean_rank for each in diagram.methods} == pytest.approx(FIGURE_8, abs=1e-12)
    assert [each.name for each in diagram.methods] == list(FIGURE_8)
    assert diagram.statistic == pytest.approx(274.51, abs=0.005)
    assert diagram.degrees == 16
    assert diagram.p is not None
    assert diagram.p < 1e-40
    assert diagram.critical_difference == pytest.approx(5.523, abs=0.0005)
    assert diagram.groups[0] == (0, 1, 2, 3, 4, 5)  # "the first six cannot be told apart"
    assert diagram.methods[5].letters.startswith("a")
    assert "a" not in diagram.methods[6].letters
    assert diagram.methods[0].median == pytest.approx(0.575, abs=0.001)
    assert diagram.left_out == ()


def test_methods_with_gaps_are_left_out_and_named() -> None:
    diagram = rank_methods(detection_of_2007())

    assert diagram.left_out == ("Darmstadt", "IRISA", "Oxford")
    assert [each.name for each in diagram.methods][:2] == ["UoCTTI", "INRIA_PlusClass"]
    assert diagram.degrees == 5


def naive_ranks(values: Sequence[float]) -> list[float]:
    """The mean of the ranks that a value may have."""
    falling = sorted(values, reverse=True)
    places = [[place for place, each in enumerate(falling, 1) if each == value] for value in values]
    return [sum(each) / len(each) for each in places]


def naive_friedman(ranks: Sequence[Sequence[float]]) -> float:
    """Friedman's statistic as Conover writes it, from the ranks of each method by class."""
    methods, classes = len(ranks), len(ranks[0])
    squares = sum(rank * rank for row in ranks for rank in row)
    constant = classes * methods * (methods + 1) ** 2 / 4
    if squares == constant:
        return 0.0
    sums = sum((sum(row) - classes * (methods + 1) / 2) ** 2 for row in ranks)
    return (methods - 1) * sums / (squares - constant)


@given(st.integers(2, 5), st.integers(1, 6), st.data())
def test_ranks_and_statistic_match_naive_ones(methods: int, classes: int, data: st.DataObject) -> None:
    value = st.integers(0, 3).map(float)
    rows = data.draw(
        st.lists(st.lists(value, min_size=classes, max_size=classes), min_size=methods, max_size=methods)
    )

    ranks = ranks_of(board(*rows))

    plain = [naive_ranks(column) for column in zip(*rows, strict=True)]
    assert ranks.T.tolist() == plain
    assert friedman(ranks).statistic == pytest.approx(naive_friedman(ranks.tolist()))


def test_ranking_many_methods_needs_memory_only_for_the_table() -> None:
    methods, classes = 400, 300
    values = np.random.default_rng(7).integers(0, 50, (methods, classes)) / 50
    table = board(*values.tolist())

    tracemalloc.start()
    ranks = ranks_of(table)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert ranks[:, 0].tolist() == naive_ranks(values[:, 0].tolist())
    assert most < 5 * values.nbytes  # every pair of methods in every class would be 50 times as much


def test_without_ties_the_statistic_is_friedmans_original() -> None:
    rng = np.random.default_rng(3)
    ranks = np.array([rng.permutation(4) + 1.0 for _ in range(9)]).T

    plain = 12 / (9 * 4 * 5) * sum(float(row.sum()) ** 2 for row in ranks) - 3 * 9 * 5

    assert friedman(ranks).statistic == pytest.approx(plain)


def test_methods_that_always_tie_do_not_differ() -> None:
    diagram = rank_methods(board([1, 2], [1, 2], [1, 2]))

    assert (diagram.statistic, diagram.p) == (0.0, 1.0)
    assert diagram.groups == ((0, 1, 2),)
    assert [each.mean_rank for each in diagram.methods] == [2.0, 2.0, 2.0]


def test_a_single_method_cannot_be_tested() -> None:
    diagram = rank_methods(board([0.5, 0.6]))

    assert (diagram.statistic, diagram.p, diagram.critical_difference) == (None, None, None)
    assert diagram.groups == ((0,),)
    assert compare_pairs(board([0.5, 0.6])) == ()


@pytest.mark.parametrize("table", [board([None, 1.0]), Scoreboard(("a",), (), ((),))])
def test_an_empty_table_is_refused(table: Scoreboard) -> None:
    with pytest.raises(ValueError, match="no method with a value in every class"):
        rank_methods(table)


def test_pairs_beyond_the_critical_difference_differ_by_nemenyis_test() -> None:
    table = classification_of_2007()
    critical = critical_difference(17, 20)
    assert critical is not None

    pairs = compare_pairs(table)

    assert len(pairs) == math.comb(17, 2)
    assert all((pair.nemenyi < 0.05) == (pair.difference > critical) for pair in pairs)
    assert (pairs[0].one, pairs[0].other) == ("INRIA_Genetic", "PRIPUVA")
    assert all(pair.holm <= 1 for pair in pairs)
    assert studentized_range_p_value(
        critical / critical_of_one_difference() * math.sqrt(2), 17
    ) == pytest.approx(0.05)


def critical_of_one_difference() -> float:
    return math.sqrt(17 * 18 / (6 * 20))


def naive_holm(p_values: Sequence[float]) -> list[float]:
    """The running maximum of the sorted p-values, each multiplied by the number of hypotheses left."""
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    return [
        min(1.0, max(p_values[order[k]] * (len(order) - k) for k in range(order.index(place) + 1)))
        for place in range(len(p_values))
    ]


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holms_correction_matches_a_naive_one(p_values: list[float]) -> None:
    assert holm(p_values) == pytest.approx(naive_holm(p_values))


def test_holm_rejects_everything_that_bonferroni_rejects() -> None:
    corrected = holm([0.01, 0.02, 0.03, 0.04])

    assert corrected == pytest.approx([0.04, 0.06, 0.06, 0.06])
    assert all(one <= 4 * other for one, other in zip(corrected, (0.01, 0.02, 0.03, 0.04), strict=True))


def test_the_order_of_methods_changes_nothing() -> None:
    rows = [[0.1, 0.5, 0.3], [0.9, 0.8, 0.7], [0.4, 0.6, 0.5]]
    diagrams = [
        rank_methods(
            Scoreboard(tuple(names), ("x", "y", "z"), tuple(tuple(rows["abc".index(n)]) for n in names))
        )
        for names in ("abc", "cab", "bca")
    ]

    assert all(one == other for one, other in combinations(diagrams, 2))


def test_a_diagram_survives_a_round_trip_through_json() -> None:
    diagram = rank_methods(detection_of_2007())

    assert from_plain(RankDiagram, to_plain(diagram)) == diagram
