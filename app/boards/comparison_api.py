"""JSON API: comparisons of methods."""

from fastapi import APIRouter

from app.boards import comparisons
from app.boards.comparison_pages import Methods
from app.boards.comparisons import ComparisonView
from app.boards.rows import BoardKey
from app.core.access import Action
from app.core.rate_limits import Limited
from app.web.dependencies import CurrentActor, ThePlatform, limited, requires

router = APIRouter(prefix="/api/v1", tags=["leaderboards"])


@router.get(
    "/compare/{challenge}/{image_set}/{competition}",
    dependencies=[requires(Action.READ_PUBLIC), limited(Limited.VIEW)],
)
def compare(
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    image_set: str,
    competition: int,
    methods: Methods = (),
) -> ComparisonView:
    """Compare methods of a board: paired differences with 95% intervals and p-values.

    A difference is a method's score minus the score of the first method. If the phase hides details, the response has only
    the visible values.
    """
    return comparisons.comparison(platform, actor, BoardKey(challenge, image_set, competition), methods)
