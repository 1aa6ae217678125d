"""What the storage holds, for admins."""

from fastapi import APIRouter, Request
from fastapi.responses import Response

from app.core.access import Action
from app.operations.storage import storage as stored
from app.web.dependencies import ThePlatform, render, requires

router = APIRouter(prefix="/admin", dependencies=[requires(Action.READ_STORAGE)])


@router.get("/storage")
def storage(request: Request, platform: ThePlatform) -> Response:
    """Archives by kind with their next removal, what is damaged, and what the last sweep has removed."""
    return render(request, "retention/storage.html", storage=stored(platform))
