"""Heartbeats, damaged contents, and the audit."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from app.models.editions import Edition
from app.models.people import User
from app.models.states import Service
from app.models.table import Base, key_column, now_column


class Heartbeat(Base):
    """A process that was alive at `seen_at`."""

    __tablename__ = "heartbeat"
    name: Mapped[str] = mapped_column(primary_key=True)  # host and process
    service: Mapped[Service]
    scorer: Mapped[str | None]  # which version a worker scores
    slots: Mapped[int] = mapped_column(default=0)  # runs a worker scores at the same time
    seen_at: Mapped[datetime] = now_column()


class DamagedContent(Base):
    """A stored content that was found with other bytes than were stored, until a sweep finds it repaired."""

    __tablename__ = "damaged_content"
    __table_args__ = (UniqueConstraint("store", "key"),)
    id: Mapped[int] = key_column()
    store: Mapped[str]
    key: Mapped[str]
    what: Mapped[str]  # e.g. "stored archive"
    found_at: Mapped[datetime] = now_column()
    checked_at: Mapped[datetime] = now_column()


class AuditRecord(Base):
    """Who did what, when and why; the application can add rows and never change them."""

    __tablename__ = "audit"
    __table_args__ = (
        Index("ix_audit_edition", "edition_id", "id"),
        Index("ix_audit_subject", "subject", "id"),
    )
    id: Mapped[int] = key_column()
    at: Mapped[datetime] = now_column()
    user_id: Mapped[int | None] = mapped_column(
        ForeignKey(User.id)
    )  # none: from the command line, or a sweep
    action: Mapped[str]
    subject: Mapped[str]  # what it was done to, e.g. "entry 7"
    reason: Mapped[str] = mapped_column(default="")
    edition_id: Mapped[int | None] = mapped_column(ForeignKey(Edition.id))  # its organisers read this record
    before: Mapped[dict[str, Any] | None]  # what changed, as it was
    after: Mapped[dict[str, Any] | None]  # and as it is
    details: Mapped[dict[str, Any]] = mapped_column(default=dict)
