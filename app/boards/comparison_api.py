"""JSON API: comparisons of methods."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query

from app.boards import comparisons
from app.boards.comparisons import ComparisonView
from app.boards.rows import BoardKey
from app.core.access import Action
from app.core.rate_limits import Limited
from app.web.dependencies import CurrentActor, ThePlatform, limited, requires

router = APIRouter(prefix="/api/v1", tags=["leaderboards"])


Methods = Annotated[
    Sequence[int],
    Query(max_length=20, description="ids of two to five methods; the first is the reference"),
]


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
