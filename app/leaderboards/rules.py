"""The order of a board: ranks, ties, best values."""

import enum
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from app.errors import MalformedError
from app.groups.rules import MOST_RUNS, are_alike
from app.leaderboards.schemas import BoardPage, BoardRow, BoardView
from app.methods.schemas import Training
from app.ranking.rules import FIGURES, best_of
from app.selections.rules import CLASSES_TOGETHER, ROWS_TOGETHER, column_groups, page_count
from app.selections.schemas import BoardQuery, TrainingData

SORTS: Final = ("mean", "method", "team", "date", *FIGURES)
NOT_STATED: Final = ("", "-", "no", "none", "n/a")  # as people write that there is no other data


@dataclass(frozen=True, slots=True)
class BoardAddress:
    """What names a board in addresses."""

    edition: str
    image_set: str
    competition: int


class Form(enum.StrEnum):
    """How a board is written."""

    JSON = "json"
    CSV = "csv"
    TEX = "tex"
    BIB = "bib"
    PAGE = "page"  # with a marker where the account of the reader stands
    ANONYMOUS_PAGE = "anonymous page"


class Audience(enum.StrEnum):
    """Who reads a board; each of them sees the same."""

    PUBLIC = "public"  # public methods, values as they are disclosed
    ORGANISERS = "organisers"  # private methods, too, and everything of them


def ranks_of(values: Sequence[float | None]) -> list[int | None]:
    """The rank of each value among all: the only ranking there is, computed from values as the reader may see them.

    >>> ranks_of([0.1, 0.3, None, 0.3])
    [3, 1, None, 1]
    """
    ascending = sorted(value for value in values if value is not None)
    return [
        None if value is None else 1 + len(ascending) - bisect_right(ascending, value) for value in values
    ]


def arrange(
    rows: Sequence[BoardRow], classes: Sequence[str], query: BoardQuery, decimals: int | None = None
) -> tuple[BoardRow, ...]:
    """The rows of a board that the query asks for, compared with each other, in its order.

    Ranks come from the means of the whole board alone, whatever the order and the filters: 1 for the highest, equal means
    share a rank and the next is left out. A row without a mean has no rank. Missing values stand last in either direction.
    The best of a class is that of the rows listed. decimals: of values in [0, 1].
    """
    ranks = ranks_of([row.mean for row in rows])
    figures = _figures(rows, query.sort, decimals)
    marked = next((row.group for row in rows if row.method_id == query.method and row.group), "")
    listed = [
        replace(row, rank=rank, figure=figure)
        for row, rank, figure in zip(rows, ranks, figures, strict=True)
        if _is_listed(row, query)
    ]
    best = best_of([[cell.value for cell in row.cells] for row in listed])
    best_mean = max((row.mean for row in listed if row.mean is not None), default=None)
    compared = [
        replace(
            row,
            mean_best=row.mean is not None and row.mean == best_mean,
            is_alike=row.method_id != query.method and are_alike(marked, row.group or ""),
            cells=tuple(
                replace(cell, best=cell.value is not None and cell.value == top)
                for cell, top in zip(row.cells, best, strict=True)
            ),
        )
        for row in listed
    ]
    return _sorted(compared, classes, query)


def _figures(rows: Sequence[BoardRow], sort: str, decimals: int | None) -> Sequence[float | None]:
    if sort not in FIGURES:
        return [None] * len(rows)
    figure = FIGURES[sort]
    found = figure.of([[cell.value for cell in row.cells] for row in rows])
    if not figure.is_score or decimals is None:
        return found
    return [None if value is None else round(value, decimals) for value in found]


def _is_listed(row: BoardRow, query: BoardQuery) -> bool:
    day = row.date.date()
    return not (
        (row.is_baseline and not query.baselines)
        or (query.training is not None and row.training is not query.training)
        or (query.team is not None and row.team.id != query.team)
        or (query.since is not None and day < query.since)
        or (query.until is not None and day > query.until)
    )


