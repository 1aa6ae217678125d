"""HTML pages: the preview of a re-scoring, and what organisers do with it."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response

from app.core.access import Action, Actor
from app.evaluation import publishing
from app.evaluation.publishing import Publishing
from app.organising import previews
from app.platform import Platform
from app.web.dependencies import CurrentActor, ThePlatform, render, requires
from app.web.forms import Form, TheForm
from app.web.route_marks import marked

router = APIRouter(prefix="/organise/rescores", dependencies=[requires(Action.ORGANISE)])

BoardNumber = Annotated[int | None, Query(ge=1, le=12, description="the board; by default the first")]
PageNumber = Annotated[int, Query(ge=1, le=10_000, description="of the methods of the board, by new rank")]
OnlyMoved = Annotated[bool, Query(description="leave out methods that keep their rank")]


@router.get("/{rescore_id}")
def preview(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    rescore_id: int,
    *,
    competition: BoardNumber = None,
    page: PageNumber = 1,
    moved: OnlyMoved = False,
) -> Response:
    """Show how far a re-scoring is, and what publishing it changes."""
    view = previews.preview(platform, actor, rescore_id, competition, only_moved=moved, page=page)
    response = render(request, "organisers/preview.html", view=view, form=Form(), following=None)
    if "HX-Request" in request.headers and not (
        view.rescore and view.rescore.goes_on
    ):  # all of the page changes
        response.headers["HX-Refresh"] = "true"
    return response


@router.post("/{rescore_id}/publish")
@marked(done="Published. The boards show the new scores once nothing waits to be scored.")
def publish(
    request: Request, platform: ThePlatform, actor: CurrentActor, rescore_id: int, form: TheForm
) -> Response:
    """Publish the new scores: all boards of the phase switch."""
    with form.showing_errors():
        publishing.publish(platform, actor, rescore_id, form.read(Publishing))
        return _to(rescore_id)
    return _again(request, platform, actor, rescore_id, form)


def _again(request: Request, platform: Platform, actor: Actor, rescore_id: int, form: Form) -> Response:
    view = previews.preview(platform, actor, rescore_id)
    return render(request, "organisers/preview.html", view=view, form=form, following=None)


@router.post("/{rescore_id}/pause")
@marked(done="Scoring again is paused.")
def pause(platform: ThePlatform, actor: CurrentActor, rescore_id: int) -> Response:
    """Pause a re-scoring; runs that were started are finished."""
    publishing.pause(platform, actor, rescore_id)
    return _to(rescore_id)


@router.post("/{rescore_id}/resume")
@marked(done="Scoring again goes on.")
def resume(platform: ThePlatform, actor: CurrentActor, rescore_id: int) -> Response:
    """Let a paused re-scoring go on."""
    publishing.resume(platform, actor, rescore_id)
    return _to(rescore_id)


def _to(rescore_id: int) -> Response:
    return RedirectResponse(f"/organise/rescores/{rescore_id}", status_code=303)
