"""Tables of events and of the people who are notified of them."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from app.models.challenges import Challenge, Phase
from app.models.people import User
from app.models.table import Base, EventKind, key_column, now_column
from app.models.teams import Team


class Event(Base):
    """Something that people should know; recorded in the transaction of what happened."""

    __tablename__ = "event"
    __table_args__ = (
        Index("ix_event_waiting", "id", postgresql_where=text("dispatched_at IS NULL")),
        Index("ix_event_challenge", "challenge_id", "id"),
    )
    id: Mapped[int] = key_column()
    kind: Mapped[EventKind]
    at: Mapped[datetime] = now_column()
    challenge_id: Mapped[int | None] = mapped_column(ForeignKey(Challenge.id, ondelete="CASCADE"))
    phase_id: Mapped[int | None] = mapped_column(ForeignKey(Phase.id, ondelete="CASCADE"))
    team_id: Mapped[int | None] = mapped_column(ForeignKey(Team.id, ondelete="CASCADE"), index=True)
    # the only person it is for; None: everybody whom `notifications/kinds.py` names
    user_id: Mapped[int | None] = mapped_column(ForeignKey(User.id, ondelete="CASCADE"), index=True)
    # ids and words that its text needs, never a score: texts are rendered from what their reader may see at that time
    details: Mapped[dict[str, Any]] = mapped_column(default=dict)
    dispatched_at: Mapped[datetime | None]  # when everybody whom it concerns was notified


class Notification(Base):
    """An event in the list of a person."""

    __tablename__ = "notification"
    __table_args__ = (
        UniqueConstraint("event_id", "user_id"),
        Index("ix_notification_list", "user_id", "id"),
        Index("ix_notification_unread", "user_id", "id", postgresql_where=text("read_at IS NULL")),
    )
    id: Mapped[int] = key_column()
    event_id: Mapped[int] = mapped_column(ForeignKey(Event.id, ondelete="CASCADE"))
    user_id: Mapped[int] = mapped_column(ForeignKey(User.id, ondelete="CASCADE"))
    created_at: Mapped[datetime] = now_column()
    read_at: Mapped[datetime | None]
