"""Phases for programs."""

from fastapi import APIRouter
from fastapi.responses import Response

from app.access import Action
from app.editions import service
from app.web import ThePlatform, requires

router = APIRouter(prefix="/api/v1/editions", tags=["editions"], dependencies=[requires(Action.READ_PUBLIC)])


@router.get("/{edition}/{image_set}/description")
def description(platform: ThePlatform, edition: str, image_set: str) -> Response:
    """Everything about a phase that participants may know: images with their sizes, classes, persons to look at."""
    return Response(service.public_description(platform, edition, image_set), media_type="application/json")
