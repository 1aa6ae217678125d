"""Load the figures of a board for pages and downloads."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Any

import structlog

import heldout_scoring
from app.boards import boards
from app.boards.rows import BoardKey, Segment, segments
from app.boards.selections import CLASSES_TOGETHER, ColumnGroup, column_groups
from app.challenges import challenges
from app.challenges.challenges import PhaseView, find_phase, phases_of
from app.challenges.disclosure import public_visibility, withheld
from app.core.errors import FieldsError, NotFoundError, StorageDamagedError
from app.figures.board_figures import (
    FIGURE,
    FIGURES,
    MOST_CLASSES,
    FigureHead,
    PublicStanding,
    Summary,
    disclosed,
)
from app.figures.drawings import embed_styles
from app.models import Artefact
from app.platform import Platform
from app.results import artefacts
from app.web import tables
from app.web.charts.shapes import Drawing, Plot, Rect, Text, shortened
from app.web.dependencies import ROOT, render_template
from app.web.formats import score
from heldout_scoring.competitions import name_of

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class ColumnView:
    """A column of a figure's table. kind: text, score (in [0, 1]), number or date (YYYY-MM-DD)."""

    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class FigureView:
    """A figure of a board with its numbers. svg, csv: the URLs of the drawing and of its table."""

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

    is_computed: the figures are drawn; as_of: they show the board at this time; withheld: what is hidden, and until when.
    """

    challenge: str
    challenge_title: str
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
    """The part of a figure's table that a page shows.

    groups: of columns, if there are too many for one page; group: the number of the one shown; left_out: the number of rows not
    shown.
    """

    columns: tuple[ColumnView, ...]
    rows: tuple[tuple[str | float | None, ...], ...]
    groups: tuple[ColumnGroup, ...] = ()
    group: int = 1
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class DrawnFigure:
    """A figure on a page. svg: None if the browser loads it lazily; plot: its axes, if values can be read from them."""

    figure: FigureView
    width: float
    height: float
    svg: str | None
    table: TablePart
    plot: Plot | None = None


@dataclass(frozen=True, slots=True)
class FiguresPage:
    """The page of a board's figures.

    curves: of each class; curve: the one of them that is shown; methods: those drawn; has_results: there are public results to draw; tasks, trainings, phases: the boards to switch to, including this one; lacks_curves: the board may have
    classes without curves.
    """

    phase: PhaseView
    challenge_phases: tuple[PhaseView, ...]
    name: str  # of the board
    view: FiguresView
    figures: tuple[DrawnFigure, ...]
    curves: tuple[FigureHead, ...]
    curve: DrawnFigure | None
    methods: int
    has_results: bool
    tasks: tuple[Segment, ...]
    trainings: tuple[Segment, ...]
    phases: tuple[Segment, ...]
    lacks_curves: bool = False


@dataclass(frozen=True, slots=True)
class FigurePage:
    """The page of one figure. before, after: its neighbours on the page of all figures."""

    phase: PhaseView
    challenge_phases: tuple[PhaseView, ...]
    name: str  # of the board
    as_of: datetime
    view: FiguresView
    drawn: DrawnFigure
    before: FigureHead | None
    after: FigureHead | None


LETTER = 6.8  # width of a letter, in units of the drawing
LONGEST_BADGE = 40  # letters of the board's title
ROWS_TOGETHER = 100  # rows of a table on a page
LARGEST_DRAWING = 64_000  # characters of SVG inlined in a page with others
LARGEST_ALONE = 512_000  # the same in the page of one figure


def csv_of(figure: FigureView) -> str:
    """Write the numbers of a figure as CSV with a header. Words that look like formulas are prefixed with '."""
    return tables.csv_of([column.name for column in figure.columns], figure.rows)


def table_part(figure: FigureView, group: int = 1) -> TablePart:
    """Return the first rows of a figure's table with one group of its columns.

    If there is no group of this number, the last is returned. The first column, which names the rows, is in every group.
    """
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


def draw_badge(board: str, place: PublicStanding) -> Drawing:
    """Draw a badge with a method's rank and mean on a board, for other websites."""
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
    left_width, right_width = LETTER * len(left) + 14, LETTER * len(right) + 14
    shapes = (
        Rect(0, 0, left_width, 20, "badge-left"),
        Rect(left_width, 0, right_width, 20, "badge-right"),
        Text(left_width / 2, 14, left, "middle"),
        Text(left_width + right_width / 2, 14, right, "middle", "badge-text"),
    )
    return Drawing(
        "badge",
        f"{board}: {right}",
        f"Rank and mean on the leaderboard of {board}.",
        left_width + right_width,
        20,
        shapes,
    )


