"""HTML pages: storage use."""

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from app.core.access import Action
from app.operations.administration_index import by_disk
from app.operations.metrics import disks
from app.operations.storage import check_soon
from app.operations.storage import storage as stored
from app.web.dependencies import ThePlatform, render, requires

router = APIRouter(prefix="/admin", dependencies=[requires(Action.READ_STORAGE)])


@router.get("/storage")
def storage(request: Request, platform: ThePlatform) -> Response:
    """Show free space, archives by kind with their next removal, damaged files, and what the last sweep removed."""
    return render(request, "retention/storage.html", storage=stored(platform), disks=by_disk(disks(platform)))


@router.post("/storage/check", dependencies=[requires(Action.MANAGE_JOBS)])
def check(platform: ThePlatform) -> Response:
    """Have workers check at once which damaged files are repaired."""
    check_soon(platform)
    return RedirectResponse("/admin/storage#damaged", 303)
