"""Leaderboards for programs."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from app.access import Action
from app.cache import conditional_response
from app.leaderboards import service
from app.leaderboards.pages import json_of
from app.leaderboards.rules import BoardAddress, Form
from app.leaderboards.schemas import BoardView
from app.selections.schemas import BoardParameters
from app.web import CurrentActor, ThePlatform, requires, who_is_counted

router = APIRouter(prefix="/api/v1", tags=["leaderboards"])


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
    asked: Annotated[BoardParameters, Query()],
) -> Response:
    """A leaderboard of public methods: values in [0, 1], three decimals and full minutes on a held-out phase.

    Organisers get every digit, and private methods, too. Ranks are those of the whole board whatever is filtered out. Send the ETag
    of an earlier response as If-None-Match, and what has not changed is answered by 304.
    """
    address = BoardAddress(edition, image_set, competition)
    document = service.Document(Form.JSON, json_of)
    board = service.rendered_board(platform, actor, address, asked.query(), document, who_is_counted(request))
    return conditional_response(request, board, "application/json", is_private=actor.is_logged_in)
