"""HTML pages: notifications, which of them are mailed, and mail that could not be sent."""

from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import RedirectResponse, Response

from app.core.access import Action
from app.core.paging import Before
from app.jobs.mail import mail_location
from app.models import EventKind
from app.notifications import choosing, mailing, reading
from app.notifications.choosing import NewChoices
from app.notifications.kinds import kinds_for
from app.web.dependencies import CurrentActor, ThePlatform, render, requires

router = APIRouter()

READ, MANAGE = requires(Action.READ_OWN), requires(Action.MANAGE_NOTIFICATIONS)
ANYBODY, PEOPLE = requires(Action.READ_PUBLIC), requires(Action.MANAGE_PEOPLE)

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
        only_unread=only_unread,
        older=older,
        is_first=before is None,
    )


@router.post("/notifications/read", dependencies=[MANAGE])
def mark_all_read(
    platform: ThePlatform, actor: CurrentActor, until: Annotated[int | None, Form()] = None
) -> Response:
    """Mark all notifications as read, up to the newest on the page."""
    reading.mark_all_read(platform, actor, until)
    return RedirectResponse("/notifications", status_code=303)


@router.post("/notifications/{notification_id}/read", dependencies=[MANAGE])
def mark_read(
    platform: ThePlatform, actor: CurrentActor, notification_id: int, page: Annotated[str, Form()] = ""
) -> Response:
    """Mark one notification as read, and return to the page with this query."""
    reading.mark_read(platform, actor, notification_id)
    return RedirectResponse(f"/notifications?{page}" if page else "/notifications", status_code=303)


@router.get("/account/notifications", dependencies=[requires(Action.MANAGE_ACCOUNT)])
def choices(request: Request, platform: ThePlatform, actor: CurrentActor) -> Response:
    """Show which kinds of events are mailed to the reader."""
    return render(
        request,
        "notifications/choices.html",
        choices=choosing.choices(platform, actor),
        place=mail_location(platform.settings),
    )


@router.post("/account/notifications", dependencies=[requires(Action.MANAGE_ACCOUNT)])
def choose(
    platform: ThePlatform, actor: CurrentActor, kind: Annotated[tuple[EventKind, ...], Form()] = ()
) -> Response:
    """Mail these kinds of events, and no others."""
    new = NewChoices(by_mail={each: each in kind for each in kinds_for(actor)})
    choosing.choose(platform, actor, new)
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
def resend_all(platform: ThePlatform) -> Response:
    """Send everything again that was given up."""
    mailing.resend(platform)
    return RedirectResponse("/admin/mail", status_code=303)


@router.post("/admin/mail/{mail_id}/resend", dependencies=[PEOPLE])
def resend(platform: ThePlatform, mail_id: int) -> Response:
    """Send a mail again that was given up."""
    mailing.resend(platform, mail_id)
    return RedirectResponse("/admin/mail", status_code=303)