def _sorted(rows: Sequence[BoardRow], classes: Sequence[str], query: BoardQuery) -> tuple[BoardRow, ...]:
    def key(row: BoardRow) -> str | float | datetime | None:
        match query.sort:
            case "method":
                return row.method.casefold()
            case "team":
                return row.team.name.casefold()
            case "date":
                return row.date
            case "mean":
                return row.mean
        return row.figure if query.sort in FIGURES else row.cells[classes.index(query.sort)].value

    by_date = sorted(rows, key=lambda row: (row.date, row.submission))
    there = [row for row in by_date if key(row) is not None]
    missing = [row for row in by_date if key(row) is None]
    return (*sorted(there, key=key, reverse=query.descending), *missing)  # type: ignore[arg-type]  # one sort has one type


def check_query(query: BoardQuery, classes: Sequence[str]) -> None:
    """Raise MalformedError for an order or a class that a board does not have."""
    if query.sort not in (*SORTS, *classes):
        raise MalformedError(
            f"a board is sorted by {', '.join(SORTS)} or one of its classes, not by {query.sort!r}"
        )
    unknown = [name for name in query.classes if name not in classes]
    if unknown:
        raise MalformedError(f"this board has no class {unknown[0]!r}")


def check_page(query: BoardQuery, board: BoardView) -> None:
    """Raise MalformedError for rows or columns beyond the last page of what was asked for."""
    for what, asked, last in (
        ("page", query.page, page_count(len(board.rows))),
        ("columns", query.columns, len(column_groups(board.classes))),
    ):
        if asked > last:
            raise MalformedError(f"{what}: expected 1 to {last}, found {asked}")


def training_of(training: Training, *, any_data: bool) -> TrainingData | None:
    """What a result was trained on in a competition that allows any data, or only the given; none: not stated.

    >>> training_of(Training(given_data_only=True, other_data="none"), any_data=True)
    <TrainingData.GIVEN: 'given'>
    >>> training_of(Training(other_data="ImageNet"), any_data=True)
    <TrainingData.OTHER: 'other'>
    """
    if any_data and training.other_data.strip(" .").casefold() not in NOT_STATED:
        return TrainingData.OTHER
    return TrainingData.GIVEN if training.given_data_only else None


def are_compared(board: BoardView, query: BoardQuery) -> bool:
    """Whether methods of a board are compared with each other: those that stand there now, by the official values."""
    ranked = sum(row.rank is not None for row in board.rows)
    has_letters = any(row.group for row in board.rows)
    return has_letters or (query.as_of is None and not query.difficult and 1 < ranked <= MOST_RUNS)


def one_page(page: BoardPage) -> BoardView:
    """The rows and classes that stand on one page of a board: those asked for, or where the marked method stands."""
    board, query = page.board, page.controls.query
    first = (page_of(board, query) - 1) * ROWS_TOGETHER
    rows = board.rows[first : first + ROWS_TOGETHER]
    start = (query.columns - 1) * CLASSES_TOGETHER
    return with_classes(replace(board, rows=rows), board.classes[start : start + CLASSES_TOGETHER])


def with_classes(board: BoardView, names: Sequence[str]) -> BoardView:
    """A board with these of its classes, in its own order; all where none is named."""
    places = [place for place, name in enumerate(board.classes) if name in names]
    if not names or len(places) == len(board.classes):
        return board
    return replace(
        board,
        classes=tuple(board.classes[place] for place in places),
        rows=tuple(replace(row, cells=tuple(row.cells[place] for place in places)) for row in board.rows),
    )


def page_of(board: BoardView, query: BoardQuery) -> int:
    """The page that is asked for; without one, that of the marked method."""
    places = (place for place, row in enumerate(board.rows) if row.method_id == query.method)
    return query.page if query.page > 1 else 1 + next(places, 0) // ROWS_TOGETHER
