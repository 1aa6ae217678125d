"""JSON API: the labels of single images, corrected by organisers."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from app.core.access import Action
from app.core.rate_limits import Limited
from app.intake import corrections, label_edits, label_scenes
from app.intake.corrections import ConfirmedCorrections, CorrectionSheet
from app.intake.label_edits import LabelCorrection
from app.intake.label_scenes import LabelledImages, LabelSheet
from app.web.dependencies import CurrentActor, ThePlatform, limited, requires

router = APIRouter(
    prefix="/api/v1/organise/phases/{phase_id}", tags=["data sets"], dependencies=[requires(Action.ORGANISE)]
)

Search = Annotated[str, Query(max_length=300, description="what names of images have in them")]
Start = Annotated[int, Query(ge=0, le=2**31 - 1, description="how many images that fit come before these")]
VIEW = limited(Limited.VIEW)
NO_STORE = {"Cache-Control": "no-store"}


@router.get("/labels")
def images(
    platform: ThePlatform, actor: CurrentActor, phase_id: int, search: Search = "", start: Start = 0
) -> LabelledImages:
    """List the images of the newest version of a phase, 60 per page, with those that you have corrected."""
    return label_scenes.images(platform, actor, phase_id, search, start)


@router.get("/labels/{image}")
def labels(
    platform: ThePlatform, actor: CurrentActor, response: Response, phase_id: int, image: str
) -> LabelSheet:
    """Get an image with its labels, if a worker has made this scene for you; nobody else sees it, and it is deleted after ten minutes.

    Its image is at `/organise/phases/{phase_id}/labels/{image}/picture`.
    """
    response.headers.update(NO_STORE)
    return label_scenes.view(platform, actor, phase_id, image)


@router.post("/labels/{image}/scene", status_code=202, dependencies=[VIEW])
def show(platform: ThePlatform, actor: CurrentActor, phase_id: int, image: str) -> None:
    """Have a worker show you the labels of an image, for ten minutes."""
    label_scenes.request(platform, actor, phase_id, image)


@router.put("/labels/{image}", status_code=204)
def correct(
    platform: ThePlatform, actor: CurrentActor, phase_id: int, image: str, labels: LabelCorrection
) -> None:
    """Correct the labels of an image: all that it has afterwards. They are encrypted for the workers and wait until you apply them."""
    label_edits.save(platform, actor, phase_id, image, labels)


@router.delete("/labels/{image}", status_code=204)
def take_back(platform: ThePlatform, actor: CurrentActor, phase_id: int, image: str) -> None:
    """Take your correction of an image back."""
    label_edits.take_back(platform, actor, phase_id, image)


@router.get("/corrections")
def waiting(platform: ThePlatform, actor: CurrentActor, phase_id: int) -> CorrectionSheet:
    """List the images that you have corrected, and what that changes, if you have asked for it."""
    return corrections.view(platform, actor, phase_id)


@router.post("/corrections/preview", status_code=202, dependencies=[VIEW])
def preview(platform: ThePlatform, actor: CurrentActor, phase_id: int) -> None:
    """Have a worker find what your corrections change, for you alone."""
    corrections.request_preview(platform, actor, phase_id)


@router.post("/corrections/apply", status_code=202)
def apply(platform: ThePlatform, actor: CurrentActor, phase_id: int, asked: ConfirmedCorrections) -> None:
    """Apply your corrections once you know what they change: a worker makes the next version, which boards show after a re-scoring."""
    corrections.apply(platform, actor, phase_id, asked)
