"""JSON API: notifications, which of them are mailed, and mail that could not be sent."""

from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from app.core.access import Action
from app.core.audit import LARGEST_ID
from app.core.paging import Before
from app.notifications import choosing, mailing, reading
from app.notifications.choosing import KindChoice, NewChoices
from app.notifications.mailing import FailedMail
from app.notifications.reading import NotificationPage
from app.web.dependencies import CurrentActor, ThePlatform, requires

router = APIRouter(prefix="/api/v1", tags=["notifications"])

READ, MANAGE = requires(Action.READ_OWN), requires(Action.MANAGE_NOTIFICATIONS)
PEOPLE = requires(Action.MANAGE_PEOPLE)


class ReadUntil(BaseModel):
    """Up to which notification to mark them as read."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    until: Annotated[int | None, Field(ge=1, le=LARGEST_ID, description="null: all")] = None


@router.get("/notifications", dependencies=[READ])
def notifications(
    platform: ThePlatform,
    actor: CurrentActor,
    before: Before = None,
    unread: Annotated[bool, Query(description="only those that are not read yet")] = False,  # noqa: FBT002
) -> NotificationPage:
    """List your notifications, newest first, 50 per page; `unread` counts all that are not read, up to 100."""
    return reading.notifications(platform, actor, only_unread=unread, before=before)


@router.post("/notifications/read", status_code=204, dependencies=[MANAGE])
def mark_all_read(platform: ThePlatform, actor: CurrentActor, which: ReadUntil = ReadUntil()) -> None:  # noqa: B008
    """Mark all your notifications as read, or those up to one of them."""
    reading.mark_all_read(platform, actor, which.until)


@router.post("/notifications/{notification_id}/read", status_code=204, dependencies=[MANAGE])
def mark_read(platform: ThePlatform, actor: CurrentActor, notification_id: int) -> None:
    """Mark one of your notifications as read; nothing happens if it is not yours."""
    reading.mark_read(platform, actor, notification_id)


@router.get("/account/notifications", dependencies=[READ])
def choices(platform: ThePlatform, actor: CurrentActor) -> tuple[KindChoice, ...]:
    """List the kinds of events that you are told of, and whether they are mailed."""
    return choosing.choices(platform, actor)


@router.put("/account/notifications", status_code=204, dependencies=[MANAGE])
def choose(platform: ThePlatform, actor: CurrentActor, new: NewChoices) -> None:
    """Set which kinds of events are mailed to you; the others stay as they are."""
    choosing.choose(platform, actor, new)


@router.get("/admin/mail", dependencies=[PEOPLE])
def failed_mail(platform: ThePlatform, response: Response, before: Before = None) -> tuple[FailedMail, ...]:
    """List mail that was given up, latest first, 100 per page; the `Link` header has the next page."""
    page = mailing.failed_mails(platform, before)
    if page.next:
        response.headers["Link"] = f'</api/v1/admin/mail?before={page.next}>; rel="next"'
    return page.rows


@router.post("/admin/mail/{mail_id}/resend", status_code=204, dependencies=[PEOPLE])
def resend(platform: ThePlatform, mail_id: int) -> None:
    """Send a mail again that was given up, to the address that the person has now."""
    mailing.resend(platform, mail_id)
