"""Which part of a figure's table a page shows."""

from app.boards.selections import CLASSES_TOGETHER
from app.figures.figures import ROWS_TOGETHER, ColumnView, FigureView, table_part


def table(*, columns: int, rows: int) -> FigureView:
    names = (ColumnView("method", "text"), *(ColumnView(f"c{place}", "score") for place in range(columns)))
    cells: tuple[tuple[str | float | None, ...], ...] = tuple(
        (f"m{row}", *(place / 1000 for place in range(columns))) for row in range(rows)
    )
    return FigureView("heat-map", "", "", names, cells, "", "")


def test_a_small_table_is_shown_whole() -> None:
    figure = table(columns=CLASSES_TOGETHER, rows=ROWS_TOGETHER)

    part = table_part(figure)

    assert (part.columns, part.rows, part.groups, part.left_out) == (figure.columns, figure.rows, (), 0)


def test_a_wide_table_is_shown_in_groups_of_columns_with_the_row_names() -> None:
    part = table_part(table(columns=60, rows=2), 2)

    assert [(each.first, each.last) for each in part.groups] == [("c0", "c39"), ("c40", "c59")]
    assert [column.name for column in part.columns] == ["method", *(f"c{place}" for place in range(40, 60))]
    assert part.rows[1] == ("m1", *(place / 1000 for place in range(40, 60)))
    assert part.group == 2


def test_a_group_number_out_of_range_shows_the_last_group() -> None:
    assert table_part(table(columns=60, rows=1), 3) == table_part(table(columns=60, rows=1), 2)


def test_a_long_table_says_how_many_rows_it_leaves_out() -> None:
    part = table_part(table(columns=2, rows=1000))

    assert len(part.rows) == ROWS_TOGETHER
    assert part.left_out == 900
