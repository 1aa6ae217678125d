"""What figures of a board are drawn from, and what was drawn."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class FigureRow:
    """A public method on a board; its scores follow by run."""

    run_id: int
    ladder_run_id: int | None
    is_complete: bool
    method_id: int
    name: str
    is_baseline: bool
    date: datetime
    measure: str
    is_outdated: bool


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a board, and what they are: "class", or "part" of a person."""

    classes: tuple[str, ...]
    what: str


@dataclass(frozen=True, slots=True)
class FigureHead:
    """A figure in the list of a board's; is_curve: one of many, which a page loads when it is looked at."""

    name: str
    title: str
    description: str
    width: float
    height: float
    is_curve: bool


@dataclass(frozen=True, slots=True)
class Place:
    """A method's rank and mean, as everybody sees them."""

    rank: int | None
    mean: float | None


@dataclass(frozen=True, slots=True)
class Summary:
    """What was drawn of a board: under which disclosure, from what was there when, which figures, and whose rank is which.

    places: by number of the method.
    """

    disclosed: str
    as_of: datetime
    figures: tuple[FigureHead, ...]
    places: dict[str, Place]
