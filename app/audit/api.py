"""The audit for programs."""

from typing import Annotated

from fastapi import APIRouter, Query

from app.access import Action
from app.audit import service
from app.audit.schemas import RecordPage, Search
from app.web import CurrentActor, ThePlatform, requires

router = APIRouter(prefix="/api/v1", tags=["organisers"])


@router.get("/audit", dependencies=[requires(Action.READ_AUDIT)])
def audit(platform: ThePlatform, actor: CurrentActor, search: Annotated[Search, Query()]) -> RecordPage:
    """Who did what, newest first, fifty a page: admins read everything, organisers what was done in their editions."""
    return service.page(platform, actor, search)
