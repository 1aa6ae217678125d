"""Notices on the status page, which admins write, schedule and end."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import ColumnElement, func, or_, select
from sqlalchemy.orm import Session

from app.challenges import challenges
from app.challenges.texts import Lines
from app.core import audit
from app.core.access import Actor
from app.core.errors import FieldsError, NotFoundError
from app.core.names import Visible
from app.models import Notice
from app.platform import Platform
from app.web.forms import OrBlank
from app.web.zones import Moment

LONGEST: Final = 4000  # characters
LISTED: Final = 50  # notices, for admins
AHEAD: Final = timedelta(days=30)  # how long before they start notices are announced


class NewNotice(BaseModel):
    """The form of a notice."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True)

    title: Annotated[str, Field(min_length=3, max_length=120), Visible]
    text: Annotated[Lines, Field(max_length=LONGEST, description="Markdown")] = ""
    starts_at: Annotated[OrBlank[Moment], Field(description="with a time zone; null: now")] = None
    ends_at: Annotated[OrBlank[Moment], Field(description="null: until it is ended")] = None


@dataclass(frozen=True, slots=True)
class NoticeView:
    """A notice. text: Markdown."""

    id: int
    title: str
    text: str
    starts_at: datetime
    ends_at: datetime | None

    def state(self, now: datetime) -> str:
        """Whether it is scheduled, shown, or over."""
        if self.ends_at is not None and self.ends_at <= now:
            return "over"
        return "scheduled" if self.starts_at > now else "shown"


def current(session: Session) -> tuple[NoticeView, ...]:
    """Return the notices that everybody sees: those that are in force, then those that are scheduled, the next one first."""
    now = func.clock_timestamp()
    is_over_later = or_(Notice.ends_at.is_(None), Notice.ends_at > now)
    return _views(session, is_over_later, Notice.starts_at < now + AHEAD)[::-1]


def _views(session: Session, *which: ColumnElement[bool]) -> tuple[NoticeView, ...]:
    found = select(Notice).where(*which).order_by(Notice.starts_at.desc(), Notice.id.desc()).limit(LISTED)
    return tuple(
        NoticeView(row.id, row.title, row.text, row.starts_at, row.ends_at) for row in session.scalars(found)
    )


def all_notices(platform: Platform) -> Sequence[NoticeView]:
    """Return the latest notices, also those that are over."""
    with platform.transaction() as session:
        return _views(session)


def publish(platform: Platform, actor: Actor, new: NewNotice) -> int:
    """Publish or schedule a notice, and return its id. Raises MalformedError if it would end before it starts."""
    with platform.transaction() as session:
        starts_at = new.starts_at or challenges.now(session)
        if new.ends_at is not None and new.ends_at <= starts_at:
            raise FieldsError({"ends_at": "the notice would end before it starts"})
        row = Notice(
            title=new.title, text=new.text, starts_at=starts_at, ends_at=new.ends_at, created_by=actor.user_id
        )
        session.add(row)
        session.flush()
        audit.record(session, actor.user_id, "notice.publish", f"notice {row.id}", after={"title": new.title})
        return row.id


def end(platform: Platform, actor: Actor, notice_id: int) -> None:
    """End a notice now; one that has not started is never shown. Raises NotFoundError."""
    with platform.transaction() as session:
        row = session.get(Notice, notice_id, with_for_update=True)
        if row is None:
            raise NotFoundError(f"there is no notice {notice_id}")
        now = challenges.now(session)
        if row.ends_at is not None and row.ends_at <= now:
            return
        row.starts_at, row.ends_at = min(row.starts_at, now), now
        audit.record(session, actor.user_id, "notice.end", f"notice {notice_id}")
