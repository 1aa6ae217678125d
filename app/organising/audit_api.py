"""JSON API: audit log."""

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response, StreamingResponse

from app.core.access import Action
from app.core.names import attachment
from app.core.rate_limits import Limited
from app.organising import audit as organising_audit
from app.organising.audit import AuditPage, AuditQuery
from app.web.dependencies import CurrentActor, ThePlatform, limited, requires

READ = requires(Action.READ_AUDIT)

router = APIRouter(prefix="/api/v1", tags=["organisers"])


@router.get("/audit", dependencies=[READ])
def audit(platform: ThePlatform, actor: CurrentActor, search: Annotated[AuditQuery, Query()]) -> AuditPage:
    """List audit records, newest first, 50 per page. Admins see all; others see those of challenges they organise or view."""
    return organising_audit.page(platform, actor, search)


@router.get(
    "/organise/challenges/{challenge}/audit.csv",
    response_class=Response,
    responses={200: {"content": {"text/csv": {}}}},
    dependencies=[READ, limited(Limited.VIEW)],
)
def csv(
    platform: ThePlatform, actor: CurrentActor, challenge: str, search: Annotated[AuditQuery, Query()]
) -> Response:
    """Download what was done in a challenge as CSV, newest first."""
    wanted = search.model_copy(update={"challenge": challenge})
    lines = organising_audit.csv_lines(platform, actor, wanted)
    headers = {"Content-Disposition": attachment(f"{challenge}-audit.csv")}
    return StreamingResponse(lines, headers=headers, media_type="text/csv")
