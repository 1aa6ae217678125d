"""Pages of rows, the latest first, each of which begins behind the last row of the page before."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Annotated, Generic, TypeVar

from fastapi import Query

Row = TypeVar("Row")
Before = Annotated[
    int | None, Query(ge=1, le=2**63 - 1, description="the number of the last one of the page before")
]


@dataclass(frozen=True, slots=True)
class RowPage(Generic[Row]):
    """Some rows; `next` is the number of the last of them, if others follow."""

    rows: tuple[Row, ...] = ()
    next: int | None = None


def page_of(rows: Sequence[Row], most: int, number: Callable[[Row], int]) -> RowPage[Row]:
    """The first of these rows, at most `most`; rows of one number, which follow one another, are not parted.

    rows: more than `most` of them where others follow; number: by which the next page is asked for; fewer than `most` share one.

    >>> page_of([9, 8, 8, 7], 2, number=lambda row: row)
    RowPage(rows=(9,), next=9)
    >>> page_of([9, 8], 2, number=lambda row: row)
    RowPage(rows=(9, 8), next=None)
    """
    if len(rows) <= most:
        return RowPage(tuple(rows))
    following = number(rows[most])
    kept = tuple(takewhile(lambda row: number(row) != following, rows))
    return RowPage(kept, number(kept[-1]))
