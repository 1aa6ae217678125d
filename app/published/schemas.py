"""Published results as pages and programs see them."""

from dataclasses import dataclass

from app.figure_pages.schemas import DrawnFigure


@dataclass(frozen=True, slots=True)
class PublishedLine:
    """A historical edition in the list of all."""

    code: str
    title: str
    source: str


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """A table of a paper: a competition's number, title, and where it is printed."""

    number: int
    title: str
    printed: str


@dataclass(frozen=True, slots=True)
class PublishedEditionView:
    """A historical edition; note: that nothing of it was scored here."""

    code: str
    title: str
    source: str
    note: str
    boards: tuple[PublishedTable, ...]


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """A method: values in [0, 1], as printed, to a thousandth; without a value in every class it has neither mean nor rank."""

    rank: int | None
    method: str
    mean: float | None
    median: float | None
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class PublishedBoard:
    """A board as it was published; best: the largest value of each class."""

    edition: PublishedEditionView
    table: PublishedTable
    measure: str
    classes: tuple[str, ...]
    rows: tuple[PublishedRow, ...]
    best: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class PublishedPage:
    """The page of a published board, with its figures as far as they are drawn."""

    board: PublishedBoard
    figures: tuple[DrawnFigure, ...]
