"""What the storage holds, for organisers' programs."""

from fastapi import APIRouter

from app.access import Action
from app.retention import service
from app.retention.schemas import StorageView
from app.web import ThePlatform, requires

router = APIRouter(prefix="/api/v1/organise", tags=["organisers"], dependencies=[requires(Action.ORGANISE)])


@router.get("/storage")
def storage(platform: ThePlatform) -> StorageView:
    """Archives by kind, with their bytes and the next removal of each."""
    return service.storage(platform)
