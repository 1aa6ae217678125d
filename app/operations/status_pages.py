"""HTML pages: the state of the service for everybody, and the notices that admins write."""

from collections.abc import Mapping
from typing import Any, Final

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import ValidationError

from app.core.access import Action
from app.core.errors import FieldsError
from app.operations import notices
from app.operations.notices import NewNotice
from app.operations.status import ServiceWatch, Status, state_of
from app.platform import Platform
from app.web.dependencies import CurrentActor, ThePlatform, render, requires
from app.web.forms import SentForm, field_errors, values_of
from app.web.zones import moments_of, zone_field

router = APIRouter()
MANAGE: Final = requires(Action.MANAGE_SITE)
DATES: Final = ("starts_at", "ends_at")
EMPTY: Final[Mapping[str, str]] = dict.fromkeys(("title", "text", *DATES), "")


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
    return _page(request, platform, EMPTY)


@router.post("/admin/notices", dependencies=[MANAGE])
def publish(request: Request, platform: ThePlatform, actor: CurrentActor, sent: SentForm) -> Response:
    """Publish or schedule a notice, or show a preview of it."""
    form = values_of(sent, NewNotice) | {zone_field(name): sent.get(zone_field(name), "") for name in DATES}
    moments, problems = moments_of(form, DATES)
    try:
        new = NewNotice.model_validate({name: form[name] for name in EMPTY} | moments)
        if sent.get("preview"):
            return _page(request, platform, form, preview=new, problems=problems)
        if not problems:
            notices.publish(platform, actor, new)
    except ValidationError as error:
        problems = {**field_errors(error), **problems}
    except FieldsError as error:
        problems |= error.by_field
    if problems:
        return _page(request, platform, form, problems=problems)
    return RedirectResponse("/admin/notices", status_code=303)


def _page(
    request: Request,
    platform: Platform,
    form: Mapping[str, Any],
    *,
    problems: Mapping[str, str] | None = None,
    preview: NewNotice | None = None,
) -> Response:
    return render(
        request,
        "status/notices.html",
        code=422 if problems else 200,
        notices=notices.all_notices(platform),
        form=form,
        problems=problems or {},
        preview=preview,
    )


@router.post("/admin/notices/{notice_id}/end", dependencies=[MANAGE])
def end(platform: ThePlatform, actor: CurrentActor, notice_id: int) -> Response:
    """End a notice, or cancel one that has not started."""
    notices.end(platform, actor, notice_id)
    return RedirectResponse("/admin/notices", status_code=303)
