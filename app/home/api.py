"""Editions for programs."""

from fastapi import APIRouter

from app.access import Action
from app.home import service
from app.home.schemas import EditionSummary, EditionView
from app.web import CurrentActor, ThePlatform, requires

router = APIRouter(prefix="/api/v1/editions", tags=["editions"], dependencies=[requires(Action.READ_PUBLIC)])


@router.get("")
def editions(platform: ThePlatform) -> tuple[EditionSummary, ...]:
    """Every edition with its phases."""
    return service.home(platform)


@router.get("/{edition}")
def edition(platform: ThePlatform, actor: CurrentActor, edition: str) -> EditionView:
    """An edition with its competitions and leading rows."""
    return service.edition_page(platform, actor, edition)
