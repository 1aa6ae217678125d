"""HTML pages: comparison of methods, with the images in which they differ."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from app.boards import comparisons
from app.boards.comparison_api import Methods
from app.boards.rows import BoardKey
from app.core.access import Action
from app.core.rate_limits import Limited
from app.images import differing
from app.web.dependencies import CurrentActor, ThePlatform, limited, render, requires

router = APIRouter()


@router.get(
    "/compare/{challenge}/{image_set}/{competition}",
    dependencies=[requires(Action.READ_PUBLIC), limited(Limited.VIEW)],
)
def compare(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    image_set: str,
    competition: int,
    methods: Methods = (),
    class_name: Annotated[str | None, Query(alias="class", max_length=200)] = None,
) -> Response:
    """Compare methods of a board side by side."""
    address = BoardKey(challenge, image_set, competition)
    view = comparisons.comparison(platform, actor, address, methods)
    drawn = comparisons.drawings(platform, view, class_name)
    images = differing.images(platform, actor, view)
    return render(request, "comparisons/comparison.html", comparison=view, drawn=drawn, images=images)
