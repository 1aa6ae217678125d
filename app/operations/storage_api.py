"""JSON API: storage use."""

from fastapi import APIRouter

from app.core.access import Action
from app.operations.storage import StorageView, check_soon
from app.operations.storage import storage as stored
from app.web.dependencies import ThePlatform, requires

router = APIRouter(prefix="/api/v1/admin", tags=["admins"], dependencies=[requires(Action.READ_STORAGE)])


@router.get("/storage")
def storage(platform: ThePlatform) -> StorageView:
    """Get the archives by kind with their next removal, damaged files, and what the last sweep removed."""
    return stored(platform)


@router.post("/storage/check", status_code=202, dependencies=[requires(Action.MANAGE_JOBS)])
def check(platform: ThePlatform) -> StorageView:
    """Have workers check at once which damaged files are repaired, and go on with what waits for them."""
    check_soon(platform)
    return stored(platform)
