"""Leaderboards as pages and programs see them."""

import uuid
from dataclasses import dataclass
from datetime import date, datetime

from app.selections.schemas import BoardQuery, ColumnGroup, TrainingData


@dataclass(frozen=True, slots=True)
class Cell:
    """A class of a method: blank where it was not entered; low, high: the 95 % confidence interval, where it is shown."""

    value: float | None
    best: bool = False  # of the rows listed
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class BoardTeam:
    """Whose method it is."""

    id: int
    name: str
    is_suspended: bool  # organisers let its results stand, marked


@dataclass(frozen=True, slots=True)
class BoardRow:
    """A method on the board, as the reader may see it; what `rules.arrange` finds out by comparing rows has defaults."""

    method: str
    title: str
    contributors: str
    affiliation: str
    description: str
    is_baseline: bool
    is_public: bool  # organisers see private ones, too
    is_complete: bool | None  # has all predictions that the phase asks for; for organisers
    is_outdated: bool  # kept from before the last re-scoring, which could not score it
    submission: int
    team: BoardTeam
    mean: float | None
    cells: tuple[Cell, ...]
    date: datetime
    method_id: int
    paper_url: str
    code_url: str
    training: TrainingData | None  # none: not stated
    training_data: str  # as its team stated it
    low: float | None = None  # of the mean
    high: float | None = None
    group: str | None = (
        None  # letters that methods share which cannot be told apart; none: hidden, or not compared yet
    )
    rank: int | None = None  # none without a mean
    mean_best: bool = False
    is_alike: bool = False  # cannot be told apart from the method that is marked
    figure: float | None = None  # what the rows are sorted by, where it is another figure over the classes


@dataclass(frozen=True, slots=True)
class BoardView:
    """A leaderboard: one result per method, under one ground truth and one scorer."""

    edition: str
    edition_title: str
    image_set: str
    competition: int
    title: str
    data_rule: str
    measure: str
    protocol: str
    shows_newest: bool  # a newer result of a method takes the place of the one before
    decimals: int | None  # of values in [0, 1]; none: every digit
    beyond_public: bool  # the reader is an organiser, who sees what participants do not
    withheld: str | None  # what the reader does not see, and until when
    classes: tuple[str, ...]
    rows: tuple[BoardRow, ...]
    sort: str  # one of `rules.SORTS` or a class
    descending: bool
    ground_truth: int
    ground_truth_id: uuid.UUID  # of this version of the annotation, random
    scorer: str
    version: int
    updated_at: datetime
    rescoring: bool  # new runs are under way; the board shows the old ones until every one is scored
    methods: int  # on the board, also those that filters leave out
    as_of: date | None  # the day at whose end the board stood so; none: now


@dataclass(frozen=True, slots=True)
class BoardLink:
    """Another board of the same edition."""

    image_set: str
    competition: int
    title: str
    protocol: str


@dataclass(frozen=True, slots=True)
class BoardControls:
    """What the page of a board offers beside the table.

    classes: all of the board; teams: those on it; competitions, phases: boards to switch to, this one among them; groups, pages:
    of the classes and rows that were asked for; has_classes, has_details: whether this reader sees them.
    """

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
    has_groups: bool  # methods are compared, or about to be
    has_images: bool = False  # that methods find easy and hard


@dataclass(frozen=True, slots=True)
class BoardPage:
    """The board that an address asks for, all its rows and classes, and what stands beside it."""

    board: BoardView
    controls: BoardControls
