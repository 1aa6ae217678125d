"""JSON API: leaderboards."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from app.boards import boards
from app.boards.pages import json_of
from app.boards.rows import BoardFormat, BoardKey, BoardView
from app.boards.selections import BoardParameters
from app.core.access import Action
from app.core.caching import conditional_response
from app.web.dependencies import CurrentActor, ThePlatform, rate_limit_key, requires

router = APIRouter(prefix="/api/v1", tags=["leaderboards"])


@router.get(
    "/leaderboards/{challenge}/{image_set}/{competition}",
    dependencies=[requires(Action.READ_PUBLIC)],
    response_model=BoardView,
)
def board(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    image_set: str,
    competition: int,
    asked: Annotated[BoardParameters, Query()],
) -> Response:
    """Return a leaderboard of public methods.

    Values are in [0, 1]. On a held-out phase they have three decimals, and times are rounded to the minute. Organisers get all
    digits and also see private methods. Ranks always refer to the whole board, whatever is filtered out. Send the ETag of an
    earlier response as If-None-Match to get a 304 if nothing has changed.
    """
    address = BoardKey(challenge, image_set, competition)
    document = boards.Document(BoardFormat.JSON, json_of)
    board = boards.rendered_board(platform, actor, address, asked.query(), document, rate_limit_key(request))
    return conditional_response(request, board, "application/json", is_private=actor.is_logged_in)
