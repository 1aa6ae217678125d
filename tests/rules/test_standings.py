"""The order of methods over several competitions, and the newest submissions."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from app.results.standings import (
    RankedMethod,
    best_first,
    columns_of,
    leaders_of,
    ranked_of,
    rows_of,
    submissions_of,
)
from app.submissions.methods import MethodRef
from tests.pages.method_views import RESULT

METHODS = {number: MethodRef(number, f"Method {number}", is_baseline=False) for number in (7, 8, 9)}


def ranked(*rows: tuple[int, int, int | None]) -> list[RankedMethod]:
    return [RankedMethod(*row) for row in rows]


def test_a_method_is_placed_by_its_best_rank() -> None:
    rows = ranked((1, 7, 900), (1, 8, 800), (1, 9, 700), (3, 9, 300), (3, 7, 200))

    assert best_first(rows) == [7, 9, 8]


def test_methods_that_tie_share_a_rank() -> None:
    rows = ranked((1, 7, 900), (1, 8, 900), (1, 9, 800), (3, 9, 700), (3, 8, 900), (3, 6, 100))

    assert best_first(rows) == [7, 8, 9, 6]


def test_methods_without_a_mean_come_last_newest_first() -> None:
    assert best_first(ranked((1, 7, None), (1, 9, 0), (3, 8, None))) == [9, 8, 7]


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 30), st.integers(0, 5)), max_size=60))
def test_the_first_rows_of_each_board_suffice_for_the_first_methods(rows: list[tuple[int, int, int]]) -> None:
    every = ranked(*{(board, method): (board, method, key) for board, method, key in rows}.values())
    for limit in (1, 4, 9):
        keys = {
            board: sorted((each.key or 0 for each in every if each.competition == board), reverse=True)
            for board in (1, 2, 3)
        }
        last = {board: found[min(limit, len(found)) - 1] for board, found in keys.items() if found}
        first = [each for each in every if (each.key or 0) >= last[each.competition]]

        assert best_first(first)[:limit] == best_first(every)[:limit]


def test_only_the_leader_of_a_competition_is_marked_best() -> None:
    rows = ranked((1, 7, 900), (1, 8, 800), (3, 8, None))
    results = [
        replace(RESULT, competition=1, method=METHODS[7], mean=0.9),
        replace(RESULT, competition=1, method=METHODS[8], mean=0.8),
        replace(RESULT, competition=3, method=METHODS[8], mean=None),
    ]

    first, second = rows_of(results, (7, 8, 9), columns_of("VOC2012", (3, 1, 1)), leaders_of(rows))

    assert [cell and cell.best for cell in first.cells] == [True, None]
    assert [cell and cell.best for cell in second.cells] == [False, False]


def test_results_of_one_submission_are_listed_together() -> None:
    results = [
        replace(RESULT, submission=9, competition=4),
        replace(RESULT, submission=8),
        replace(RESULT, submission=9, competition=3),
    ]

    [newest] = submissions_of(results, 1)

    assert newest.submission == 9
    assert [each.competition for each in newest.results] == [3, 4]


def test_results_with_the_same_shown_mean_tie_and_a_hidden_mean_has_no_rank() -> None:
    results = [
        replace(RESULT, method=METHODS[number], mean=mean)
        for number, mean in ((7, 0.6481), (8, 0.6479), (9, None))
    ]

    assert [each.key for each in ranked_of(results)] == [648, 648, None]
    assert best_first(ranked_of(results)) == [7, 8, 9]
