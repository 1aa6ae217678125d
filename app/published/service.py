"""Showing what was published elsewhere, and drawing its figures once."""

import json
from dataclasses import asdict
from typing import Any

from app import artefacts
from app.board_figures.service import DRAWN, SVG_AND_NUMBERS
from app.errors import NotFoundError
from app.figure_pages.rules import part_of
from app.figure_pages.schemas import ColumnView, DrawnFigure, FigureView
from app.figures.summaries import summary_figures
from app.platform import Platform
from app.published import queries
from app.published.rules import EDITIONS, board_of, scores_of
from app.published.schemas import PublishedBoard, PublishedEditionView, PublishedLine, PublishedPage
from app.web import draw

FIGURES = "published figures"  # kind of the artefact with the figures of a board


def add(platform: Platform, code: str) -> bool:
    """Show a historical edition, with its figures; False if it is shown already. Raises NotFoundError for one that there is not."""
    if code not in EDITIONS:
        raise NotFoundError(f"there is no historical edition {code!r}; there are {', '.join(EDITIONS)}")
    with platform.transaction() as session:
        is_new = queries.add(session, code)
    draw_missing(platform)
    return is_new


def remove(platform: Platform, code: str) -> None:
    """Show a historical edition no longer. Raises NotFoundError."""
    with platform.transaction() as session:
        if not queries.remove(session, code, _subject(code)):
            raise NotFoundError(f"this server does not show a historical edition {code!r}")


def draw_missing(platform: Platform) -> int:
    """Draw the figures of historical boards that have none, or were drawn otherwise; how many boards."""
    with platform.transaction() as session:
        boards = [
            (code, published)
            for code in queries.codes(session)
            for published in EDITIONS.get(code, (None, ()))[1]
        ]
        found = {
            (code, each.table.number): artefacts.find(session, FIGURES, _subject(code, each.table.number))
            for code, each in boards
        }
    missing = [
        (code, each)
        for code, each in boards
        if (before := found[code, each.table.number]) is None or before.version != DRAWN
    ]
    for code, published in missing:
        figures = summary_figures(scores_of(board_of(EDITIONS[code][0], published)))
        content = [
            {
                "head": [getattr(each.drawing, name) for name in ("name", "title", "description")],
                "size": [each.drawing.width, each.drawing.height],
                "columns": [asdict(column) for column in each.table.columns],
                "rows": each.table.rows,
                "svg": draw("figures/drawing.svg", drawing=each.drawing).strip(),
            }
            for each in figures
        ]
        subject = _subject(code, published.table.number)
        artefacts.store(platform, FIGURES, subject, DRAWN, SVG_AND_NUMBERS, json.dumps(content).encode())
    return len(missing)


def _subject(code: str, number: int | str = "") -> str:
    return f"published/{code}/{number}"


def lines(platform: Platform) -> tuple[PublishedLine, ...]:
    """The historical editions that are shown."""
    with platform.transaction() as session:
        shown = [EDITIONS[code][0] for code in queries.codes(session) if code in EDITIONS]
    return tuple(PublishedLine(each.code, each.title, each.source) for each in shown)


def edition(platform: Platform, code: str) -> PublishedEditionView:
    """A historical edition. Raises NotFoundError."""
    with platform.transaction() as session:
        if code not in EDITIONS or not queries.is_shown(session, code):
            raise NotFoundError(f"there is no historical edition {code!r}")
    return EDITIONS[code][0]


def board(platform: Platform, code: str, competition: int) -> PublishedBoard:
    """A board as it was published. Raises NotFoundError."""
    view = edition(platform, code)
    found = next((each for each in EDITIONS[code][1] if each.table.number == competition), None)
    if found is None:
        raise NotFoundError(f"{view.title} has no competition {competition}")
    return board_of(view, found)


def page(platform: Platform, code: str, competition: int) -> PublishedPage:
    """A board as it was published, with its figures; without them until they are drawn. Raises NotFoundError."""
    shown = board(platform, code, competition)
    stored = artefacts.read(platform, FIGURES, _subject(code, competition))
    figures: list[dict[str, Any]] = json.loads(stored) if stored else []
    return PublishedPage(shown, tuple(_drawn(code, competition, each) for each in figures))


def figure(platform: Platform, code: str, competition: int, name: str) -> DrawnFigure:
    """One figure of a published board. Raises NotFoundError."""
    for each in page(platform, code, competition).figures:
        if each.figure.name == name:
            return each
    raise NotFoundError("this figure is being computed, or the board does not have it")


def _drawn(code: str, competition: int, stored: dict[str, Any]) -> DrawnFigure:
    name, title, description = stored["head"]
    base = f"/published/{code}/{competition}/figures/{name}"
    columns = tuple(ColumnView(**column) for column in stored["columns"])
    rows = tuple(tuple(row) for row in stored["rows"])
    view = FigureView(name, title, description, columns, rows, f"{base}.svg", f"{base}.csv")
    width, height = stored["size"]
    return DrawnFigure(view, width, height, stored["svg"], part_of(view))
