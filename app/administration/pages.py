"""What admins can do in the browser."""

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from app.access import Action
from app.administration import service
from app.delivery import service as delivery
from app.web import CurrentActor, ThePlatform, render, requires

router = APIRouter(prefix="/admin")

JOBS = requires(Action.MANAGE_JOBS)


@router.get("", dependencies=[JOBS])
def overview(request: Request, platform: ThePlatform) -> Response:
    """Where admins begin: jobs that failed, and the way to everything else."""
    return render(request, "administration/overview.html", dead=service.dead_messages(platform))


@router.post("/messages/{message_id}/retry", dependencies=[JOBS])
def retry_message(platform: ThePlatform, message_id: int) -> Response:
    """Deliver a message again that was given up."""
    delivery.retry(platform, message_id)
    return RedirectResponse("/admin", status_code=303)


@router.post("/messages/{message_id}/discard", dependencies=[JOBS])
def discard_message(platform: ThePlatform, actor: CurrentActor, message_id: int) -> Response:
    """Delete a message that was given up."""
    delivery.discard(platform, actor, message_id)
    return RedirectResponse("/admin", status_code=303)
