"""Mail that was asked for, and the one-time links in it."""

from datetime import datetime

from sqlalchemy import ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from app.models.people import User
from app.models.table import Base, key_column, now_column


class MailRequest(Base):
    """A mail that was asked for, counted against the limits for a day; the address is kept as a hash."""

    __tablename__ = "mail_request"
    __table_args__ = (
        Index("ix_mail_request_address", "address_hash", "at"),
        Index("ix_mail_request_person", "user_id", "at"),
        Index("ix_mail_request_at", "at"),
    )
    id: Mapped[int] = key_column()
    at: Mapped[datetime] = now_column()
    letter: Mapped[str]
    address_hash: Mapped[bytes]
    user_id: Mapped[int | None] = mapped_column(ForeignKey(User.id, ondelete="SET NULL"))


class MailLink(Base):
    """A link that was mailed to a person; it works once, and only who reads the mail knows it."""

    __tablename__ = "mail_link"
    __table_args__ = (Index("ix_mail_link_expires_at", "expires_at"),)
    token_hash: Mapped[bytes] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey(User.id, ondelete="CASCADE"), index=True)
    purpose: Mapped[str]
    address: Mapped[str]  # where it was mailed to, which using it proves
    created_at: Mapped[datetime] = now_column()
    expires_at: Mapped[datetime]
