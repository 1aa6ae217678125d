"""Contexts for the pages of figures."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from app.figures.figures import ColumnView, DrawnFigure, FiguresPage, FiguresView, FigureView, table_part
from app.web.charts.shapes import Drawing, Text
from app.web.dependencies import render_template
from tests.pages.drawn import EVIL
from tests.pages.views import NOW, PHASE

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
    page = FiguresPage(
        PHASE, view, (drawn("one"), large()), (replace(drawn("curves-1"), svg=None),), lacks_curves=True
    )
    empty = replace(page, figures=(), curves=())
    waiting = replace(view, is_computed=False, as_of=None, withheld=None)
    for each in (page, empty, replace(empty, view=waiting)):
        yield "figure_pages/figures.html", {"page": each, "board": each.view}
