"""The figures of boards for programs."""

from fastapi import APIRouter

from app.access import Action
from app.figure_pages import service
from app.figure_pages.schemas import FiguresView
from app.leaderboards.rules import BoardAddress
from app.rate_limits import Limited
from app.web import ThePlatform, limited, requires

router = APIRouter(prefix="/api/v1", tags=["leaderboards"])


@router.get(
    "/leaderboards/{edition}/{image_set}/{competition}/figures",
    dependencies=[requires(Action.READ_PUBLIC), limited(Limited.VIEW)],
)
def figures(platform: ThePlatform, edition: str, image_set: str, competition: int) -> FiguresView:
    """The figures that sum a board up, with the numbers in them: scores in [0, 1], as everybody sees them."""
    return service.figures(platform, BoardAddress(edition, image_set, competition))