NOT_DRAWN = "this figure is still being computed, or the board has no such figure"


@cache
def styles() -> str:
    """Read the style sheet that is embedded in drawings for other websites."""
    return "".join((ROOT / "static" / f"{name}.css").read_text() for name in ("figures", "heat", "alone"))


def figures_page(platform: Platform, address: BoardKey, class_name: str | None = None) -> FiguresPage:
    """Return the figures of a board as the public sees them, large drawings without their SVG.

    class_name: whose curves are shown; None: those of the first class. Raises NotFoundError, also for a class without curves.
    """
    phase, summary = _summary(platform, address)
    with platform.snapshot() as session:
        phases = tuple(phases_of(session, phase.challenge))
        others = boards.boards_of_challenge(session, phases)
        has_results = boards.has_public_results(session, phase.id, address.competition)
    here = next(
        each
        for each in others
        if (each.image_set, each.competition) == (address.image_set, address.competition)
    )
    heads = summary.figures if summary else ()
    curves = tuple(head for head in heads if head.is_curve)
    chosen = next((head for head in curves if class_name in (None, head.class_name)), None)
    if summary and class_name is not None and chosen is None:
        raise NotFoundError(f"this board has no curves of a class {class_name}")
    try:
        drawn = [
            _without_large_svg(_figure(platform, phase, address, head), LARGEST_DRAWING)
            for head in heads
            if not head.is_curve
        ]
        curve = _figure(platform, phase, address, chosen) if chosen else None
    except NotFoundError:  # one of them is drawn again
        summary, drawn, curves, curve = None, [], (), None
    view = _figures_view(phase, address, summary, tuple(each.figure for each in drawn))
    return FiguresPage(
        phase,
        phases,
        name_of(phase.dataset, address.competition),
        view,
        tuple(drawn),
        curves,
        curve and _without_large_svg(curve, LARGEST_DRAWING),
        len(summary.places) if summary else 0,
        has_results,
        *segments(others, here),
        lacks_curves=len(curves) >= MOST_CLASSES,
    )


def figure_page(platform: Platform, address: BoardKey, name: str, group: int = 1) -> FigurePage:
    """Return one figure of a board with its table, as the public sees it.

    group: of table columns, from 1. Raises NotFoundError, also while it is being computed, and FieldsError for a group that the
    table does not have.
    """
    phase, summary = _summary(platform, address)
    heads = summary.figures if summary else ()
    place = next((place for place, head in enumerate(heads) if head.name == name), None)
    if summary is None or place is None:
        raise NotFoundError(NOT_DRAWN)
    drawn = _without_large_svg(_figure(platform, phase, address, heads[place], group), LARGEST_ALONE)
    last = len(drawn.table.groups) or 1
    if group > last:
        raise FieldsError({"columns": f"expected 1 to {last}, found {group}"})
    with platform.snapshot() as session:
        phases = tuple(phases_of(session, phase.challenge))
    return FigurePage(
        phase,
        phases,
        name_of(phase.dataset, address.competition),
        summary.as_of,
        _figures_view(phase, address, summary, (drawn.figure,)),
        drawn,
        heads[place - 1] if place else None,
        heads[place + 1] if place + 1 < len(heads) else None,
    )


def _without_large_svg(drawn: DrawnFigure, largest: int) -> DrawnFigure:
    return replace(drawn, svg=None) if len(drawn.svg or "") > largest else drawn


def figures(platform: Platform, address: BoardKey) -> FiguresView:
    """Return all figures of a board with their numbers, as the public sees them. Raises NotFoundError."""
    phase, summary = _summary(platform, address)
    heads = summary.figures if summary else ()
    try:
        views = tuple(_figure(platform, phase, address, head).figure for head in heads)
    except NotFoundError:  # one of them is drawn again
        summary, views = None, ()
    return _figures_view(phase, address, summary, views)


