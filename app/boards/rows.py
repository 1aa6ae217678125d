"""Rows of a leaderboard: ranked, filtered and sorted for a query. Pure functions."""

import enum
import uuid
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Final

from app.boards.ranking import FIGURES, best_of
from app.boards.selections import (
    CLASSES_TOGETHER,
    ROWS_TOGETHER,
    BoardQuery,
    ColumnGroup,
    TrainingData,
    column_groups,
    page_count,
)
from app.challenges.challenges import PhaseView
from app.core.errors import MalformedError
from app.results.groups import MOST_RUNS, share_group
from app.submissions.methods import Training


@dataclass(frozen=True, slots=True)
class Cell:
    """The score of a method in a class.

    value: None if the method has no predictions for the class or the score is hidden; low, high: the bounds of the 95 %
    confidence interval, None if it is not shown.
    """

    value: float | None
    best: bool = False  # the highest among the rows listed
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class BoardTeam:
    """The team of a method."""

    id: int
    name: str
    is_suspended: bool  # its results stay on the board, marked as such


@dataclass(frozen=True, slots=True)
class BoardRow:
    """A method on the board, as the reader may see it. `arrange` fills in what depends on the other rows."""

    method: str
    title: str
    contributors: str
    affiliation: str
    description: str
    is_baseline: bool
    is_public: bool  # organisers also see private methods
    is_complete: bool | None  # has all predictions the phase asks for; None if the reader is not an organiser
    is_outdated: bool  # the last re-scoring failed, so this is the score from before it
    submission: int
    team: BoardTeam
    mean: float | None
    cells: tuple[Cell, ...]
    date: datetime
    method_id: int
    paper_url: str
    code_url: str
    training: TrainingData | None  # None if not stated
    training_data: str  # in the team's words
    low: float | None = None  # of the mean
    high: float | None = None
    group: str | None = (
        None  # methods that share a letter do not differ significantly; None if hidden or not compared
    )
    rank: int | None = None  # None without a mean
    mean_best: bool = False
    is_alike: bool = False  # does not differ significantly from the marked method
    figure: float | None = None  # the value that the rows are sorted by, if it is one of `FIGURES`


@dataclass(frozen=True, slots=True)
class BoardView:
    """A leaderboard: one result per method, all scored by the same scorer against the same ground truth."""

    challenge: str
    challenge_title: str
    image_set: str
    competition: int
    title: str
    data_rule: str
    measure: str
    protocol: str
    shows_newest: bool  # a newer result of a method replaces the previous one
    decimals: int | None  # of values in [0, 1]; None for all digits
    beyond_public: bool  # the reader is an organiser and sees more than participants
    withheld: str | None  # what is hidden from the reader, and until when
    classes: tuple[str, ...]
    rows: tuple[BoardRow, ...]
    sort: str  # one of `SORTS` or a class
    descending: bool
    ground_truth: int
    ground_truth_id: uuid.UUID  # a random id for this version of the annotation
    scorer: str
    version: int
    updated_at: datetime
    rescoring: bool  # a re-scoring is in progress; the board shows the old runs until all new ones are scored
    methods: int  # on the board, including those filtered out
    as_of: date | None  # the board as of the end of this day; None for now


@dataclass(frozen=True, slots=True)
class BoardLink:
    """Another board of the same challenge."""

    image_set: str
    competition: int
    title: str
    protocol: str


@dataclass(frozen=True, slots=True)
class BoardControls:
    """The controls around the table on a board's page.

    classes, teams: all on the board; competitions, phases: the boards to switch to, including this one; groups, pages: of the
    requested classes and rows; has_classes, has_details: whether this reader sees them.
    """

    phase: PhaseView
    query: BoardQuery
    classes: tuple[str, ...]
    teams: tuple[BoardTeam, ...]
    competitions: tuple[BoardLink, ...]
    phases: tuple[BoardLink, ...]
    groups: tuple[ColumnGroup, ...]
    pages: int
    listed: int
    has_classes: bool
    has_details: bool
    has_groups: bool  # methods have been or will be compared
    has_images: bool = False  # there are lists of easy and hard images


@dataclass(frozen=True, slots=True)
class BoardPage:
    """The requested board with all its rows and classes, and the controls around it."""

    board: BoardView
    controls: BoardControls


SORTS: Final = ("mean", "method", "team", "date", *FIGURES)

NOT_STATED: Final = ("", "-", "no", "none", "n/a")  # ways to say that no other data was used


@dataclass(frozen=True, slots=True)
class BoardKey:
    """The parts of a URL that identify a board."""

    challenge: str
    image_set: str
    competition: int


