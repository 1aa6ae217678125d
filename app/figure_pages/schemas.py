"""Figures of a board as pages and programs see them."""

from dataclasses import dataclass
from datetime import datetime

from app.selections.schemas import ColumnGroup


@dataclass(frozen=True, slots=True)
class ColumnView:
    """A column of a figure's table; kind: text, score (in [0, 1]) or number."""

    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class FigureView:
    """A figure of a board with its numbers; svg, csv: the addresses of the drawing, and of its table."""

    name: str
    title: str
    description: str
    columns: tuple[ColumnView, ...]
    rows: tuple[tuple[str | float | None, ...], ...]
    svg: str
    csv: str


@dataclass(frozen=True, slots=True)
class FiguresView:
    """The figures of a board.

    is_computed: they are drawn; as_of: what was on the board then is in them; withheld: what readers do not see, and until when.
    """

    edition: str
    edition_title: str
    image_set: str
    competition: int
    title: str
    data_rule: str
    is_computed: bool
    as_of: datetime | None
    withheld: str | None
    figures: tuple[FigureView, ...]


@dataclass(frozen=True, slots=True)
class TablePart:
    """What a page shows of a figure's table; groups: of its columns where there are many, group: the one that is shown; left_out: rows."""

    columns: tuple[ColumnView, ...]
    rows: tuple[tuple[str | float | None, ...], ...]
    groups: tuple[ColumnGroup, ...] = ()
    group: int = 1
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class DrawnFigure:
    """A figure on a page: its SVG, or none for one that a browser loads when it is looked at."""

    figure: FigureView
    width: float
    height: float
    svg: str | None
    table: TablePart


@dataclass(frozen=True, slots=True)
class FiguresPage:
    """The page of a board's figures; lacks_curves: it may have more classes than there are curves."""

    view: FiguresView
    figures: tuple[DrawnFigure, ...]
    curves: tuple[DrawnFigure, ...]
    lacks_curves: bool = False
