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
from app.figures.figures import FigureView, csv_of
from app.web.dependencies import ThePlatform, limited, render_shared, requires

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
    columns: Annotated[int, Query(ge=1, description="group of table columns, from 1")] = 1,
) -> Response:
    """Show every figure of a board with its table."""
    address = BoardKey(challenge, image_set, competition)

    def read() -> dict[str, Any]:
        page = figure_views.figures_page(platform, address, columns)
        return {"page": page, "board": page.view}

    def own(actor: Actor) -> dict[str, str]:
        return organise_tab(platform, actor, challenge)

    return render_shared(request, "figure_pages/figures.html", (address, columns), read, own)


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