class BoardFormat(enum.StrEnum):
    """The output formats of a board."""

    JSON = "json"
    CSV = "csv"
    TEX = "tex"
    BIB = "bib"
    PAGE = "page"  # with a marker in place of the reader's account links
    ANONYMOUS_PAGE = "anonymous page"


def ranks_of(values: Sequence[float | None]) -> list[int | None]:
    """Return the rank of each value, computed from the values as the reader may see them. Every ranking uses this.

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
    """Filter the rows of a board, fill in ranks and best values, and sort them as the query asks.

    Ranks depend only on the means of the whole board, not on order or filters: the highest mean has rank 1, equal means share
    a rank, and the next rank is skipped. A row without a mean has no rank. Missing values come last in either direction. The
    best value of a class is the best among the rows listed. decimals: of values in [0, 1], None for all digits.
    """
    ranks = ranks_of([row.mean for row in rows])
    figures = _figures(rows, query.sort, decimals)
    marked_group = next((row.group for row in rows if row.method_id == query.method and row.group), "")
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
            is_alike=row.method_id != query.method and share_group(marked_group, row.group or ""),
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
    values = figure.of([[cell.value for cell in row.cells] for row in rows])
    if not figure.is_score or decimals is None:
        return values
    return [None if value is None else round(value, decimals) for value in values]


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
    present = [row for row in by_date if key(row) is not None]
    missing = [row for row in by_date if key(row) is None]
    return (*sorted(present, key=key, reverse=query.descending), *missing)  # type: ignore[arg-type]  # all keys have the same type


def check_query(query: BoardQuery, classes: Sequence[str]) -> None:
    """Raise MalformedError if the board does not have the sort order or a class of the query."""
    if query.sort not in (*SORTS, *classes):
        raise MalformedError(
            f"cannot sort by {query.sort!r}; expected {', '.join(SORTS)} or a class of the board"
        )
    unknown = [name for name in query.classes if name not in classes]
    if unknown:
        raise MalformedError(f"this board has no class {unknown[0]!r}")


def check_page(query: BoardQuery, board: BoardView) -> None:
    """Raise MalformedError if the query asks for a page or a column group beyond the last."""
    for name, number, last in (
        ("page", query.page, page_count(len(board.rows))),
        ("columns", query.columns, len(column_groups(board.classes))),
    ):
        if number > last:
            raise MalformedError(f"{name}: expected 1 to {last}, found {number}")


def training_of(training: Training, *, any_data: bool) -> TrainingData | None:
    """Return what a result was trained on, or None if not stated. any_data: the competition allows data beyond the given.

    >>> training_of(Training(given_data_only=True, other_data="none"), any_data=True)
    <TrainingData.GIVEN: 'given'>
    >>> training_of(Training(other_data="ImageNet"), any_data=True)
    <TrainingData.OTHER: 'other'>
    """
    if any_data and training.other_data.strip(" .").casefold() not in NOT_STATED:
        return TrainingData.OTHER
    return TrainingData.GIVEN if training.given_data_only else None


def are_compared(board: BoardView, query: BoardQuery) -> bool:
    """Whether the methods of a board are compared with each other: only on the current board, by the official values."""
    ranked = sum(row.rank is not None for row in board.rows)
    has_letters = any(row.group for row in board.rows)
    return has_letters or (query.as_of is None and not query.difficult and 1 < ranked <= MOST_RUNS)


def one_page(page: BoardPage) -> BoardView:
    """Return one page of a board: the one requested, or the one with the marked method."""
    board, query = page.board, page.controls.query
    first = (page_of(board, query) - 1) * ROWS_TOGETHER
    rows = board.rows[first : first + ROWS_TOGETHER]
    start = (query.columns - 1) * CLASSES_TOGETHER
    return with_classes(replace(board, rows=rows), board.classes[start : start + CLASSES_TOGETHER])


def with_classes(board: BoardView, names: Sequence[str]) -> BoardView:
    """Restrict a board to some classes, in the order of the board. Without names, all classes stay."""
    places = [place for place, name in enumerate(board.classes) if name in names]
    if not names or len(places) == len(board.classes):
        return board
    return replace(
        board,
        classes=tuple(board.classes[place] for place in places),
        rows=tuple(replace(row, cells=tuple(row.cells[place] for place in places)) for row in board.rows),
    )


def page_of(board: BoardView, query: BoardQuery) -> int:
    """Return the requested page number; by default, that of the page with the marked method."""
    places = (place for place, row in enumerate(board.rows) if row.method_id == query.method)
    return query.page if query.page > 1 else 1 + next(places, 0) // ROWS_TOGETHER
