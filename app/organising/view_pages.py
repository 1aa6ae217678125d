"""HTML pages: beginning and ending viewing a challenge as somebody else."""

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response

from app.core.access import Action
from app.organising import viewing
from app.organising.viewing import NewView
from app.web.dependencies import SESSION_COOKIE, CurrentActor, ThePlatform, requires
from app.web.route_marks import marked

router = APIRouter(prefix="/organise")


@router.post("/challenges/{challenge}/view-as", dependencies=[requires(Action.VIEW_AS)])
def start(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    wanted: Annotated[NewView, Form()],
) -> Response:
    """See a challenge as a visitor or a new participant, for half an hour."""
    viewing.start(platform, actor, challenge, request.cookies.get(SESSION_COOKIE, ""), wanted)
    return RedirectResponse(viewing.page_of(challenge), status_code=303)


@router.post("/view-as/end", dependencies=[requires(Action.READ_PUBLIC)])
@marked(in_views=True)
def end(request: Request, platform: ThePlatform) -> Response:
    """End the view of this browser; whoever has none goes to their challenges."""
    view, organiser = request.state.view, request.state.organiser
    if view is None or organiser is None:
        return RedirectResponse("/organise", status_code=303)
    viewing.end(platform, view, organiser, request.cookies.get(SESSION_COOKIE, ""))
    return RedirectResponse(f"/organise/challenges/{quote(view.code)}", status_code=303)
