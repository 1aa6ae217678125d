"""The page of a board's figures, and each of them for other people's pages."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from app.boards.boards import BoardAddress
from app.core.access import Action
from app.core.caching import Rendered, conditional_response
from app.core.rate_limits import Limited
from app.figures import figures as figures_figures
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
    columns: Annotated[int, Query(ge=1, description="the group of columns of tables")] = 1,
) -> Response:
    """Every figure of a board, with its table."""
    address = BoardAddress(challenge, image_set, competition)

    def read() -> dict[str, Any]:
        page = figures_figures.figures_page(platform, address, columns)
        return {"page": page, "board": page.view}

    return render_shared(request, "figure_pages/figures.html", (address, columns), read)


@router.get("/figures/{name}.svg", dependencies=[limited(Limited.VIEW)])
def figure(
    request: Request, platform: ThePlatform, challenge: str, image_set: str, competition: int, name: str
) -> Response:
    """A figure, which other pages may show."""
    found = figures_figures.figure(platform, BoardAddress(challenge, image_set, competition), name)
    return drawing_response(request, figures_figures.standing_alone(found.svg or ""))


@router.get("/figures/{name}.csv", dependencies=[limited(Limited.VIEW)])
def table(platform: ThePlatform, challenge: str, image_set: str, competition: int, name: str) -> Response:
    """The numbers of a figure."""
    found = figures_figures.figure(platform, BoardAddress(challenge, image_set, competition), name)
    return table_response(f"{challenge}-{image_set}-{competition}", found.figure)


@router.get("/badges/{method_id}.svg")
def badge(
    request: Request, platform: ThePlatform, challenge: str, image_set: str, competition: int, method_id: int
) -> Response:
    """The rank and mean of a method on a board, which other pages may show."""
    content = figures_figures.badge(platform, BoardAddress(challenge, image_set, competition), method_id)
    return drawing_response(request, content)


def drawing_response(request: Request, content: bytes) -> Response:
    """A drawing with its own styles, that any page may show; the same for everybody."""
    rendered = Rendered.of(content)

    def respond(request: Request) -> Response:
        response = conditional_response(request, rendered, "image/svg+xml", is_private=False)
        response.headers["Content-Security-Policy"] = policy(figures_figures.styles())
        response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
        request.state.shared = respond  # the next reader is given these headers, too
        return response

    return respond(request)


def table_response(board: str, figure: FigureView) -> Response:
    """The numbers of a figure as CSV to save."""
    headers = {"Content-Disposition": f'attachment; filename="{board}-{figure.name}.csv"'}
    return Response(csv_of(figure), headers=headers, media_type="text/csv")
