"""Tables of mail about events: what waits or was sent, who wants which kind, and what is recorded only once."""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from app.models.notifications import Notification
from app.models.people import User
from app.models.table import Base, EventKind, key_column, now_column


class EventKey(Base):
    """What makes an event one that is recorded only once, such as the opening of a phase at a certain time."""

    __tablename__ = "event_key"
    __table_args__ = (Index("ix_event_key_at", "at"),)
    name: Mapped[str] = mapped_column(primary_key=True)
    at: Mapped[datetime] = now_column()


class NotificationMail(Base):
    """One mail to a person about events of one kind; more events join it until its first attempt."""

    __tablename__ = "notification_mail"
    __table_args__ = (
        Index(
            "uq_notification_mail_open", "user_id", "kind", unique=True, postgresql_where=text("attempts = 0")
        ),
        Index("ix_notification_mail_person", "user_id", "kind", "sent_at"),
        Index(
            "ix_notification_mail_due",
            "due_at",
            "id",
            postgresql_where=text("sent_at IS NULL AND failed_at IS NULL"),
        ),
        Index("ix_notification_mail_sent", "sent_at", postgresql_where=text("sent_at IS NOT NULL")),
        Index("ix_notification_mail_failed", "id", postgresql_where=text("failed_at IS NOT NULL")),
        CheckConstraint("attempts >= 0", name="counts_not_negative"),
        CheckConstraint("sent_at IS NULL OR failed_at IS NULL", name="sent_or_failed"),
    )
    id: Mapped[int] = key_column()
    user_id: Mapped[int] = mapped_column(ForeignKey(User.id, ondelete="CASCADE"))
    kind: Mapped[EventKind]
    created_at: Mapped[datetime] = now_column()
    # of the next attempt; while one is under way, when it counts as lost
    due_at: Mapped[datetime]
    attempts: Mapped[int] = mapped_column(default=0)
    sent_at: Mapped[datetime | None]
    failed_at: Mapped[datetime | None]  # when it was given up; admins see it
    address: Mapped[str | None]  # of the last attempt
    error: Mapped[str | None]  # of the last attempt


class MailedNotification(Base):
    """A notification in a mail."""

    __tablename__ = "mailed_notification"
    mail_id: Mapped[int] = mapped_column(
        ForeignKey(NotificationMail.id, ondelete="CASCADE"), primary_key=True
    )
    notification_id: Mapped[int] = mapped_column(
        ForeignKey(Notification.id, ondelete="CASCADE"), primary_key=True, index=True
    )


class MailChoice(Base):
    """A person's choice whether events of a kind are mailed, if it is not the default."""

    __tablename__ = "mail_choice"
    user_id: Mapped[int] = mapped_column(ForeignKey(User.id, ondelete="CASCADE"), primary_key=True)
    kind: Mapped[EventKind] = mapped_column(primary_key=True)
    by_mail: Mapped[bool]


class SigningKey(Base):
    """A secret of this installation with which links are signed; random, made when it is first needed."""

    __tablename__ = "signing_key"
    name: Mapped[str] = mapped_column(primary_key=True)  # what it signs
    secret: Mapped[bytes]
    created_at: Mapped[datetime] = now_column()
