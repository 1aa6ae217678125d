"""HTML pages: leaderboards, also as CSV, JSON, TeX and BibTeX."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import TypeAdapter

from app.boards import boards
from app.boards.exports import bib_of, csv_of, tex_of
from app.boards.ranking import FIGURES
from app.boards.rows import FEW_CLASSES, BoardFormat, BoardKey, BoardPage, BoardView, one_page
from app.boards.selections import Format, PageParameters
from app.challenges.tabs import organise_tab
from app.core.access import Action, Actor
from app.core.caching import Splice, conditional_response
from app.core.site import ServiceLine, SiteView
from app.web.dependencies import (
    ACCOUNT,
    CurrentActor,
    ThePlatform,
    rate_limit_key,
    render_template,
    requires,
    service_line,
    splices_of_view,
)
from app.web.theme import splices_of_theme

router = APIRouter()

PATH = "/leaderboards"  # the section that the header marks as current
EMBEDDED_POLICY = (  # no scripts and no forms, and the only page that other websites may show in a frame
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors *"
)
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
    address, query = BoardKey(challenge, image_set, competition), asked.query()
    reader = rate_limit_key(request)
    if asked.format not in (None, Format.HTML):
        form = BoardFormat(asked.format.value)
        export = boards.Document(form, lambda page: EXPORTS[form](page, platform.settings.address))
        exported = query.as_shown() if form is BoardFormat.TEX else query.of_all()
        document = boards.rendered_board(platform, actor, address, exported, export, reader)
        name = f"{challenge}-{image_set}-{competition}.{form}" if form is not BoardFormat.JSON else None
        return conditional_response(
            request, document, MEDIA_TYPES[form], is_private=actor.is_logged_in, filename=name
        )
    line = service_line(request)
    service = ServiceLine(line.look, line.words) if line else None  # details change too often to be cached
    if not actor.is_logged_in:
        anonymous = boards.Document(
            BoardFormat.ANONYMOUS_PAGE, lambda page: anonymous_page(page, platform.site(), service), service
        )
        page = boards.rendered_board(platform, actor, address, query, anonymous, reader)
        return conditional_response(
            request,
            page,
            "text/html",
            is_private=False,
            splices=(*splices_of_theme(request), *splices_of_view(request)),
        )
    shared = boards.Document(
        BoardFormat.PAGE, lambda page: shared_page(page, platform.site(), service), service
    )
    page = boards.rendered_board(platform, actor, address, query, shared, reader)
    splices = (
        *splices_of_theme(request),
        *splices_of_view(request),
        Splice(ACCOUNT.encode(), account_links(actor).encode()),
        *(
            Splice(mark.encode(), tab.encode())
            for mark, tab in organise_tab(platform, actor, challenge).items()
        ),
    )
    return conditional_response(request, page, "text/html", is_private=True, splices=splices)


@router.get(
    "/leaderboards/{challenge}/{image_set}/{competition}/embed", dependencies=[requires(Action.READ_PUBLIC)]
)
def embedded_board(
    request: Request,
    platform: ThePlatform,
    challenge: str,
    image_set: str,
    competition: int,
    asked: Annotated[PageParameters, Query()],
) -> Response:
    """Show a leaderboard for frames of other websites: what the public sees, whoever is logged in."""
    address = BoardKey(challenge, image_set, competition)
    reader = rate_limit_key(request)
    page = boards.rendered_board(platform, Actor(), address, asked.query(), EMBEDDED, reader)
    response = conditional_response(request, page, "text/html", is_private=False)
    response.headers["Content-Security-Policy"] = EMBEDDED_POLICY
    response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    return response


def embedded_page(page: BoardPage) -> bytes:
    """Render a board for frames of other websites."""
    board = one_page(page)
    return render_template("leaderboards/embed.html", board=board, controls=page.controls).encode()


def shared_page(page: BoardPage, site: SiteView, service: ServiceLine | None = None) -> bytes:
    """Render a board's page with a marker in place of the reader's account links."""
    here = {"path": PATH, "site": site, "service": service, "is_shared": True}
    return render_template("leaderboards/board.html", **here, **page_context(page)).encode()


def page_context(page: BoardPage) -> dict[str, Any]:
    """Return what the template of a board's page needs."""
    return {
        "board": one_page(page),
        "controls": page.controls,
        "figures": FIGURES,
        "FEW_CLASSES": FEW_CLASSES,
    }


def anonymous_page(page: BoardPage, site: SiteView, service: ServiceLine | None = None) -> bytes:
    """Render a board's page for readers who are not logged in."""
    return shared_page(page, site, service).replace(ACCOUNT.encode(), account_links(Actor()).encode(), 1)


def account_links(actor: Actor) -> str:
    """Render the links of the header that depend on the reader."""
    return render_template("account.html", actor=actor, path=PATH)


def json_of(page: BoardPage) -> bytes:
    """Write the whole board as JSON."""
    return _json.dump_json(page.board)


EMBEDDED: Final = boards.Document(BoardFormat.EMBED, embedded_page)
EXPORTS: Final[Mapping[BoardFormat, Callable[[BoardPage, str], bytes]]] = {
    BoardFormat.JSON: lambda page, _: json_of(page),
    BoardFormat.CSV: csv_of,
    BoardFormat.TEX: tex_of,
    BoardFormat.BIB: bib_of,
}
MEDIA_TYPES: Final[Mapping[BoardFormat, str]] = {
    BoardFormat.JSON: "application/json",
    BoardFormat.CSV: "text/csv",
    BoardFormat.TEX: "application/x-tex",
    BoardFormat.BIB: "application/x-bibtex",
}
