"""What the storage holds, for admins' programs."""

from fastapi import APIRouter

from app.access import Action
from app.retention import service
from app.retention.schemas import StorageView
from app.web import ThePlatform, requires

router = APIRouter(prefix="/api/v1/admin", tags=["admins"], dependencies=[requires(Action.READ_STORAGE)])


@router.get("/storage")
def storage(platform: ThePlatform) -> StorageView:
    """Archives by kind with their next removal, and what is stored that nothing uses any more."""
    return service.storage(platform)
