"""The leaderboard page."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from app.access import Action
from app.leaderboards import service
from app.leaderboards.rules import Order
from app.web import CurrentActor, ThePlatform, render, requires

router = APIRouter(dependencies=[requires(Action.READ_PUBLIC)])

Sort = Annotated[str, Query(max_length=100, description="mean, method, date or a class")]
Direction = Annotated[Literal["asc", "desc"], Query(description="smallest or largest first")]


@router.get("/leaderboards/{edition}/{image_set}/{competition}")
def board(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    edition: str,
    image_set: str,
    competition: int,
    sort: Sort = "mean",
    order: Direction = "desc",
) -> Response:
    """A leaderboard in the order that its address asks for."""
    wanted = Order(sort, order == "desc")
    view = service.board_page(platform, actor, edition, image_set, competition, wanted)
    return render(request, "leaderboards/board.html", board=view)
