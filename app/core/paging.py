"""Pages of lists: by the last row of the page before, newest first, or of short lists by number."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Annotated, Generic, TypeVar

from fastapi import Query

from app.core.errors import NotFoundError

Row = TypeVar("Row")
Before = Annotated[
    int | None, Query(ge=1, le=2**63 - 1, description="the number of the last row of the previous page")
]
PageNumber = Annotated[int, Query(ge=1, le=10_000, description="page of the list")]


@dataclass(frozen=True, slots=True)
class Part(Generic[Row]):
    """A page of a list, and the number of the last one."""

    rows: Sequence[Row]
    number: int
    last: int


def part_of(rows: Sequence[Row], number: int, size: int) -> Part[Row]:
    """Cut a page of this size out of a list. Raises NotFoundError if it has no such page.

    >>> part_of("abcde", 2, 2)
    Part(rows='cd', number=2, last=3)
    """
    last = max(1, -(-len(rows) // size))
    if number > last:
        raise NotFoundError(f"the last page of the list is page {last}")
    return Part(rows[(number - 1) * size : number * size], number, last)


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
