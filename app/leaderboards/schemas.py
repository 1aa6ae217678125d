"""Leaderboards as pages and programs see them."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Cell:
    """A class of a method: blank where it was not entered."""

    value: float | None
    best: bool


@dataclass(frozen=True, slots=True)
class BoardTeam:
    """Whose method it is."""

    id: int
    name: str
    is_suspended: bool  # organisers let its results stand, marked


@dataclass(frozen=True, slots=True)
class BoardRow:
    """A method on the board; without a mean it has no rank."""

    rank: int | None
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
    mean_best: bool
    cells: tuple[Cell, ...]
    date: datetime


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
    sort: str  # "mean", "method", "date" or a class
    descending: bool
    ground_truth: int
    fingerprint: str
    scorer: str
    version: int
    updated_at: datetime
    rescoring: bool  # new runs are under way; the board shows the old ones until every one is scored
