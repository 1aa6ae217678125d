"""JSON API: figures of boards."""

from fastapi import APIRouter

from app.boards.rows import BoardKey
from app.core.access import Action
from app.core.rate_limits import Limited
from app.figures import figures as figure_views
from app.figures.figures import FiguresView
from app.web.dependencies import ThePlatform, limited, requires

router = APIRouter(prefix="/api/v1", tags=["leaderboards"])


@router.get(
    "/leaderboards/{challenge}/{image_set}/{competition}/figures",
    dependencies=[requires(Action.READ_PUBLIC), limited(Limited.VIEW)],
)
def figures(platform: ThePlatform, challenge: str, image_set: str, competition: int) -> FiguresView:
    """Return the summary figures of a board with their numbers. Scores are in [0, 1], as the public sees them."""
    return figure_views.figures(platform, BoardKey(challenge, image_set, competition))
