"""Downloads for a first submission: example archives and image lists."""

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response

from app.challenges import examples, phase_files
from app.core.access import Action
from app.core.names import attachment
from app.web.dependencies import ThePlatform, requires

router = APIRouter(prefix="/challenges", dependencies=[requires(Action.READ_PUBLIC)])


@router.get("/{challenge}/{image_set}/example.tar.gz")
def example(
    platform: ThePlatform, challenge: str, image_set: str, competition: Annotated[int, Query()] = 3
) -> Response:
    """Download a valid archive with the same prediction for every image."""
    content = examples.example(platform, challenge, image_set, competition)
    return Response(
        content,
        media_type="application/gzip",
        headers=_attachment(examples.example_name(challenge, image_set, competition)),
    )


@router.get("/{challenge}/{image_set}/images.txt")
def images(platform: ThePlatform, challenge: str, image_set: str) -> Response:
    """Download the names of the images, one per line."""
    content = examples.image_list(platform, challenge, image_set)
    return Response(
        content,
        media_type="text/plain",
        headers=_attachment(phase_files.list_name(challenge, image_set, "txt")),
    )


@router.get("/{challenge}/{image_set}/images.csv")
def image_table(platform: ThePlatform, challenge: str, image_set: str) -> Response:
    """Download the names and sizes of the images."""
    content = phase_files.image_table(platform, challenge, image_set)
    return Response(
        content,
        media_type="text/csv",
        headers=_attachment(phase_files.list_name(challenge, image_set, "csv")),
    )


@router.get("/{challenge}/{image_set}/image_info.json")
def image_info(platform: ThePlatform, challenge: str, image_set: str) -> Response:
    """Download the images and categories in COCO's format, without annotation."""
    content = phase_files.image_info(platform, challenge, image_set)
    name = attachment(f"image_info_{image_set}.json")
    headers = {"Content-Disposition": name, "Cache-Control": "max-age=300"}
    return Response(content, media_type="application/json", headers=headers)


def _attachment(filename: str) -> dict[str, str]:
    return {"Content-Disposition": attachment(filename), "Cache-Control": "max-age=300"}
