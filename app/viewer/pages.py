"""The viewer of one picture."""

from math import isfinite
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from app.access import Action
from app.gallery.pages import Range, answer
from app.rate_limits import Limited
from app.viewer import service
from app.viewer.schemas import Choice
from app.web import CurrentActor, ThePlatform, limited, render, requires

router = APIRouter(dependencies=[requires(Action.READ_PUBLIC)])

Competition = Annotated[int | None, Query(description="whose predictions are drawn")]
Runs = Annotated[
    list[int] | None, Query(max_length=20, description="runs whose predictions are drawn, at most five")
]


@router.get("/pictures/{edition}/{image_set}/{name}", dependencies=[limited(Limited.VIEW)])
def viewer(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    edition: str,
    image_set: str,
    name: str,
    competition: Competition = None,
    run: Runs = None,
    threshold: Annotated[str, Query(max_length=40, description="the lowest confidence that is shown")] = "",
) -> Response:
    """A picture with what its annotation and some methods say of it."""
    choice = Choice(competition, tuple(run or ()), number_or_none(threshold))
    page = service.viewer(platform, actor, edition, image_set, name, choice)
    return render(request, "viewer/viewer.html", page=page, query=request.url.query)


def number_or_none(text: str) -> float | None:
    """The number that a field holds; none where it is empty or something else.

    >>> number_or_none("0.5"), number_or_none(""), number_or_none("nan")
    (0.5, None, None)
    """
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) else None


@router.get("/pictures/{edition}/{image_set}/{name}/labels.png")
def labels(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    edition: str,
    image_set: str,
    name: str,
    run: int | None = None,
    truth: int | None = None,
    byte_range: Range = None,
) -> Response:
    """A label image in the colours of the development kits, its background transparent."""
    found = service.label_image(platform, actor, edition, image_set, name, run_id=run, truth_id=truth)
    return answer(request, found, "none", byte_range, "image/png")
