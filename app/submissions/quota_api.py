"""JSON API: quotas."""

from fastapi import APIRouter, Response

from app.core.access import Action
from app.submissions import quotas
from app.submissions.quotas import QuotaLine
from app.web.dependencies import CurrentActor, ThePlatform, requires

router = APIRouter(
    prefix="/api/v1/challenges", tags=["submissions"], dependencies=[requires(Action.READ_OWN)]
)


@router.get("/{challenge}/{image_set}/quota")
def quota(
    platform: ThePlatform, actor: CurrentActor, response: Response, challenge: str, image_set: str
) -> tuple[QuotaLine, ...]:
    """How many results of each task you and your team may submit now, and when more. The `RateLimit-…` headers say the same."""
    lines, fields = quotas.quota_headers(platform, actor, challenge, image_set)
    response.headers.update({**fields, "Cache-Control": "no-store"})
    return lines
