"""What organisers can do in the browser."""

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from app.access import Action
from app.organisers import service
from app.rescoring import service as rescoring
from app.web import CurrentActor, ThePlatform, render, requires

router = APIRouter(prefix="/organise", dependencies=[requires(Action.ORGANISE)])


@router.get("")
def overview(request: Request, platform: ThePlatform) -> Response:
    """Every phase with its queue."""
    return render(request, "organisers/overview.html", phases=service.overview(platform))


@router.post("/phases/{phase_id}/rescore")
def rescore_phase(platform: ThePlatform, actor: CurrentActor, phase_id: int) -> Response:
    """Score everything on a phase's boards again."""
    rescoring.request(platform, phase_id, asked_by=actor.user_id)
    return RedirectResponse("/organise", status_code=303)


@router.post("/entries/{entry_id}/rescore")
def rescore_entry(platform: ThePlatform, actor: CurrentActor, entry_id: int) -> Response:
    """Score one entry again."""
    rescoring.request_entry(platform, entry_id, asked_by=actor.user_id)
    return RedirectResponse("/organise", status_code=303)


@router.post("/rescores/{rescore_id}/retry")
def retry(platform: ThePlatform, rescore_id: int) -> Response:
    """Try what failed in a re-scoring again."""
    rescoring.retry(platform, rescore_id)
    return RedirectResponse("/organise", status_code=303)


@router.post("/rescores/{rescore_id}/abandon")
def abandon(platform: ThePlatform, rescore_id: int) -> Response:
    """Drop a re-scoring; the boards stay as they are."""
    rescoring.abandon(platform, rescore_id)
    return RedirectResponse("/organise", status_code=303)
