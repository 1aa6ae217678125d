"""HTML pages: published results of historical challenges, which are read-only."""

from fastapi import APIRouter, Request
from fastapi.responses import Response

from app.core.access import Action
from app.figures import published
from app.figures.figures import standalone_svg
from app.figures.pages import drawing_response, table_response
from app.web.dependencies import ThePlatform, render, requires

router = APIRouter(prefix="/published/{code}", dependencies=[requires(Action.READ_PUBLIC)])


@router.get("")
def challenge(request: Request, platform: ThePlatform, code: str) -> Response:
    """Show a historical challenge with its boards."""
    return render(request, "published/challenge.html", challenge=published.challenge(platform, code))


@router.get("/{competition}")
def board(request: Request, platform: ThePlatform, code: str, competition: int) -> Response:
    """Show a board as it was published, with its figures."""
    return render(request, "published/board.html", page=published.page(platform, code, competition))


@router.get("/{competition}/figures/{name}.svg")
def figure(request: Request, platform: ThePlatform, code: str, competition: int, name: str) -> Response:
    """Return a figure of a published board as SVG. Other websites may embed it."""
    found = published.figure(platform, code, competition, name)
    return drawing_response(request, standalone_svg(found.svg or ""))


@router.get("/{competition}/figures/{name}.csv")
def table(platform: ThePlatform, code: str, competition: int, name: str) -> Response:
    """Return the numbers of a published figure as CSV."""
    return table_response(f"{code}-{competition}", published.figure(platform, code, competition, name).figure)
