"""Keyset pagination, newest first: each page starts after the last row of the previous one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Annotated, Generic, TypeVar

from fastapi import Query

Row = TypeVar("Row")
Before = Annotated[
    int | None, Query(ge=1, le=2**63 - 1, description="the number of the last row of the previous page")
]


@dataclass(frozen=True, slots=True)
class RowPage(Generic[Row]):
    """A page of rows; `next` is the number of its last row if more rows follow."""

    rows: tuple[Row, ...] = ()
    next: int | None = None


def page_of(rows: Sequence[Row], most: int, number: Callable[[Row], int]) -> RowPage[Row]:
    """Return a page of at most `most` rows that does not split consecutive rows with the same number.

    rows: more than `most` if there is another page; number: the key of a row by which the next page is requested. Fewer than
    `most` rows may share a number.

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
