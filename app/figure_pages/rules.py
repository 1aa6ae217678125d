"""Figures written as CSV and as badges."""

from app.board_figures.schemas import Place
from app.exports import rules as exports
from app.figure_pages.schemas import FigureView, TablePart
from app.figures.shapes import Drawing, Rect, Text, shortened
from app.formats import score
from app.selections.rules import CLASSES_TOGETHER, column_groups

LETTER = 6.8  # units of width
LONGEST_BADGE = 40  # letters of what it is of
ROWS_TOGETHER = 100  # of a table on a page
LARGEST_DRAWING = 256_000  # characters of SVG inside a page


def csv_of(figure: FigureView) -> str:
    """The numbers of a figure as a table with a header; a word that a spreadsheet would take for a formula has a ' before it."""
    return exports.csv_of([column.name for column in figure.columns], figure.rows)


def part_of(figure: FigureView, group: int = 1) -> TablePart:
    """The first rows of a figure's table with one group of its columns, the last for a number beyond; the first column names the rows."""
    rows, left_out = figure.rows[:ROWS_TOGETHER], max(0, len(figure.rows) - ROWS_TOGETHER)
    if len(figure.columns) - 1 <= CLASSES_TOGETHER:
        return TablePart(figure.columns, rows, left_out=left_out)
    groups = column_groups([column.name for column in figure.columns[1:]])
    shown = min(group, len(groups))
    start = 1 + (shown - 1) * CLASSES_TOGETHER
    part = slice(start, start + CLASSES_TOGETHER)
    return TablePart(
        (figure.columns[0], *figure.columns[part]),
        tuple((row[0], *row[part]) for row in rows),
        groups,
        shown,
        left_out,
    )


def badge_of(board: str, place: Place) -> Drawing:
    """A small sign with a method's rank and mean on a board, for pages elsewhere."""
    left = shortened(board, LONGEST_BADGE)
    right = (
        " · ".join(
            [
                *([f"#{place.rank}"] if place.rank is not None else []),
                *([f"{score(place.mean)}%"] if place.mean is not None else []),
            ]
        )
        or "no rank"
    )
    across, rest = LETTER * len(left) + 14, LETTER * len(right) + 14
    shapes = (
        Rect(0, 0, across, 20, "badge-left"),
        Rect(across, 0, rest, 20, "badge-right"),
        Text(across / 2, 14, left, "middle"),
        Text(across + rest / 2, 14, right, "middle", "badge-text"),
    )
    return Drawing(
        "badge",
        f"{board}: {right}",
        f"Rank and mean on the leaderboard of {board}.",
        across + rest,
        20,
        shapes,
    )
