"""What is drawn over pictures, for programs."""

from typing import Annotated

from fastapi import APIRouter, Query

from app.access import Action
from app.rate_limits import Limited
from app.viewer import service
from app.viewer.pages import Competition, Runs
from app.viewer.schemas import Choice, ViewerPage
from app.web import CurrentActor, ThePlatform, limited, requires

router = APIRouter(prefix="/api/v1", tags=["editions"], dependencies=[requires(Action.READ_PUBLIC)])


@router.get("/editions/{edition}/{image_set}/images/{name}", dependencies=[limited(Limited.VIEW)])
def image(
    platform: ThePlatform,
    actor: CurrentActor,
    edition: str,
    image_set: str,
    name: str,
    competition: Competition = None,
    run: Runs = None,
    threshold: Annotated[float | None, Query(allow_inf_nan=False)] = None,
) -> ViewerPage:
    """An image with its annotation and the predictions of some methods, in pixels from its upper left corner.

    Without annotation and predictions where the annotation is held out.
    """
    choice = Choice(competition, tuple(run or ()), threshold)
    return service.viewer(platform, actor, edition, image_set, name, choice)
