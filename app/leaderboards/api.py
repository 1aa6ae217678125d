"""Leaderboards for programs."""

from fastapi import APIRouter

from app.access import Action
from app.leaderboards import service
from app.leaderboards.pages import Direction, Sort
from app.leaderboards.rules import Order
from app.leaderboards.schemas import BoardView
from app.web import CurrentActor, ThePlatform, requires

router = APIRouter(
    prefix="/api/leaderboards", tags=["leaderboards"], dependencies=[requires(Action.READ_PUBLIC)]
)


@router.get("/{edition}/{image_set}/{competition}")
def board(
    platform: ThePlatform,
    actor: CurrentActor,
    edition: str,
    image_set: str,
    competition: int,
    sort: Sort = "mean",
    order: Direction = "desc",
) -> BoardView:
    """A leaderboard: values in [0, 1]; three decimals on a held-out phase, every digit for organisers."""
    return service.board_page(platform, actor, edition, image_set, competition, Order(sort, order == "desc"))
