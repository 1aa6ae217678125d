"""HTML pages: figures of a board, and its drawings and badges for other websites."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from app.boards.rows import BoardKey
from app.challenges.tabs import organise_tab
from app.core.access import Action, Actor
from app.core.caching import Rendered, conditional_response
from app.core.rate_limits import Limited
from app.figures import figures as figure_views
from app.figures.drawings import policy
from app.figures.figures import FigurePage, FigureView, csv_of
from app.web.dependencies import ThePlatform, limited, render_shared, requires
from app.web.tables import bibtex

router = APIRouter(
    prefix="/leaderboards/{challenge}/{image_set}/{competition}", dependencies=[requires(Action.READ_PUBLIC)]
)


@router.get("/figures", dependencies=[limited(Limited.VIEW)])
def figures(
    request: Request,
    platform: ThePlatform,
    challenge: str,
    image_set: str,
    competition: int,
    class_name: Annotated[str | None, Query(alias="class", max_length=200)] = None,
) -> Response:
    """Show the figures of a board, with the curves of one class."""
    address = BoardKey(challenge, image_set, competition)

    def read() -> dict[str, Any]:
        page = figure_views.figures_page(platform, address, class_name)
        return {"page": page, "board": page.view}

    def own(actor: Actor) -> dict[str, str]:
        return organise_tab(platform, actor, challenge)

    return render_shared(request, "figure_pages/figures.html", (address, class_name), read, own)


@router.get("/figures/{name}.svg", dependencies=[limited(Limited.VIEW)])
def figure(
    request: Request, platform: ThePlatform, challenge: str, image_set: str, competition: int, name: str
) -> Response:
    """Return a figure as SVG. Other websites may embed it."""
    found = figure_views.figure(platform, BoardKey(challenge, image_set, competition), name)
    return drawing_response(request, figure_views.standalone_svg(found.svg or ""))


@router.get("/figures/{name}.csv", dependencies=[limited(Limited.VIEW)])
def table(platform: ThePlatform, challenge: str, image_set: str, competition: int, name: str) -> Response:
    """Return the numbers of a figure as CSV."""
    found = figure_views.figure(platform, BoardKey(challenge, image_set, competition), name)
    return table_response(f"{challenge}-{image_set}-{competition}", found.figure)


@router.get("/figures/{name}", dependencies=[limited(Limited.VIEW)])
def one_figure(
    request: Request,
    platform: ThePlatform,
    challenge: str,
    image_set: str,
    competition: int,
    name: str,
    columns: Annotated[int, Query(ge=1, description="group of table columns, from 1")] = 1,
) -> Response:
    """Show a figure of a board with its table, and how to cite it."""
    address = BoardKey(challenge, image_set, competition)

    def read() -> dict[str, Any]:
        page = figure_views.figure_page(platform, address, name, columns)
        return {"page": page, "board": page.view, "citation": _citation(page, platform.settings.address)}

    def own(actor: Actor) -> dict[str, str]:
        return organise_tab(platform, actor, challenge)

    return render_shared(request, "figure_pages/figure.html", (address, name, columns), read, own)


def _citation(page: FigurePage, address: str) -> str:
    """Format a figure as BibTeX."""
    board, figure, as_of = page.view, page.drawn.figure, page.as_of
    fields = {
        "title": f"{figure.title} ({page.name}, {board.challenge_title})",
        "year": str(as_of.year),
        "howpublished": f"{address.rstrip('/')}{figure.svg.removesuffix('.svg')}",
        "note": f"Figure of a leaderboard on {board.image_set}, as of {as_of:%Y-%m-%d}",
    }
    return bibtex(f"{board.challenge}-{board.image_set}-{board.competition}-{figure.name}", fields)


@router.get("/badges/{method_id}.svg")
def badge(
    request: Request, platform: ThePlatform, challenge: str, image_set: str, competition: int, method_id: int
) -> Response:
    """Return a badge with a method's rank and mean on a board. Other websites may embed it."""
    content = figure_views.badge(platform, BoardKey(challenge, image_set, competition), method_id)
    return drawing_response(request, content)


def drawing_response(request: Request, content: bytes) -> Response:
    """Respond with a public SVG that has its own styles and that any website may embed."""
    rendered = Rendered.of(content)

    def respond(request: Request) -> Response:
        response = conditional_response(request, rendered, "image/svg+xml", is_private=False)
        response.headers["Content-Security-Policy"] = policy(figure_views.styles())
        response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
        request.state.shared = respond  # cached responses get these headers, too
        return response

    return respond(request)


def table_response(board: str, figure: FigureView) -> Response:
    """Respond with the numbers of a figure as a CSV download."""
    headers = {"Content-Disposition": f'attachment; filename="{board}-{figure.name}.csv"'}
    return Response(csv_of(figure), headers=headers, media_type="text/csv")
