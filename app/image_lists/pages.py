"""Pages of images to look at first."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from app.access import Action
from app.image_lists import service
from app.rate_limits import Limited
from app.web import CurrentActor, ThePlatform, limited, render, requires

router = APIRouter()

ClassName = Annotated[str | None, Query(max_length=100, description="the class whose images are listed")]


@router.get("/runs/{run_id}/images", dependencies=[requires(Action.READ_SUBMISSION), limited(Limited.VIEW)])
def of_run(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    run_id: int,
    class_name: ClassName = None,
) -> Response:
    """The images that a result is surest of, nearly right about, wrong about, and blind to."""
    page = service.examples_of_run(platform, actor, run_id, class_name)
    return render(request, "image_lists/images.html", page=page)


@router.get(
    "/leaderboards/{edition}/{image_set}/{competition}/images",
    dependencies=[requires(Action.READ_PUBLIC), limited(Limited.VIEW)],
)
def of_board(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    edition: str,
    image_set: str,
    competition: int,
    class_name: ClassName = None,
) -> Response:
    """The images that the methods of a board find easy and hard."""
    page = service.hard_images(platform, actor, edition, image_set, competition, class_name)
    return render(request, "image_lists/images.html", page=page)