def figure(platform: Platform, address: BoardKey, name: str) -> DrawnFigure:
    """Return one figure of a board. Raises NotFoundError, also while it is being computed."""
    phase, summary = _summary(platform, address)
    head = next((each for each in (summary.figures if summary else ()) if each.name == name), None)
    if head is None:
        raise NotFoundError(NOT_DRAWN)
    return _figure(platform, phase, address, head)


def standalone_svg(svg: str) -> bytes:
    """Embed the styles in a drawing, for other websites."""
    return embed_styles(svg, styles()).encode()


def badge(platform: Platform, address: BoardKey, method_id: int) -> bytes:
    """Draw the badge of a method on a board, as the public sees it. Raises NotFoundError."""
    phase, summary = _summary(platform, address)
    place = summary.places.get(str(method_id)) if summary else None
    if place is None:
        raise NotFoundError(f"this board has no public result of method {method_id}")
    title = heldout_scoring.competition_of(phase.dataset, address.competition).title
    drawing = draw_badge(f"{phase.challenge_title} {title}", place)
    return standalone_svg(render_template("figures/drawing.svg", drawing=drawing).strip())


def _summary(platform: Platform, address: BoardKey) -> tuple[PhaseView, Summary | None]:
    """Load the summary of a board's figures; None if not drawn or drawn under another disclosure."""
    with platform.snapshot() as session:
        phase = find_phase(session, address.challenge, address.image_set)
        if challenges.board_of(session, phase.id, address.competition) is None:
            raise NotFoundError(
                f"there is no competition {address.competition} in {address.challenge} {address.image_set}"
            )
        withdrawals = boards.withdrawals_version(session, phase.id, address.competition)
        found = artefacts.find(session, FIGURES, f"{phase.id}/{address.competition}")
    content = _content(platform, found) if found else None
    if content is None:
        return phase, None
    summary = _read(content)
    return phase, summary if summary.disclosed == disclosed(phase, withdrawals) else None


def _read(stored: Mapping[str, Any]) -> Summary:
    return Summary(
        stored["disclosed"],
        datetime.fromisoformat(stored["as_of"]),
        tuple(FigureHead(**head) for head in stored["figures"]),
        {method: PublicStanding(**place) for method, place in stored["places"].items()},
    )


def _content(platform: Platform, artefact: Artefact) -> dict[str, Any] | None:
    """Return what was drawn; None if its file is damaged, and then all figures of its board are drawn again from the scores."""
    try:
        content: dict[str, Any] = json.loads(artefacts.content_of(platform, artefact))
    except StorageDamagedError:
        log.warning("figures are drawn again, because a file is damaged", subject=artefact.subject)
        board = "/".join(artefact.subject.split("/")[:2])
        with platform.transaction() as session:
            artefacts.remove(session, artefact.kind, artefact.subject)
            artefacts.remove(session, FIGURES, board)  # its absence is what the sweep looks for
        return None
    return content


def _figure(
    platform: Platform, phase: PhaseView, address: BoardKey, head: FigureHead, group: int = 1
) -> DrawnFigure:
    with platform.transaction() as session:
        found = artefacts.find(session, FIGURE, f"{phase.id}/{address.competition}/{head.name}")
    content = _content(platform, found) if found else None
    if content is None:
        raise NotFoundError(NOT_DRAWN)
    return _drawn(address, head, content, group)


def _drawn(address: BoardKey, head: FigureHead, content: Mapping[str, Any], group: int = 1) -> DrawnFigure:
    view = _view(address, head, content)
    plot = content.get("plot")
    return DrawnFigure(
        view, head.width, head.height, content["svg"], table_part(view, group), Plot(**plot) if plot else None
    )


def _view(address: BoardKey, head: FigureHead, content: Mapping[str, Any]) -> FigureView:
    base = f"/leaderboards/{address.challenge}/{address.image_set}/{address.competition}/figures/{head.name}"
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
    phase: PhaseView, address: BoardKey, summary: Summary | None, views: tuple[FigureView, ...]
) -> FiguresView:
    info = heldout_scoring.competition_of(phase.dataset, address.competition)
    return FiguresView(
        challenge=phase.challenge,
        challenge_title=phase.challenge_title,
        image_set=phase.image_set,
        competition=address.competition,
        title=info.title,
        data_rule=info.own_data_rule,
        is_computed=summary is not None,
        as_of=summary.as_of if summary else None,
        withheld=withheld(phase, public_visibility(phase)),
        figures=views,
    )
