"""Editions for programs."""

from fastapi import APIRouter
from fastapi.responses import Response

from app.access import Action
from app.editions import service
from app.editions.schemas import EditionSummary, EditionView
from app.web import CurrentActor, ThePlatform, requires

router = APIRouter(prefix="/api/editions", tags=["editions"], dependencies=[requires(Action.READ_PUBLIC)])


@router.get("")
def editions(platform: ThePlatform) -> tuple[EditionSummary, ...]:
    """Every edition with its phases."""
    return service.home(platform)


@router.get("/{edition}")
def edition(platform: ThePlatform, actor: CurrentActor, edition: str) -> EditionView:
    """An edition with its competitions and leading rows."""
    return service.edition_page(platform, actor, edition)


@router.get("/{edition}/{image_set}/description")
def description(platform: ThePlatform, edition: str, image_set: str) -> Response:
    """Everything about a phase that participants may know: images with their sizes, classes, persons to look at."""
    return Response(service.public_description(platform, edition, image_set), media_type="application/json")
