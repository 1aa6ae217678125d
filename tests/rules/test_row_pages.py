"""Which rows of a list are on a page, and where the next page starts."""

from collections.abc import Sequence

import pytest

from app.core.paging import RowPage, page_of


@pytest.mark.parametrize(
    ("rows", "shown", "following"),
    [
        ([], (), None),
        ([9, 8, 7], (9, 8, 7), None),
        ([9, 8, 7, 6], (9, 8, 7), 7),
        ([9, 8, 8, 7], (9, 8, 8), 8),
        ([9, 8, 7, 7], (9, 8), 8),
    ],
)
def test_a_page_says_where_the_next_starts_and_keeps_rows_of_one_number_together(
    rows: Sequence[int], shown: Sequence[int], following: int | None
) -> None:
    assert page_of(rows, 3, number=lambda row: row) == RowPage(tuple(shown), following)
