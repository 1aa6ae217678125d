"""JSON API: the state of the service, and its notices."""

from collections.abc import Sequence

from fastapi import APIRouter, Request, Response

from app.core.access import Action
from app.operations import notices
from app.operations.notices import NewNotice, NoticeView
from app.operations.status import ServiceWatch, Status
from app.web.dependencies import CurrentActor, ThePlatform, requires

router = APIRouter(prefix="/api/v1")
MANAGE = requires(Action.MANAGE_SITE)


@router.get("/status", tags=["operation"], dependencies=[requires(Action.READ_PUBLIC)])
async def status(request: Request, response: Response) -> Status:
    """Get whether uploads and scoring work, the queue, notices, and recent outages; 503 if nothing is known."""
    watch: ServiceWatch = request.app.state.watch
    found: Status = await watch.current()
    response.status_code = 200 if found.is_known else 503
    response.headers["Cache-Control"] = "no-cache"
    return found


@router.get("/admin/notices", tags=["admins"], dependencies=[MANAGE])
def list_notices(platform: ThePlatform) -> Sequence[NoticeView]:
    """List the latest notices, also those that are over."""
    return notices.all_notices(platform)


@router.post("/admin/notices", status_code=201, tags=["admins"], dependencies=[MANAGE])
def publish(platform: ThePlatform, actor: CurrentActor, new: NewNotice) -> dict[str, int]:
    """Publish or schedule a notice on the status page; the response has its id."""
    return {"id": notices.publish(platform, actor, new)}


@router.post("/admin/notices/{notice_id}/end", status_code=204, tags=["admins"], dependencies=[MANAGE])
def end(platform: ThePlatform, actor: CurrentActor, notice_id: int) -> None:
    """End a notice, or cancel one that has not started."""
    notices.end(platform, actor, notice_id)
