"""Downloads for a first submission: example archives and image lists."""

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response

from app.challenges import examples
from app.core.access import Action
from app.web.dependencies import ThePlatform, requires

router = APIRouter(prefix="/challenges", dependencies=[requires(Action.READ_PUBLIC)])


@router.get("/{challenge}/{image_set}/example.tar.gz")
def example(
    platform: ThePlatform, challenge: str, image_set: str, competition: Annotated[int, Query()] = 3
) -> Response:
    """Download a valid archive with the same prediction for every image."""
    content = examples.example(platform, challenge, image_set, competition)
    return Response(content, media_type="application/gzip", headers=_attachment("example.tar.gz"))


@router.get("/{challenge}/{image_set}/images.txt")
def images(platform: ThePlatform, challenge: str, image_set: str) -> Response:
    """Download the names of the images, one per line."""
    content = examples.image_list(platform, challenge, image_set)
    return Response(content, media_type="text/plain", headers=_attachment("images.txt"))


def _attachment(filename: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{filename}"', "Cache-Control": "max-age=300"}
