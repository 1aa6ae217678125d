"""Rows of a leaderboard: ranked, filtered and sorted for a query. Pure functions."""

import enum
import math
import uuid
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Final

from app.boards.ranking import FIGURES, best_of, second_of
from app.boards.selections import (
    CLASSES_TOGETHER,
    ROWS_TOGETHER,
    AnswerFilter,
    BoardQuery,
    ColumnGroup,
    TrainingData,
    column_groups,
    page_count,
)
from app.challenges.challenges import PhaseView
from app.core.errors import FieldsError, MalformedError
from app.jobs.sandbox import MOST_LETTERED
from app.models import QuestionKind
from app.results.groups import share_group
from app.submissions.methods import Training
from app.submissions.questions import QuestionView


@dataclass(frozen=True, slots=True)
class ScoreCell:
    """The score of a method in a class.

    value: None if the method has no predictions for the class or the score is hidden; low, high: the bounds of the 95 %
    confidence interval, None if it is not shown.
    """

    value: float | None
    best: bool = False  # the highest among the rows listed
    low: float | None = None
    high: float | None = None
    second: bool = False  # the second highest among the rows listed


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
    cells: tuple[ScoreCell, ...]
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
    mean_second: bool = False
    further: tuple[
        ScoreCell, ...
    ] = ()  # the protocol's figures beside the mean, in the order of the board's `further`
    answers: tuple[str | None, ...] = ()  # to the board's `questions`
    figure: float | None = None  # the value that the rows are sorted by, if it is one of `FIGURES`


@dataclass(frozen=True, slots=True)
class BoardView:
    """A leaderboard: one result per method, all scored by the same scorer against the same ground truth."""

    challenge: str
    challenge_title: str
    image_set: str
    competition: int
    title: str
    name: str  # the title, with the training data where this tells two boards apart
    is_numbered: bool  # people know the competition by its number
    data_rule: str
    measure: str
    headline: str  # the usual name of the mean, such as mAP
    further: tuple[
        str, ...
    ]  # the protocol's figures beside the mean, such as AP50; empty while they are hidden
    protocol: str
    shows_newest: bool  # a newer result of a method replaces the previous one
    decimals: int | None  # of values in [0, 1]; None for all digits
    beyond_public: bool  # the reader is an organiser and sees more than participants
    withheld: str | None  # what is hidden from the reader, and until when
    classes: tuple[str, ...]
    questions: tuple[QuestionView, ...]  # that the challenge asks about methods
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
    unit: str = "fraction from 0 to 1"  # of the mean, the further figures and the classes


@dataclass(frozen=True, slots=True)
class BoardLink:
    """Another board of the same challenge. own_data: methods may be trained on any data."""

    image_set: str
    competition: int
    title: str
    own_data: bool
    protocol: str


