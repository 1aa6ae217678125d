"""Home, the page of an edition, and the page to submit from."""

from fastapi import APIRouter, Request
from fastapi.responses import Response

from app.access import Action
from app.home import service
from app.web import CurrentActor, ThePlatform, render, requires

router = APIRouter()


@router.get("/", dependencies=[requires(Action.READ_PUBLIC)])
def home(request: Request, platform: ThePlatform) -> Response:
    """What there is to enter and to read."""
    return render(request, "home/home.html", editions=service.home(platform))


@router.get("/editions/{edition}", dependencies=[requires(Action.READ_PUBLIC)])
def edition(request: Request, platform: ThePlatform, actor: CurrentActor, edition: str) -> Response:
    """An edition with its phases, competitions and leading rows."""
    return render(request, "home/edition.html", edition=service.edition_page(platform, actor, edition))


@router.get("/editions/{edition}/{image_set}/submit", dependencies=[requires(Action.UPLOAD)])
def submit(
    request: Request, platform: ThePlatform, actor: CurrentActor, edition: str, image_set: str
) -> Response:
    """Where to drop an archive, what it should hold, and how much of the quota is left."""
    page = service.submit_page(platform, actor, edition, image_set)
    return render(
        request,
        "home/submit.html",
        phase=page.phase,
        competitions=page.competitions,
        quota=page.quota,
        max_upload=page.max_upload,
        steps=page.steps,
        can_upload=page.can_upload,
    )
