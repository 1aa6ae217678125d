"""Figures written as CSV and as badges."""

import csv
from collections.abc import Iterable
from io import StringIO

from app.board_figures.schemas import Place
from app.figure_pages.schemas import FigureView
from app.figures.shapes import Drawing, Rect, Text, shortened
from app.formats import score

FORMULAS = ("=", "+", "-", "@", "\t", "\r")
LETTER = 6.8  # units of width
LONGEST_BADGE = 40  # letters of what it is of


def csv_of(figure: FigureView) -> str:
    """The numbers of a figure as a table with a header; a word that a spreadsheet would take for a formula has a ' before it."""
    text = StringIO()
    lines = csv.writer(text)
    lines.writerow([_word(column.name) for column in figure.columns])
    lines.writerows(_cells(row) for row in figure.rows)
    return text.getvalue()


def _cells(row: Iterable[str | float | None]) -> list[str | float]:
    return ["" if cell is None else _word(cell) if isinstance(cell, str) else cell for cell in row]


def _word(text: str) -> str:
    """A word as it may stand in a spreadsheet.

    >>> _word("=1+1"), _word("TKK")
    ("'=1+1", 'TKK')
    """
    return f"'{text}" if text.startswith(FORMULAS) else text


def badge_of(board: str, place: Place) -> Drawing:
    """A small sign with a method's rank and mean on a board, for pages elsewhere."""
    left = shortened(board, LONGEST_BADGE)
    right = (
        " · ".join(
            [
                *([f"#{place.rank}"] if place.rank is not None else []),
                *([f"{score(place.mean)} %"] if place.mean is not None else []),
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
