"""The order of a board's rows."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from app.boards.rows import BoardRow, BoardTeam, ScoreCell, arrange
from app.boards.selections import BoardQuery

OAK = BoardTeam(1, "Oak", is_suspended=False)
DAY = datetime(2026, 11, 21, tzinfo=UTC)
CLASSES = ("car", "dog")


def row_of(
    name: str, mean: float | None, car: float | None = None, dog: float | None = None, age: int = 0
) -> BoardRow:
    return BoardRow(
        method=name, title="", contributors="", affiliation="", description="", is_baseline=False, is_public=True,
        is_complete=None, is_outdated=False, submission=1, team=OAK, mean=mean, cells=(ScoreCell(car), ScoreCell(dog)),
        date=DAY - timedelta(days=age), method_id=1, paper_url="", code_url="", training=None, training_data="",
    )  # fmt: skip


def order(standings: list[BoardRow], by: str = "mean", *, descending: bool = True) -> list[str]:
    return [row.method for row in arrange(standings, CLASSES, BoardQuery(by, descending))]


def test_the_highest_mean_comes_first() -> None:
    assert order([row_of("low", 0.1), row_of("high", 0.9)]) == ["high", "low"]


def test_equal_means_share_a_rank_and_the_next_rank_is_skipped() -> None:
    rows = arrange([row_of("a", 0.5), row_of("b", 0.5), row_of("c", 0.4)], CLASSES, BoardQuery())

    assert [row.rank for row in rows] == [1, 1, 3]


def test_a_row_without_a_mean_has_no_rank_and_comes_last_in_both_directions() -> None:
    rows = [row_of("blank", None, car=0.99), row_of("weak", 0.0)]

    assert order(rows) == ["weak", "blank"]
    assert order(rows, descending=False) == ["weak", "blank"]
    assert [row.rank for row in arrange(rows, CLASSES, BoardQuery())] == [1, None]


def test_the_best_of_a_column_is_marked_even_if_it_is_zero_or_shared() -> None:
    rows = arrange(
        [row_of("a", 0.5, car=0.0), row_of("b", 0.4, car=0.0), row_of("c", 0.3)], CLASSES, BoardQuery()
    )

    assert [row.cells[0].best for row in rows] == [True, True, False]


def test_sorting_by_a_class_keeps_the_ranks_by_mean() -> None:
    rows = arrange([row_of("a", 0.5, car=0.1), row_of("b", 0.4, car=0.9)], CLASSES, BoardQuery("car"))

    assert [(row.method, row.rank) for row in rows] == [("b", 2), ("a", 1)]


def test_equal_rows_are_ordered_by_date() -> None:
    assert order([row_of("late", 0.5, age=1), row_of("early", 0.5, age=2)]) == ["early", "late"]


def test_methods_are_sorted_regardless_of_case() -> None:
    assert order([row_of("b", 0.1), row_of("A", 0.2)], "method", descending=False) == ["A", "b"]


def test_rows_can_be_sorted_by_team() -> None:
    rows = [row_of("a", 0.1), row_of("b", 0.9)]

    assert order(rows, "team", descending=False) == ["a", "b"]


def test_rows_can_be_sorted_by_date() -> None:
    assert order([row_of("old", 0.9, age=9), row_of("new", 0.1)], "date") == ["new", "old"]


@given(st.lists(st.one_of(st.none(), st.floats(0, 1)), max_size=30))
def test_a_rank_is_one_more_than_the_number_of_better_rows(means: list[float | None]) -> None:
    rows = arrange([row_of(str(number), mean) for number, mean in enumerate(means)], CLASSES, BoardQuery())

    for row in rows:
        better = sum(1 for mean in means if mean is not None and row.mean is not None and mean > row.mean)
        assert row.rank == (None if row.mean is None else better + 1)
