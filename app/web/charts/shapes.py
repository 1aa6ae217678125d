"""The shapes of a drawing, in units of its view box with the origin at top left, and the table next to it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

Value = str | float | None


@dataclass(frozen=True, slots=True)
class Text:
    """A text; anchor: which part of it is at x (start, middle, end); turned: rotation in degrees."""

    kind: ClassVar[str] = "text"
    x: float
    y: float
    text: str
    anchor: str = "start"
    style: str = ""
    turned: int = 0
    title: str = ""  # the full text if it is shortened


@dataclass(frozen=True, slots=True)
class Line:
    """A straight line."""

    kind: ClassVar[str] = "line"
    x: float
    y: float
    to_x: float
    to_y: float
    style: str = ""


@dataclass(frozen=True, slots=True)
class Polyline:
    """A line through points in SVG notation; title: its tooltip."""

    kind: ClassVar[str] = "polyline"
    points: str
    style: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class Rect:
    """A rectangle."""

    kind: ClassVar[str] = "rect"
    x: float
    y: float
    width: float
    height: float
    style: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class Circle:
    """A point."""

    kind: ClassVar[str] = "circle"
    x: float
    y: float
    radius: float
    style: str = ""
    title: str = ""


Shape = Text | Line | Polyline | Rect | Circle


@dataclass(frozen=True, slots=True)
class Plot:
    """The position of the axes of a drawing, for the script that shows the values under the pointer.

    box: left, top, width and height; across: the label of the horizontal axis, which runs from 0 to `right`; up: of the vertical
    one, from 0 to 1.
    """

    box: str
    across: str
    right: float
    up: str = ""


@dataclass(frozen=True, slots=True)
class Drawing:
    """The content of `figures/drawing.svg`; description: the same in words, for readers who cannot see it."""

    name: str  # in URLs and identifiers: letters, digits and hyphens
    title: str
    description: str
    width: float
    height: float
    shapes: tuple[Shape, ...]
    plot: Plot | None = None
    left: float = 0.0  # the left edge of the view box; anything before it is cut off


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table; kind: text, score (in [0, 1]), number or date (YYYY-MM-DD)."""

    name: str
    kind: str = "score"


@dataclass(frozen=True, slots=True)
class Table:
    """The numbers of a drawing that may be shown; None if there is no number."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing and its table."""

    drawing: Drawing
    table: Table


def shortened(text: str, most: int) -> str:
    """Shorten a text with an ellipsis in its middle, because names of variants differ at their ends.

    >>> shortened("INRIA_Genetic", 8), shortened("TKK", 8)
    ('INRI…tic', 'TKK')
    """
    return text if len(text) <= most else f"{text[: most // 2]}…{text[most // 2 + 1 - most :]}"


def label(x: float, y: float, text: str, most: int, **rest: str | int) -> Text:
    """Return a text of at most `most` characters, with the full text in its title."""
    short = shortened(text, most)
    return Text(x, y, short, title="" if short == text else text, **rest)  # type: ignore[arg-type]  # names of fields


def width_of(texts: Iterable[str], most: int) -> float:
    """Return an upper bound of the width of labels of at most `most` characters, in units of a drawing.

    >>> width_of(["car", "a very long name"], 10), width_of([], 10)
    (85.0, 0.0)
    """
    return 8.5 * min(most, max(map(len, texts), default=0))


def place(value: float) -> str:
    """Format a coordinate for SVG, to a tenth of a unit.

    >>> place(3.0), place(2.25), place(-0.01)
    ('3', '2.2', '0')
    """
    return f"{round(value, 1) + 0:g}"


def joined(points: list[tuple[float, float]]) -> str:
    """Format points for SVG.

    >>> joined([(0, 1.5), (2, 3)])
    '0,1.5 2,3'
    """
    return " ".join(f"{place(x)},{place(y)}" for x, y in points)
