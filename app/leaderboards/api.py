"""Leaderboards for programs."""

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import TypeAdapter

from app.access import Action
from app.cache import conditional_response
from app.leaderboards import service
from app.leaderboards.pages import Direction, Sort
from app.leaderboards.rules import BoardAddress, Form, Order
from app.leaderboards.schemas import BoardView
from app.web import CurrentActor, ThePlatform, requires

router = APIRouter(prefix="/api/v1", tags=["leaderboards"])


_json = TypeAdapter(BoardView)


@router.get(
    "/leaderboards/{edition}/{image_set}/{competition}",
    dependencies=[requires(Action.READ_PUBLIC)],
    response_model=BoardView,
)
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
    """A leaderboard of public methods: values in [0, 1], three decimals and full minutes on a held-out phase.

    Organisers get every digit, and private methods, too. Send the ETag of an earlier response as If-None-Match, and what has
    not changed is answered by 304.
    """
    address, chosen = BoardAddress(edition, image_set, competition), Order(sort, order == "desc")
    board = service.rendered_board(platform, actor, address, chosen, Form.JSON, _json.dump_json)
    return conditional_response(request, board, "application/json", is_private=actor.is_logged_in)
