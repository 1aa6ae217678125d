"""Tables of events, of the people who are notified of them, and of webhooks."""

import uuid
from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from app.models.challenges import Challenge, Phase
from app.models.people import User
from app.models.table import (
    Base,
    EventKind,
    key_column,
    now_column,
)
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
    challenge: Mapped[Challenge | None] = relationship(viewonly=True, lazy="raise")
    phase: Mapped[Phase | None] = relationship(viewonly=True, lazy="raise")
    team: Mapped[Team | None] = relationship(viewonly=True, lazy="raise")


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


class Webhook(Base):
    """An address that is told of the events of a team, or of a challenge."""

    __tablename__ = "webhook"
    __table_args__ = (
        CheckConstraint("num_nonnulls(team_id, challenge_id) = 1", name="one_owner"),
        CheckConstraint("failures >= 0", name="failures_not_negative"),
    )
    id: Mapped[int] = key_column()
    team_id: Mapped[int | None] = mapped_column(ForeignKey(Team.id, ondelete="CASCADE"), index=True)
    challenge_id: Mapped[int | None] = mapped_column(ForeignKey(Challenge.id, ondelete="CASCADE"), index=True)
    name: Mapped[str]
    url: Mapped[str]  # may contain a secret of the receiver, so pages show only its host
    secret: Mapped[str]  # with which deliveries are signed
    created_by: Mapped[int | None] = mapped_column(ForeignKey(User.id, ondelete="SET NULL"))
    created_at: Mapped[datetime] = now_column()
    is_queued: Mapped[bool] = mapped_column(
        default=False
    )  # whether it has a job, which sends one after the other
    failures: Mapped[int] = mapped_column(default=0)  # since the last success
    failing_since: Mapped[datetime | None]
    off_at: Mapped[datetime | None]  # when it was turned off
    off_reason: Mapped[str] = mapped_column(default="")


class WebhookDelivery(Base):
    """An event that is sent to a webhook, or a test. Its message is rendered when it is sent, and is not stored."""

    __tablename__ = "webhook_delivery"
    __table_args__ = (
        UniqueConstraint("webhook_id", "event_id"),
        Index("ix_webhook_delivery_list", "webhook_id", "id"),
        Index("ix_webhook_delivery_waiting", "webhook_id", "id", postgresql_where=text("ended_at IS NULL")),
    )
    id: Mapped[int] = key_column()
    public_id: Mapped[uuid.UUID] = mapped_column(unique=True, default=uuid.uuid4)  # the same for each attempt
    webhook_id: Mapped[int] = mapped_column(ForeignKey(Webhook.id, ondelete="CASCADE"))
    event_id: Mapped[int | None] = mapped_column(
        ForeignKey(Event.id, ondelete="CASCADE"), index=True
    )  # None: a test
    event_key: Mapped[uuid.UUID]  # the same for all webhooks that are told of the event
    created_at: Mapped[datetime] = now_column()
    attempts: Mapped[int] = mapped_column(default=0)
    tried_at: Mapped[datetime | None]
    status: Mapped[int | None]  # of the last answer; None: there was none
    seconds: Mapped[float | None]  # that the last attempt took
    problem: Mapped[str] = mapped_column(default="")  # of the last attempt; empty: it succeeded
    ended_at: Mapped[datetime | None]  # when it was delivered, or dropped
