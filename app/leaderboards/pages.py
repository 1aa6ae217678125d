"""The leaderboard page."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from app.access import Action, Actor
from app.cache import Splice, conditional_response
from app.leaderboards import service
from app.leaderboards.rules import BoardAddress, Form, Order
from app.leaderboards.schemas import BoardView
from app.web import CurrentActor, ThePlatform, draw, requires

router = APIRouter()

MARKER = "<!-- account -->"  # in templates/leaderboards/board.html
PATH = "/leaderboards"  # as far as the header asks for it

Sort = Annotated[str, Query(max_length=100, description="mean, method, date or a class")]
Direction = Annotated[Literal["asc", "desc"], Query(description="smallest or largest first")]


@router.get("/leaderboards/{edition}/{image_set}/{competition}", dependencies=[requires(Action.READ_PUBLIC)])
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
    """A leaderboard in the order that its address asks for; who is logged in is put into the page that all share."""
    address, chosen = BoardAddress(edition, image_set, competition), Order(sort, order == "desc")
    if not actor.is_logged_in:
        page = service.rendered_board(platform, actor, address, chosen, Form.ANONYMOUS_PAGE, anonymous_page)
        return conditional_response(request, page, "text/html", is_private=False)
    page = service.rendered_board(platform, actor, address, chosen, Form.PAGE, shared_page)
    splice = Splice(MARKER.encode(), account_of(actor).encode())
    return conditional_response(request, page, "text/html", is_private=True, splice=splice)


def shared_page(view: BoardView) -> bytes:
    """The page of a board with a marker where the account of its reader stands."""
    page = draw("leaderboards/board.html", board=view, path=PATH)
    return page.encode()


def anonymous_page(view: BoardView) -> bytes:
    """The page of a board for who is not logged in."""
    return shared_page(view).replace(MARKER.encode(), account_of(Actor()).encode(), 1)


def account_of(actor: Actor) -> str:
    """The links of the header that depend on who reads."""
    return draw("account.html", actor=actor, path=PATH)
