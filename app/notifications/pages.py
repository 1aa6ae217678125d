"""HTML pages: notifications, which of them are mailed, and mail that could not be sent."""

from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import Field

from app.core.access import Action
from app.core.audit import LARGEST_ID
from app.core.paging import Before
from app.jobs.mail import mail_location
from app.models import EventKind
from app.notifications import choosing, mailing, reading
from app.notifications.kinds import BY_MAIL
from app.web.dependencies import CurrentActor, ThePlatform, render, requires
from app.web.route_marks import marked

router = APIRouter()

READ, MANAGE = requires(Action.READ_OWN), requires(Action.MANAGE_NOTIFICATIONS)
ANYBODY, PEOPLE = requires(Action.READ_PUBLIC), requires(Action.MANAGE_PEOPLE)

Id = Annotated[int, Field(ge=1, le=LARGEST_ID)]
OnlyUnread = Annotated[bool, Query(alias="unread", description="only those that are not read yet")]


@router.get("/notifications", dependencies=[READ])
def notifications(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    before: Before = None,
    only_unread: OnlyUnread = False,  # noqa: FBT002 - a query parameter
) -> Response:
    """List the reader's notifications, newest first."""
    page = reading.notifications(platform, actor, only_unread=only_unread, before=before)
    words = ({"unread": "true"} if only_unread else {}) | {"before": page.next}
    older = f"/notifications?{urlencode(words)}" if page.next else None
    return render(
        request,
        "notifications/notifications.html",
        page=page,
        groups=reading.grouped(page.notifications),
        only_unread=only_unread,
        older=older,
        is_first=before is None,
    )


@router.post("/notifications/read", dependencies=[MANAGE])
@marked(done="Notifications are marked as read.")
def mark_all_read(
    platform: ThePlatform, actor: CurrentActor, until: Annotated[int | None, Form()] = None
) -> Response:
    """Mark all notifications as read, up to the newest on the page."""
    reading.mark_all_read(platform, actor, until)
    return RedirectResponse("/notifications", status_code=303)


@router.post("/notifications/{notification_id}/read", dependencies=[MANAGE])
def mark_read(
    platform: ThePlatform,
    actor: CurrentActor,
    notification_id: Id,
    page: Annotated[str, Form()] = "",
    also: Annotated[tuple[Id, ...], Form(max_length=reading.PAGE)] = (),
) -> Response:
    """Mark a notification as read, and others of its group; return to the page with this query."""
    reading.mark_read(platform, actor, notification_id, *also)
    return RedirectResponse(f"/notifications?{page}" if page else "/notifications", status_code=303)


@router.get("/account/notifications", dependencies=[requires(Action.MANAGE_ACCOUNT)])
def choices(request: Request, platform: ThePlatform, actor: CurrentActor) -> Response:
    """Show which kinds of events are mailed to the reader."""
    return render(
        request,
        "notifications/choices.html",
        groups=choosing.grouped(choosing.choices(platform, actor)),
        usual=BY_MAIL,
        place=mail_location(platform.settings),
    )


@router.post("/account/notifications", dependencies=[requires(Action.MANAGE_ACCOUNT)])
@marked(done="Your mail settings are saved.")
def choose(
    platform: ThePlatform,
    actor: CurrentActor,
    group: Annotated[tuple[str, ...], Form()] = (),
    kind: Annotated[tuple[EventKind, ...], Form()] = (),
) -> Response:
    """Mail what is ticked in the groups that are switched on, and nothing else."""
    groups = choosing.grouped(choosing.choices(platform, actor))
    choosing.choose(platform, actor, choosing.chosen_by_groups(groups, group, kind))
    return RedirectResponse("/account/notifications", status_code=303)


@router.get("/unsubscribe/{token}", dependencies=[ANYBODY])
def offer(request: Request, platform: ThePlatform, token: str) -> Response:
    """Ask before ending the mail of a kind, because programs open the links in mail, too."""
    found = choosing.offered(platform, token)
    return render(request, "notifications/unsubscribe.html", found=found, token=token, is_done=False)


@router.post("/unsubscribe/{token}", dependencies=[ANYBODY])
def unsubscribe(request: Request, platform: ThePlatform, token: str) -> Response:
    """End the mail of a kind, for people and for mail programs (RFC 8058)."""
    found = choosing.unsubscribe(platform, token)
    return render(request, "notifications/unsubscribe.html", found=found, token=token, is_done=True)


@router.get("/admin/mail", dependencies=[PEOPLE])
def failed_mail(request: Request, platform: ThePlatform, before: Before = None) -> Response:
    """List mail about events that was given up, by address."""
    page = mailing.failed_mails(platform, before)
    older = f"/admin/mail?before={page.next}" if page.next else None
    trouble = mailing.current_trouble(platform)
    return render(request, "notifications/failed_mail.html", mails=page.rows, older=older, trouble=trouble)


@router.post("/admin/mail/resend", dependencies=[PEOPLE])
@marked(done="All of it will be sent again.")
def resend_all(platform: ThePlatform) -> Response:
    """Send everything again that was given up."""
    mailing.resend(platform)
    return RedirectResponse("/admin/mail", status_code=303)


@router.post("/admin/mail/{mail_id}/resend", dependencies=[PEOPLE])
@marked(done="The mail will be sent again.")
def resend(platform: ThePlatform, mail_id: int) -> Response:
    """Send a mail again that was given up."""
    mailing.resend(platform, mail_id)
    return RedirectResponse("/admin/mail", status_code=303)
