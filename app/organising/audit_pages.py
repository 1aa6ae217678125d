"""HTML pages: the audit log, of all challenges or of one."""

from typing import Annotated
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from app.core.access import Action
from app.core.rate_limits import Limited
from app.organising import audit as organising_audit
from app.organising import audit_api
from app.organising.audit import SITE_TOPICS, TOPICS, AuditQuery
from app.web.dependencies import CurrentActor, ThePlatform, limited, render, requires

READ = requires(Action.READ_AUDIT)

router = APIRouter()


@router.get("/audit", dependencies=[READ])
def audit(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    search: Annotated[AuditQuery, Query()],
) -> Response:
    """List audit records, newest first."""
    return _page(request, platform, actor, search, "/audit")


@router.get("/organise/challenges/{challenge}/audit", dependencies=[READ])
def of_challenge(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    search: Annotated[AuditQuery, Query()],
) -> Response:
    """List what was done in a challenge, newest first."""
    here = f"/organise/challenges/{quote(challenge)}/audit"
    return _page(request, platform, actor, search.model_copy(update={"challenge": challenge}), here)


def _page(
    request: Request, platform: ThePlatform, actor: CurrentActor, search: AuditQuery, here: str
) -> Response:
    page = organising_audit.page(platform, actor, search)
    words = search.model_dump(
        mode="json", exclude={"before", "challenge"}, exclude_none=True, exclude_defaults=True
    )
    return render(
        request,
        "administration/audit.html" if actor.is_admin and not page.challenge else "audit/audit.html",
        page=page,
        form=words,
        here=here,
        older=f"{here}?{urlencode({**words, 'before': page.next})}" if page.next else None,
        words=urlencode(words),
        topics={**TOPICS, **SITE_TOPICS} if actor.is_admin and not page.challenge else TOPICS,
    )


router.add_api_route(
    "/organise/challenges/{challenge}/audit.csv",
    audit_api.csv,
    methods=["GET"],
    dependencies=[READ, limited(Limited.VIEW)],
)
