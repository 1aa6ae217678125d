"""What the storage holds, for admins."""

from fastapi import APIRouter, Request
from fastapi.responses import Response

from app.access import Action
from app.retention import service
from app.web import ThePlatform, render, requires

router = APIRouter(prefix="/admin", dependencies=[requires(Action.READ_STORAGE)])


@router.get("/storage")
def storage(request: Request, platform: ThePlatform) -> Response:
    """Archives by kind with their next removal, and what is stored that nothing uses any more."""
    return render(request, "retention/storage.html", storage=service.storage(platform))
