"""HTML pages: the state of the service for everybody, and the notices that admins write."""

from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from app.core.access import Action
from app.operations import notices
from app.operations.notices import NewNotice
from app.operations.status import ServiceWatch, Status, state_of
from app.platform import Platform
from app.web.dependencies import CurrentActor, ThePlatform, render, requires
from app.web.forms import Form, TheForm
from app.web.route_marks import marked

router = APIRouter()
MANAGE: Final = requires(Action.MANAGE_SITE)


@router.get("/status", dependencies=[requires(Action.READ_PUBLIC)])
async def status(request: Request, platform: ThePlatform, actor: CurrentActor) -> Response:
    """Show whether uploads and scoring work, notices, and recent outages. Needs neither database nor storage."""
    watch: ServiceWatch = request.app.state.watch
    found: Status = await watch.current()
    response = render(
        request,
        "status/status.html",
        code=200 if found.is_known else 503,
        site=platform.last_site[0],  # as read last, for the database may be away
        status=found,
        line=state_of(found),
    )
    if not actor.is_logged_in:  # the page of a person stays in no cache
        response.headers["Cache-Control"] = "no-cache"
    return response


@router.get("/admin/notices", dependencies=[MANAGE])
def list_notices(request: Request, platform: ThePlatform) -> Response:
    """List notices, with a form for a new one."""
    return _page(request, platform, Form())


@router.post("/admin/notices", dependencies=[MANAGE])
@marked(done="The notice is published.")
def publish(request: Request, platform: ThePlatform, actor: CurrentActor, form: TheForm) -> Response:
    """Publish or schedule a notice, or show a preview of it."""
    with form.showing_errors():
        new = form.read(NewNotice)
        if form.text("preview"):
            return _page(request, platform, form, preview=new)
        notices.publish(platform, actor, new)
        return RedirectResponse("/admin/notices", status_code=303)
    return _page(request, platform, form)


def _page(request: Request, platform: Platform, form: Form, *, preview: NewNotice | None = None) -> Response:
    rows = notices.all_notices(platform)
    return render(request, "status/notices.html", notices=rows, form=form, preview=preview)


@router.post("/admin/notices/{notice_id}/end", dependencies=[MANAGE])
@marked(done="The notice is ended.")
def end(platform: ThePlatform, actor: CurrentActor, notice_id: int) -> Response:
    """End a notice, or cancel one that has not started."""
    notices.end(platform, actor, notice_id)
    return RedirectResponse("/admin/notices", status_code=303)
