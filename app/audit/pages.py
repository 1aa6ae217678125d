"""The audit in the browser."""

from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from app.access import Action
from app.audit import service
from app.audit.schemas import Search
from app.web import CurrentActor, ThePlatform, render, requires

router = APIRouter()


@router.get("/audit", dependencies=[requires(Action.READ_AUDIT)])
def audit(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    search: Annotated[Search, Query()],
) -> Response:
    """Who did what, newest first."""
    page = service.page(platform, actor, search)
    words = search.model_dump(exclude={"before"}, exclude_none=True, exclude_defaults=True)
    older = f"/audit?{urlencode({**words, 'before': page.next})}" if page.next else None
    return render(request, "audit/audit.html", page=page, form=words, older=older)
