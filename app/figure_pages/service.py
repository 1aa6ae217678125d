"""Reading the figures of a board."""

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from functools import cache
from typing import Any

import scoring
from app import artefacts
from app.board_figures.queries import FIGURES
from app.board_figures.rules import disclosed
from app.board_figures.schemas import FigureHead, Place, Summary
from app.board_figures.service import FIGURE, MOST_CLASSES
from app.disclosure.rules import public_sight, withheld
from app.editions import queries as editions
from app.editions.schemas import PhaseView
from app.editions.service import find_phase
from app.errors import MalformedError, NotFoundError
from app.figure_pages.rules import LARGEST_DRAWING, badge_of, part_of
from app.figure_pages.schemas import ColumnView, DrawnFigure, FiguresPage, FiguresView, FigureView
from app.figures.alone import alone
from app.leaderboards import queries as leaderboards
from app.leaderboards.rules import BoardAddress
from app.models import Artefact
from app.platform import Platform
from app.web import ROOT, draw

NOT_DRAWN = "this figure is being computed, or the board does not have it"


@cache
def styles() -> str:
    """The style sheet of drawings, which stands in each that is shown elsewhere."""
    return (ROOT / "static" / "figures.css").read_text()


def figures_page(platform: Platform, address: BoardAddress, group: int = 1) -> FiguresPage:
    """The figures of a board as everybody sees them; curves and large ones without their drawings.

    group: of the columns of tables, from 1 on. Raises NotFoundError, and MalformedError for a group that no table has.
    """
    phase, summary = _summary(platform, address)
    heads = summary.figures if summary else ()
    drawn = [_on_page(_figure(platform, phase, address, head, group)) for head in heads if not head.is_curve]
    last = max((len(each.table.groups) for each in drawn), default=0) or 1
    if group > last:
        raise MalformedError(f"columns: expected 1 to {last}, found {group}")
    nothing = {"columns": (), "rows": (), "svg": None}
    curves = tuple(_drawn(address, head, nothing) for head in heads if head.is_curve)
    view = _figures_view(phase, address, summary, tuple(each.figure for each in drawn))
    return FiguresPage(view, tuple(drawn), curves, lacks_curves=len(curves) >= MOST_CLASSES)


def _on_page(drawn: DrawnFigure) -> DrawnFigure:
    return replace(drawn, svg=None) if len(drawn.svg or "") > LARGEST_DRAWING else drawn


def figures(platform: Platform, address: BoardAddress) -> FiguresView:
    """The numbers of every figure of a board, as everybody sees them. Raises NotFoundError."""
    phase, summary = _summary(platform, address)
    heads = summary.figures if summary else ()
    views = tuple(_figure(platform, phase, address, head).figure for head in heads)
    return _figures_view(phase, address, summary, views)


def figure(platform: Platform, address: BoardAddress, name: str) -> DrawnFigure:
    """One figure of a board. Raises NotFoundError, also while it is being computed."""
    phase, summary = _summary(platform, address)
    head = next((each for each in (summary.figures if summary else ()) if each.name == name), None)
    if head is None:
        raise NotFoundError(NOT_DRAWN)
    return _figure(platform, phase, address, head)


def standing_alone(svg: str) -> bytes:
    """A drawing as it stands in other people's pages."""
    return alone(svg, styles()).encode()


def badge(platform: Platform, address: BoardAddress, method_id: int) -> bytes:
    """The rank and mean of a method on a board, as everybody sees them. Raises NotFoundError."""
    phase, summary = _summary(platform, address)
    place = summary.places.get(str(method_id)) if summary else None
    if place is None:
        raise NotFoundError(f"there is no public result of method {method_id} on this board")
    title = scoring.competition_of(phase.dataset, address.competition).title
    drawing = badge_of(f"{phase.edition_title} {title}", place)
    return standing_alone(draw("figures/drawing.svg", drawing=drawing).strip())


def _summary(platform: Platform, address: BoardAddress) -> tuple[PhaseView, Summary | None]:
    """What was drawn of a board, unless it shows what is not disclosed at this moment, or has not been drawn."""
    with platform.snapshot() as session:
        phase = find_phase(session, address.edition, address.image_set)
        if editions.board_of(session, phase.id, address.competition) is None:
            raise NotFoundError(
                f"{address.edition} {address.image_set} has no competition {address.competition}"
            )
        taken_back = leaderboards.taken_back(session, phase.id, address.competition)
        found = artefacts.find(session, FIGURES, f"{phase.id}/{address.competition}")
    if found is None:
        return phase, None
    summary = _read(_content(platform, found))
    return phase, summary if summary.disclosed == disclosed(phase, taken_back) else None


def _read(stored: Mapping[str, Any]) -> Summary:
    return Summary(
        stored["disclosed"],
        datetime.fromisoformat(stored["as_of"]),
        tuple(FigureHead(**head) for head in stored["figures"]),
        {method: Place(**place) for method, place in stored["places"].items()},
    )


def _content(platform: Platform, artefact: Artefact) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(artefacts.content_of(platform, artefact))
    return content


def _figure(
    platform: Platform, phase: PhaseView, address: BoardAddress, head: FigureHead, group: int = 1
) -> DrawnFigure:
    with platform.transaction() as session:
        found = artefacts.find(session, FIGURE, f"{phase.id}/{address.competition}/{head.name}")
    if found is None:
        raise NotFoundError(NOT_DRAWN)
    return _drawn(address, head, _content(platform, found), group)


def _drawn(
    address: BoardAddress, head: FigureHead, content: Mapping[str, Any], group: int = 1
) -> DrawnFigure:
    view = _view(address, head, content)
    return DrawnFigure(view, head.width, head.height, content["svg"], part_of(view, group))


def _view(address: BoardAddress, head: FigureHead, content: Mapping[str, Any]) -> FigureView:
    base = f"/leaderboards/{address.edition}/{address.image_set}/{address.competition}/figures/{head.name}"
    return FigureView(
        head.name,
        head.title,
        head.description,
        tuple(ColumnView(**column) for column in content["columns"]),
        tuple(tuple(row) for row in content["rows"]),
        f"{base}.svg",
        f"{base}.csv",
    )


def _figures_view(
    phase: PhaseView, address: BoardAddress, summary: Summary | None, views: tuple[FigureView, ...]
) -> FiguresView:
    info = scoring.competition_of(phase.dataset, address.competition)
    return FiguresView(
        edition=phase.edition,
        edition_title=phase.edition_title,
        image_set=phase.image_set,
        competition=address.competition,
        title=info.title,
        data_rule=info.own_data_rule,
        is_computed=summary is not None,
        as_of=summary.as_of if summary else None,
        withheld=withheld(phase, public_sight(phase)),
        figures=views,
    )
