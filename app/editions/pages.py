"""Home, and the page of an edition."""

from fastapi import APIRouter, Request
from fastapi.responses import Response

from app.access import Action
from app.editions import service
from app.web import CurrentActor, ThePlatform, render, requires

router = APIRouter(dependencies=[requires(Action.READ_PUBLIC)])


@router.get("/")
def home(request: Request, platform: ThePlatform) -> Response:
    """What there is to enter and to read."""
    return render(request, "home.html", editions=service.home(platform))


@router.get("/editions/{edition}")
def edition(request: Request, platform: ThePlatform, actor: CurrentActor, edition: str) -> Response:
    """An edition with its phases, competitions and leading rows."""
    return render(request, "editions/edition.html", edition=service.edition_page(platform, actor, edition))
