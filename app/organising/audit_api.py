"""JSON API: audit log."""

from typing import Annotated

from fastapi import APIRouter, Query

from app.core.access import Action
from app.core.audit import RecordPage, Search
from app.organising import audit_pages
from app.web.dependencies import CurrentActor, ThePlatform, requires

router = APIRouter(prefix="/api/v1", tags=["organisers"])


@router.get("/audit", dependencies=[requires(Action.READ_AUDIT)])
def audit(platform: ThePlatform, actor: CurrentActor, search: Annotated[Search, Query()]) -> RecordPage:
    """List audit records, newest first, 50 per page. Admins see all; organisers see those of their challenges."""
    return audit_pages.read_page(platform, actor, search)
