"""Images to look at first, for programs."""

from fastapi import APIRouter

from app.access import Action
from app.image_lists import service
from app.image_lists.pages import ClassName
from app.image_lists.schemas import ExamplesPage
from app.rate_limits import Limited
from app.web import CurrentActor, ThePlatform, limited, requires

router = APIRouter(prefix="/api/v1", tags=["leaderboards"])


@router.get("/runs/{run_id}/images", dependencies=[requires(Action.READ_SUBMISSION), limited(Limited.VIEW)])
def of_run(
    platform: ThePlatform, actor: CurrentActor, run_id: int, class_name: ClassName = None
) -> ExamplesPage:
    """True positives, near misses, false positives and missed objects of a class; hidden while the annotation is held out."""
    return service.examples_of_run(platform, actor, run_id, class_name)


@router.get(
    "/leaderboards/{edition}/{image_set}/{competition}/images",
    dependencies=[requires(Action.READ_PUBLIC), limited(Limited.VIEW)],
)
def of_board(
    platform: ThePlatform,
    actor: CurrentActor,
    edition: str,
    image_set: str,
    competition: int,
    class_name: ClassName = None,
) -> ExamplesPage:
    """The easiest, hardest and most confusing images of a class over the methods of a board."""
    return service.hard_images(platform, actor, edition, image_set, competition, class_name)
