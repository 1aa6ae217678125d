"""In what order a board stands: ranks, ties, bests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from app.leaderboards.schemas import BoardRow, Cell
from app.submissions.schemas import MethodView


@dataclass(frozen=True, slots=True)
class Standing:
    """What a method reached, as the reader may see it: values in [0, 1], none for a class that was not entered."""

    method: MethodView
    submission: int
    date: datetime
    mean: float | None
    values: Mapping[str, float | None]


SORTS = ("mean", "method", "date")


@dataclass(frozen=True, slots=True)
class Order:
    """How the rows stand: by the mean, the method's name, the date or a class."""

    by: str = "mean"
    descending: bool = True


def arrange(standings: Sequence[Standing], classes: Sequence[str], order: Order) -> tuple[BoardRow, ...]:
    """The rows of a board.

    Ranks come from the mean alone, whatever the order of the rows: 1 for the highest, equal means share a rank and the
    next is left out. A row without a mean has no rank. Missing values stand last in either direction.
    """
    means = [standing.mean for standing in standings if standing.mean is not None]
    best = {
        name: max((v for s in standings if (v := s.values.get(name)) is not None), default=None)
        for name in classes
    }
    rows = [
        BoardRow(
            rank=None if one.mean is None else 1 + sum(mean > one.mean for mean in means),
            method=one.method.name,
            title=one.method.title,
            contributors=one.method.contributors,
            affiliation=one.method.affiliation,
            description=one.method.description,
            is_baseline=one.method.is_baseline,
            submission=one.submission,
            mean=one.mean,
            mean_best=one.mean is not None and one.mean == max(means),
            cells=tuple(_cell(one.values.get(name), best[name]) for name in classes),
            date=one.date,
        )
        for one in standings
    ]
    return _sorted(rows, classes, order)


def _cell(value: float | None, best: float | None) -> Cell:
    return Cell(value, best=value is not None and value == best)


def _sorted(rows: Sequence[BoardRow], classes: Sequence[str], order: Order) -> tuple[BoardRow, ...]:
    def key(row: BoardRow) -> str | float | datetime | None:
        if order.by == "method":
            return row.method.casefold()
        if order.by == "date":
            return row.date
        return row.mean if order.by == "mean" else row.cells[classes.index(order.by)].value

    by_date = sorted(rows, key=lambda row: (row.date, row.submission))
    there = [row for row in by_date if key(row) is not None]
    missing = [row for row in by_date if key(row) is None]
    return (*sorted(there, key=key, reverse=order.descending), *missing)  # type: ignore[arg-type]  # one sort has one type
