"""HTML pages: audit log."""

from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from app.core import audit as core_audit
from app.core.access import Action, Actor
from app.core.audit import RecordPage, Search
from app.platform import Platform
from app.web.dependencies import CurrentActor, ThePlatform, render, requires

PAGE = 50  # records


def read_page(platform: Platform, actor: Actor, search: Search) -> RecordPage:
    """Return a page of the audit records that the actor may read, newest first."""
    with platform.transaction() as session:
        found = core_audit.records(session, actor, search, PAGE + 1)
    return RecordPage(tuple(found[:PAGE]), found[PAGE - 1].id if len(found) > PAGE else None)


router = APIRouter()


@router.get("/audit", dependencies=[requires(Action.READ_AUDIT)])
def audit(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    search: Annotated[Search, Query()],
) -> Response:
    """List audit records, newest first."""
    page = read_page(platform, actor, search)
    words = search.model_dump(exclude={"before"}, exclude_none=True, exclude_defaults=True)
    older = f"/audit?{urlencode({**words, 'before': page.next})}" if page.next else None
    return render(request, "audit/audit.html", page=page, form=words, older=older)
