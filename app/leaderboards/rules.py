"""The order of a board: ranks, ties, best values."""

import enum
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from app.leaderboards.schemas import BoardRow, BoardTeam, Cell
from app.methods.schemas import MethodView


@dataclass(frozen=True, slots=True)
class Standing:
    """What a method reached, as the reader may see it: values in [0, 1], none for a class that was not entered."""

    method: MethodView
    submission_id: int
    team: BoardTeam
    date: datetime
    is_outdated: bool  # scored under other versions than the board's
    is_complete: bool | None  # has all predictions that the phase asks for; for organisers
    mean: float | None
    values: Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class BoardAddress:
    """What names a board in addresses."""

    edition: str
    image_set: str
    competition: int


class Form(enum.StrEnum):
    """How a board is written."""

    JSON = "json"
    PAGE = "page"  # with a marker where the account of the reader stands
    ANONYMOUS_PAGE = "anonymous page"


class Audience(enum.StrEnum):
    """Who reads a board; each of them sees the same."""

    PUBLIC = "public"  # public methods, values as they are disclosed
    ORGANISERS = "organisers"  # private methods, too, and everything of them


SORTS = ("mean", "method", "team", "date")


@dataclass(frozen=True, slots=True)
class Order:
    """How the rows are sorted: by the mean, the method's name, the date or a class."""

    by: str = "mean"
    descending: bool = True


def ranks_of(values: Sequence[float | None]) -> list[int | None]:
    """The rank of each value among all: the only ranking there is, computed from values as the reader may see them.

    >>> ranks_of([0.1, 0.3, None, 0.3])
    [3, 1, None, 1]
    """
    ascending = sorted(value for value in values if value is not None)
    return [
        None if value is None else 1 + len(ascending) - bisect_right(ascending, value) for value in values
    ]


def arrange(standings: Sequence[Standing], classes: Sequence[str], order: Order) -> tuple[BoardRow, ...]:
    """The rows of a board.

    Ranks come from the mean alone, whatever the order of the rows: 1 for the highest, equal means share a rank and the
    next is left out. A row without a mean has no rank. Missing values stand last in either direction.
    """
    ranks = ranks_of([standing.mean for standing in standings])
    best = {
        name: max((v for s in standings if (v := s.values.get(name)) is not None), default=None)
        for name in classes
    }
    rows = [
        BoardRow(
            rank=rank,
            method=one.method.name,
            title=one.method.title,
            contributors=one.method.contributors,
            affiliation=one.method.affiliation,
            description=one.method.description,
            is_baseline=one.method.is_baseline,
            is_public=one.method.public_at is not None,
            is_outdated=one.is_outdated,
            is_complete=one.is_complete,
            submission=one.submission_id,
            team=one.team,
            mean=one.mean,
            mean_best=rank == 1,
            cells=tuple(_cell(one.values.get(name), best[name]) for name in classes),
            date=one.date,
        )
        for one, rank in zip(standings, ranks, strict=True)
    ]
    return _sorted(rows, classes, order)


def _cell(value: float | None, best: float | None) -> Cell:
    return Cell(value, best=value is not None and value == best)


def _sorted(rows: Sequence[BoardRow], classes: Sequence[str], order: Order) -> tuple[BoardRow, ...]:
    def key(row: BoardRow) -> str | float | datetime | None:
        if order.by == "method":
            return row.method.casefold()
        if order.by == "team":
            return row.team.name.casefold()
        if order.by == "date":
            return row.date
        return row.mean if order.by == "mean" else row.cells[classes.index(order.by)].value

    by_date = sorted(rows, key=lambda row: (row.date, row.submission))
    there = [row for row in by_date if key(row) is not None]
    missing = [row for row in by_date if key(row) is None]
    return (*sorted(there, key=key, reverse=order.descending), *missing)  # type: ignore[arg-type]  # one sort has one type