@dataclass(frozen=True, slots=True)
class Segment:
    """A choice of a segmented control: the board that it leads to."""

    text: str
    board: BoardLink
    is_current: bool


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter that is in force. address: the board without it."""

    text: str
    address: str


@dataclass(frozen=True, slots=True)
class IntervalScale:
    """The ends of the axis on which the intervals of a board are drawn, in [0, 1]."""

    low: float
    high: float

    def at(self, value: float) -> float:
        """Return the place of a value, in percent of the axis.

        >>> IntervalScale(0.5, 0.75).at(0.7)
        80.0
        """
        return round(100 * (value - self.low) / (self.high - self.low), 1)


@dataclass(frozen=True, slots=True)
class BoardControls:
    """The controls around the table on a board's page.

    classes, teams: all on the board; tasks, trainings, phases: the boards to switch to, including this one; filters: in
    force; groups, pages: of the requested classes and rows; has_classes, has_details: whether this reader sees them.
    scale: of the intervals, None without any; intervals_at: when intervals will appear, None if they do not or are there.
    """

    phase: PhaseView
    challenge_phases: tuple[PhaseView, ...]
    query: BoardQuery
    classes: tuple[str, ...]
    teams: tuple[BoardTeam, ...]
    tasks: tuple[Segment, ...]
    trainings: tuple[Segment, ...]
    phases: tuple[Segment, ...]
    filters: tuple[Filter, ...]
    groups: tuple[ColumnGroup, ...]
    pages: int
    listed: int
    has_classes: bool
    has_details: bool
    has_groups: bool  # methods have been or will be compared
    scale: IntervalScale | None = None
    intervals_at: datetime | None = None
    has_images: bool = False  # there are lists of easy and hard images


@dataclass(frozen=True, slots=True)
class BoardPage:
    """The requested board with all its rows and classes, and the controls around it."""

    board: BoardView
    controls: BoardControls


SORTS: Final = ("mean", "method", "team", "date", *FIGURES)
ANSWER: Final = "answer-"  # before the id of a question that rows are sorted by
FREE_TEXT: Final = (QuestionKind.TEXT, QuestionKind.LINK)
FEW_CLASSES: Final = 25  # have columns unless the reader hides them; more are behind a switch

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
    EMBED = "embed"  # for frames of other websites


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
    rows: Sequence[BoardRow],
    classes: Sequence[str],
    query: BoardQuery,
    decimals: int | None = None,
    further: Sequence[str] = (),
    questions: Sequence[QuestionView] = (),
) -> tuple[BoardRow, ...]:
    """Filter the rows of a board, fill in ranks and best values, and sort them as the query asks.

    Ranks depend only on the means of the whole board, not on order or filters: the highest mean has rank 1, equal means share
    a rank, and the next rank is skipped. A row without a mean has no rank. Missing values come last in either direction. The
    best and second best values of a column are those of the rows listed. decimals: of values in [0, 1], None for all digits;
    further: the names of the figures beside the mean; questions: those that the rows answer.
    """
    ranks = ranks_of([row.mean for row in rows])
    figures = _figures(rows, query.sort, decimals)
    marked_group = next((row.group for row in rows if row.method_id == query.method and row.group), "")
    listed = [
        replace(row, rank=rank, figure=figure)
        for row, rank, figure in zip(rows, ranks, figures, strict=True)
        if _is_listed(row, query) and _answers_pass(row, query, questions)
    ]
    marked = _with_best(
        [(ScoreCell(row.mean, low=row.low, high=row.high), *row.further, *row.cells) for row in listed]
    )
    compared = [
        replace(
            row,
            mean_best=mean.best,
            mean_second=mean.second,
            is_alike=row.method_id != query.method and share_group(marked_group, row.group or ""),
            further=tuple(cells[: len(row.further)]),
            cells=tuple(cells[len(row.further) :]),
        )
        for row, (mean, *cells) in zip(listed, marked, strict=True)
    ]
    if query.sort.startswith(ANSWER):
        return _sorted_by_answer(compared, questions, query)
    return _sorted(compared, [*further, *classes], query)


def _answers_pass(row: BoardRow, query: BoardQuery, questions: Sequence[QuestionView]) -> bool:
    found = {each.id: (each, answer) for each, answer in zip(questions, row.answers, strict=True)}
    return all(
        each.accepts(found[each.question][1], is_text=found[each.question][0].kind in FREE_TEXT)
        for each in query.answers
    )


def _sorted_by_answer(
    rows: Sequence[BoardRow], questions: Sequence[QuestionView], query: BoardQuery
) -> tuple[BoardRow, ...]:
    """Sort by the answers to a question: numbers by size, text by letters; rows without an answer come last."""
    [place] = (k for k, each in enumerate(questions) if f"{ANSWER}{each.id}" == query.sort)
    is_number = questions[place].kind is QuestionKind.NUMBER

    def key(row: BoardRow) -> tuple[float, str]:
        answer = row.answers[place] or ""
        return (float(answer), "") if is_number else (0.0, answer.casefold())

    by_date = sorted(rows, key=lambda row: (row.date, row.submission))
    present = [row for row in by_date if row.answers[place] is not None]
    missing = [row for row in by_date if row.answers[place] is None]
    return (*sorted(present, key=key, reverse=query.descending), *missing)


def _with_best(table: Sequence[Sequence[ScoreCell]]) -> list[list[ScoreCell]]:
    """Mark the best and second best cells of every column."""
    values = [[cell.value for cell in row] for row in table]
    ends = list(zip(best_of(values), second_of(values), strict=True))
    return [
        [
            replace(
                cell,
                best=cell.value is not None and cell.value == best,
                second=cell.value is not None and cell.value == second,
            )
            for cell, (best, second) in zip(row, ends, strict=True)
        ]
        for row in table
    ]


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


def _sorted(rows: Sequence[BoardRow], columns: Sequence[str], query: BoardQuery) -> tuple[BoardRow, ...]:
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
        if query.sort in FIGURES:
            return row.figure
        return (*row.further, *row.cells)[columns.index(query.sort)].value

    by_date = sorted(rows, key=lambda row: (row.date, row.submission))
    present = [row for row in by_date if key(row) is not None]
    missing = [row for row in by_date if key(row) is None]
    return (*sorted(present, key=key, reverse=query.descending), *missing)  # type: ignore[arg-type]  # all keys have the same type


def check_query(
    query: BoardQuery,
    classes: Sequence[str],
    further: Sequence[str] = (),
    questions: Sequence[QuestionView] = (),
) -> None:
    """Raise MalformedError if the board does not have the sort order, a class or a filter of the query."""
    columns = [f"{ANSWER}{each.id}" for each in questions if each.is_column]
    if query.sort not in (*SORTS, *further, *classes, *columns):
        expected = ", ".join((*SORTS, *further, *columns))
        raise MalformedError(f"cannot sort by {query.sort!r}; expected {expected} or a class of the board")
    filters = {each.id: each.kind for each in questions if each.is_filter}
    for each in query.answers:
        if each.question not in filters or (each.bound and filters[each.question] is not QuestionKind.NUMBER):
            raise MalformedError(f"this board has no filter {each.name!r}")
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
            raise FieldsError({name: f"expected 1 to {last}, found {number}"})


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
    """Whether methods have letters or will get them: only on the current board, by the official values, and where they are few.

    This does not depend on filters, and neither do the letters.
    """
    has_letters = any(row.group for row in board.rows)
    return has_letters or (query.as_of is None and not query.difficult and 1 < board.methods <= MOST_LETTERED)


def one_page(page: BoardPage) -> BoardView:
    """Return one page of a board: the one requested, or the one with the marked method."""
    board, query = page.board, page.controls.query
    first = (page_of(board, query) - 1) * ROWS_TOGETHER
    rows = board.rows[first : first + ROWS_TOGETHER]
    if not shows_classes(board.classes, query):
        return replace(board, classes=(), rows=tuple(replace(row, cells=()) for row in rows))
    start = (query.columns - 1) * CLASSES_TOGETHER
    return with_classes(replace(board, rows=rows), board.classes[start : start + CLASSES_TOGETHER])


def shows_classes(classes: Sequence[str], query: BoardQuery) -> bool:
    """Whether the classes have columns: as the reader chose, by default if they are few, chosen, or sorted by."""
    if query.class_columns is not None:
        return query.class_columns
    return len(classes) <= FEW_CLASSES or bool(query.classes) or query.sort in classes


def scale_of(rows: Sequence[BoardRow]) -> IntervalScale | None:
    """Return the axis for the intervals of the means, its ends being multiples of 5 %; None without intervals.

    >>> scale_of([])
    """
    ends = [end for row in rows for end in (row.low, row.high, row.mean) if end is not None]
    if not any(row.low is not None for row in rows):
        return None
    low, high = math.floor(20 * min(ends)) / 20, math.ceil(20 * max(ends)) / 20
    return IntervalScale(low, max(high, low + 0.05))


def segments(
    boards: Sequence[BoardLink], here: BoardLink
) -> tuple[tuple[Segment, ...], tuple[Segment, ...], tuple[Segment, ...]]:
    """Return the choices of task, training data and phase; each leads to the board that differs least from this one."""
    same_phase = [each for each in boards if each.image_set == here.image_set]
    tasks = _segments(same_phase, here, lambda each: each.title)
    same_task = [each for each in same_phase if each.title == here.title]
    trainings = _segments(same_task, here, lambda each: "Any data" if each.own_data else "Given data")
    return tasks, trainings, _segments(boards, here, lambda each: each.image_set)


def _segments(
    boards: Sequence[BoardLink], here: BoardLink, text_of: Callable[[BoardLink], str]
) -> tuple[Segment, ...]:
    def likeness(each: BoardLink) -> tuple[bool, bool]:
        return each.title == here.title, each.own_data == here.own_data

    texts = dict.fromkeys(map(text_of, boards))
    nearest = {text: max((each for each in boards if text_of(each) == text), key=likeness) for text in texts}
    return tuple(Segment(text, board, text == text_of(here)) for text, board in nearest.items())


def _words_of(each: AnswerFilter, question: QuestionView) -> str:
    relation = {"-from": "at least ", "-to": "at most "}.get(each.bound, "")
    unit = f" {question.unit}" if question.unit else ""
    return f"{question.text}: {relation}{each.value}{unit}"


def filters_of(
    query: BoardQuery, teams: Sequence[BoardTeam], questions: Sequence[QuestionView] = ()
) -> tuple[Filter, ...]:
    """Return the filters in force, each with the address of the board without it."""
    asked = {each.id: each for each in questions}
    team = next((each.name for each in teams if each.id == query.team), f"team {query.team}")
    found = (
        (query.training, "training", f"{query.training} data" if query.training else ""),
        (query.team, "team", team),
        (query.since, "since", f"since {query.since}"),
        (query.until, "until", f"until {query.until}"),
        (query.as_of, "as_of", f"as of {query.as_of}"),
        (not query.baselines, "baselines", "without baselines"),
        (query.difficult, "values", "difficult objects counted"),
        (query.classes, "class", ", ".join(query.classes)),
        *((each.value, each.name, _words_of(each, asked[each.question])) for each in query.answers),
    )
    return tuple(
        Filter(text, query.address(**{field: None}, columns=None, page=None))
        for value, field, text in found
        if value
    )


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
