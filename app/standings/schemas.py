"""Standing results as pages and programs see them."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class StoredResult:
    """A result that stands on a board; its mean follows by run."""

    phase_id: int
    competition: int
    method_id: int
    method: str
    is_baseline: bool
    team_id: int
    team: str
    submission: int
    run_id: int
    ladder_run_id: int | None
    sent_at: datetime


@dataclass(frozen=True, slots=True)
class RankedMethod:
    """A method among the first of a board: `key` is its mean in tenths of a percent; none where it has none, or it is hidden."""

    competition: int
    method_id: int
    key: int | None


@dataclass(frozen=True, slots=True)
class ResultView:
    """A result that stands on a board; without a mean where it lacks a class, or where the phase does not disclose it."""

    edition: str
    edition_title: str
    image_set: str
    competition: int
    title: str  # of the competition
    method_id: int
    method: str
    is_baseline: bool
    team_id: int
    team: str
    submission: int
    mean: float | None
    date: datetime


@dataclass(frozen=True, slots=True)
class Column:
    """A competition in which at least one of the methods stands."""

    competition: int
    task: str
    title: str
    own_data: bool  # methods may be trained on other data than the given


@dataclass(frozen=True, slots=True)
class Cell:
    """A method's result in a competition."""

    submission: int
    mean: float | None
    best: bool  # of the competition


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """A method with a cell for each column: none where it was not entered."""

    method_id: int
    method: str
    is_baseline: bool
    team_id: int
    team: str
    cells: tuple[Cell | None, ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    """Methods by competitions of one phase, best first: a method with the best rank that any of its results has."""

    edition: str
    image_set: str
    columns: tuple[Column, ...]
    rows: tuple[MatrixRow, ...]
    page: int
    next_page: int | None
    has_more: bool  # methods that follow; without a next page they are on the boards
    withheld: str | None  # what readers do not see, and until when


@dataclass(frozen=True, slots=True)
class Arrival:
    """What a submission has brought to the boards, at least one result."""

    edition: str
    edition_title: str
    image_set: str
    method_id: int
    method: str
    team_id: int
    team: str
    submission: int
    date: datetime
    results: tuple[ResultView, ...]  # by competition
