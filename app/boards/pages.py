"""HTML pages: leaderboards, also as CSV, JSON, TeX and BibTeX."""

from collections.abc import Callable, Mapping
from typing import Annotated, Final
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import TypeAdapter

from app.boards import boards
from app.boards.boards import BoardAddress, BoardPage, BoardRow, BoardView, Cell, Form, one_page
from app.boards.ranking import FIGURES
from app.boards.selections import Format, PageParameters
from app.core.access import Action, Actor
from app.core.caching import Splice, conditional_response
from app.web import tables
from app.web.dependencies import ACCOUNT, CurrentActor, ThePlatform, draw, requires, who_is_counted
from app.web.formats import score

router = APIRouter()

PATH = "/leaderboards"  # by which the header marks the current section
_json = TypeAdapter(BoardView)


@router.get(
    "/leaderboards/{challenge}/{image_set}/{competition}", dependencies=[requires(Action.READ_PUBLIC)]
)
def board(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    image_set: str,
    competition: int,
    asked: Annotated[PageParameters, Query()],
) -> Response:
    """Show or export a leaderboard. Logged-in readers get the shared page with their account links filled in."""
    address, query = BoardAddress(challenge, image_set, competition), asked.query()
    reader = who_is_counted(request)
    if asked.format not in (None, Format.HTML):
        form = Form(asked.format.value)
        export = boards.Document(form, lambda page: EXPORTS[form](page, platform.settings.address))
        document = boards.rendered_board(platform, actor, address, query.of_all(), export, reader)
        name = f"{challenge}-{image_set}-{competition}.{form}" if form is not Form.JSON else None
        return conditional_response(
            request, document, MEDIA_TYPES[form], is_private=actor.is_logged_in, filename=name
        )
    if not actor.is_logged_in:
        page = boards.rendered_board(platform, actor, address, query, ANONYMOUS, reader)
        return conditional_response(request, page, "text/html", is_private=False)
    page = boards.rendered_board(platform, actor, address, query, SHARED, reader)
    splice = Splice(ACCOUNT.encode(), account_of(actor).encode())
    return conditional_response(request, page, "text/html", is_private=True, splice=splice)


def shared_page(page: BoardPage) -> bytes:
    """Render a board's page with a marker in place of the reader's account links."""
    text = draw(
        "leaderboards/board.html", board=one_page(page), controls=page.controls, figures=FIGURES, path=PATH
    )
    return text.encode()


def anonymous_page(page: BoardPage) -> bytes:
    """Render a board's page for readers who are not logged in."""
    return shared_page(page).replace(ACCOUNT.encode(), account_of(Actor()).encode(), 1)


def account_of(actor: Actor) -> str:
    """Render the links of the header that depend on the reader."""
    return draw("account.html", actor=actor, path=PATH)


def json_of(page: BoardPage) -> bytes:
    """Write the whole board as JSON."""
    return _json.dump_json(page.board)


def csv_of(page: BoardPage, site: str) -> bytes:
    """Write the table for spreadsheets: scores in [0, 1] with the digits that the reader may see; intervals if requested."""
    board, query = page.board, page.controls.query
    with_intervals = query.intervals and page.controls.has_details
    names = ["mean", *board.classes]
    header = [
        "rank", "group", "method", "team", "training", "baseline", "date", *([board.sort] if board.sort in FIGURES else []),
        *(f"{name}{end}" for name in names for end in (("", " low", " high") if with_intervals else ("",))),
        "address",
    ]  # fmt: skip
    return tables.csv_of(
        header, [_csv_row(row, board, site, with_intervals=with_intervals) for row in board.rows]
    ).encode()


def _csv_row(row: BoardRow, board: BoardView, site: str, *, with_intervals: bool) -> list[tables.Cell]:
    values: list[tables.Cell] = []
    for cell in (Cell(row.mean, row.mean_best, row.low, row.high), *row.cells):
        values += [cell.value, *((cell.low, cell.high) if with_intervals else ())]
    return [
        row.rank, row.group or "", row.method, row.team.name, row.training or "", "yes" if row.is_baseline else "",
        row.date.date().isoformat(), *([row.figure] if board.sort in FIGURES else []), *values,
        f"{site}/submissions/{row.submission}",
    ]  # fmt: skip


def tex_of(page: BoardPage, site: str) -> bytes:
    """Write the table for papers: percent with one decimal, the best in bold; intervals if requested."""
    board = page.board
    with_intervals = page.controls.query.intervals
    header = ["Method", "Mean", *(tables.tex_text(name) for name in board.classes)]
    rows = [
        [
            tables.tex_text(row.method),
            *(
                _tex_cell(cell, with_intervals=with_intervals)
                for cell in (Cell(row.mean, row.mean_best, row.low, row.high), *row.cells)
            ),
        ]
        for row in board.rows
    ]
    return tables.tex_table(_notes(page, site), header, rows).encode()


def _tex_cell(cell: Cell, *, with_intervals: bool) -> str:
    text = f"\\textbf{{{score(cell.value)}}}" if cell.best else score(cell.value)
    if not with_intervals or cell.low is None:
        return text
    return f"{text} {{\\scriptsize [{score(cell.low)}, {score(cell.high)}]}}"


def _notes(page: BoardPage, site: str) -> tuple[str, ...]:
    board = page.board
    return (
        f"{board.challenge_title} {board.image_set}, {board.title} (competition {board.competition})"
        + (", difficult objects included: not the official values" if page.controls.query.difficult else ""),
        f"{board.measure} in percent, {len(board.rows)} of {board.methods} methods",
        f"protocol {board.protocol}, ground truth version {board.ground_truth}, scorer version {board.scorer}",
        f"{address_of_board(board, site)}{page.controls.query.address()}, version {board.version} of this board",
    )


def address_of_board(board: BoardView, site: str) -> str:
    """Return the URL of a board."""
    return f"{site}/leaderboards/{quote(board.challenge)}/{quote(board.image_set)}/{board.competition}"


def bib_of(page: BoardPage, site: str) -> bytes:
    """Write BibTeX entries for the board and each of its methods."""
    board = page.board
    about = {
        "title": f"{board.challenge_title} {board.image_set}: {board.title} (competition {board.competition})",
        "key": board.challenge_title,  # styles sort entries without an author by this key
        "year": f"{board.updated_at:%Y}",
        "howpublished": address_of_board(board, site),
        "note": f"Leaderboard, version {board.version}, {board.updated_at:%Y-%m-%d}",
    }
    methods = [
        tables.bibtex(
            f"{row.method}-{row.method_id}",
            {
                "title": row.title or row.method,
                "author": row.contributors or row.team.name,
                "year": f"{row.date:%Y}",
                "howpublished": f"{site}/methods/{row.method_id}",
                "note": f"{row.method}, {about['title']}",
            },
        )
        for row in board.rows
    ]
    name = f"{board.challenge}-{board.image_set}-{board.competition}"
    return "\n".join((tables.bibtex(name, about), *methods)).encode()


ANONYMOUS: Final = boards.Document(Form.ANONYMOUS_PAGE, anonymous_page)
SHARED: Final = boards.Document(Form.PAGE, shared_page)
EXPORTS: Final[Mapping[Form, Callable[[BoardPage, str], bytes]]] = {
    Form.JSON: lambda page, _: json_of(page),
    Form.CSV: csv_of,
    Form.TEX: tex_of,
    Form.BIB: bib_of,
}
MEDIA_TYPES: Final[Mapping[Form, str]] = {
    Form.JSON: "application/json",
    Form.CSV: "text/csv",
    Form.TEX: "application/x-tex",
    Form.BIB: "application/x-bibtex",
}
