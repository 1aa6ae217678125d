"""Contexts for the pages of figures."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from app.boards.rows import BoardLink, Segment
from app.figures.board_figures import FigureHead
from app.figures.figures import (
    ColumnView,
    DrawnFigure,
    FigurePage,
    FiguresPage,
    FiguresView,
    FigureView,
    table_part,
)
from app.web.charts.shapes import Drawing, Plot, Text
from app.web.dependencies import render_template
from tests.pages.drawn import EVIL
from tests.pages.views import NOW, PHASE, VAL

ADDRESS = "/leaderboards/VOC2007/test/3/figures/median"


def drawn(name: str) -> DrawnFigure:
    """A figure with every kind of column and names that contain markup."""
    columns = (ColumnView(EVIL, "text"), ColumnView("median", "score"), ColumnView("rank", "number"))
    rows = ((EVIL, 0.5, 1.25), ("Oak", None, 2.0))
    figure = FigureView(name, EVIL, EVIL, columns, rows, f"{ADDRESS}.svg", f"{ADDRESS}.csv")
    drawing = Drawing(name, EVIL, EVIL, 100, 50, (Text(1, 1, EVIL, title=EVIL),))
    return DrawnFigure(
        figure, 100, 50, render_template("figures/drawing.svg", drawing=drawing), table_part(figure)
    )


def large() -> DrawnFigure:
    """A lazily loaded figure whose table is shown from the second group of columns."""
    columns = (ColumnView("method", "text"), *(ColumnView(f"{EVIL} {place}", "score") for place in range(50)))
    row: tuple[str | float | None, ...] = (EVIL, *[0.5] * 50)
    figure = FigureView("heat-map", EVIL, EVIL, columns, (row,) * 101, f"{ADDRESS}.svg", f"{ADDRESS}.csv")
    return DrawnFigure(figure, 100, 50, None, table_part(figure, 2))


def of_figures() -> Iterator[tuple[str, dict[str, Any]]]:
    view = FiguresView("VOC2007", EVIL, "test", 3, "Detection", "any data", True, NOW, EVIL, ())
    choices = tuple(
        Segment(EVIL, BoardLink(EVIL, number, EVIL, True, EVIL), number == 3) for number in (3, 4)
    )
    page = FiguresPage(
        PHASE,
        (VAL, PHASE),
        EVIL,
        view,
        (drawn("one"), large()),
        (FigureHead("curves-1", EVIL, EVIL, 100, 50, True, EVIL, 0.5),),
        replace(drawn("curves-1"), plot=Plot("0 0 10 10", EVIL, 1.0), width=1200),
        1,
        True,
        choices,
        choices,
        choices,
        lacks_curves=True,
    )
    empty = replace(page, figures=(), curves=(), curve=None)
    hidden = replace(empty, has_results=False, view=replace(view, withheld=None))
    waiting = replace(view, is_computed=False, as_of=None, withheld=None)
    for each in (page, empty, hidden, replace(empty, view=waiting)):
        yield "figure_pages/figures.html", {"page": each, "board": each.view}
    head = FigureHead("before", EVIL, EVIL, 100, 50, False)
    readable = replace(drawn("one"), plot=Plot("0 0 10 10", EVIL, 1.0))
    for alone, before, after in ((readable, head, None), (large(), None, head), (drawn("two"), None, None)):
        shown = FigurePage(PHASE, (PHASE,), EVIL, NOW, view, alone, before, after)
        yield "figure_pages/figure.html", {"page": shown, "board": view, "citation": EVIL}
