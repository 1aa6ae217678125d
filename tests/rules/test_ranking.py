"""Figures over the classes of a board, compared with naive computations."""

from collections.abc import Sequence
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

import heldout_scoring
from app.boards.ranking import best_of, classes_won, mean_ranks, medians

Row = tuple[float | None, ...]
SCORES = st.one_of(
    st.none(), st.integers(0, 5).map(lambda tenth: tenth / 10)
)  # few values, so that there are ties
TABLES = st.integers(1, 4).flatmap(lambda classes: st.lists(st.tuples(*[SCORES] * classes), max_size=7))


def naive_mean_ranks(table: Sequence[Row]) -> list[float | None]:
    """Mean over the classes of one, plus one per better row, plus half per tied row; None for incomplete rows."""
    complete = [row for row in table if None not in row]
    found: list[float | None] = []
    for row in table:
        ranks = [
            1.0
            + sum(1.0 for other in complete if (other[place] or 0) > (value or 0))
            + sum(0.5 for other in complete if other is not row and other[place] == value)
            for place, value in enumerate(row)
        ]
        found.append(None if None in row else sum(ranks) / len(ranks))
    return found


@given(TABLES)
def test_mean_ranks_match_a_naive_count(table: list[Row]) -> None:
    rows = [(*row,) for row in map(list, table)]  # distinct tuples, so that equal rows can be told apart

    assert mean_ranks(rows) == pytest.approx(naive_mean_ranks(rows))


@given(TABLES)
def test_mean_ranks_match_the_library(table: list[Row]) -> None:
    complete = [(str(place), row) for place, row in enumerate(table) if None not in row]
    if complete:
        names, values = zip(*complete, strict=True)
        diagram = heldout_scoring.rank_methods(
            heldout_scoring.Scoreboard(names, tuple(map(str, range(len(table[0])))), values)
        )
        expected = {method.name: method.mean_rank for method in diagram.methods}

        ranks = mean_ranks(table)

        assert {name: ranks[int(name)] for name in names} == pytest.approx(expected)


@given(TABLES)
def test_every_row_with_the_best_value_wins_the_class(table: list[Row]) -> None:
    for row, won in zip(table, classes_won(table), strict=True):
        unbeaten = [
            value
            for place, value in enumerate(row)
            if value is not None and all((other[place] or 0) <= value for other in table)
        ]
        assert (won or 0) == len(unbeaten)


@given(TABLES)
def test_only_rows_without_blanks_have_a_median(table: list[Row]) -> None:
    for row, found in zip(table, medians(table), strict=True):
        known = [value for value in row if value is not None]
        assert found == (median(known) if len(known) == len(row) else None)


def test_a_board_without_rows_or_classes_has_no_figures() -> None:
    assert [each([]) for each in (medians, classes_won, mean_ranks, best_of)] == [[]] * 4
    assert [each([(), ()]) for each in (medians, classes_won, mean_ranks)] == [[None, None]] * 3
