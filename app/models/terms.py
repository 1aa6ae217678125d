"""Terms of editions, and who has accepted them."""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from app.models.editions import Edition
from app.models.people import User
from app.models.table import Base, key_column, now_column


class Terms(Base):
    """One version of what participants of an edition agree to; a later one takes its place and never changes it."""

    __tablename__ = "terms"
    __table_args__ = (
        UniqueConstraint("edition_id", "version"),
        CheckConstraint("version > 0", name="version_positive"),
    )
    id: Mapped[int] = key_column()
    edition_id: Mapped[int] = mapped_column(ForeignKey(Edition.id, ondelete="CASCADE"))
    version: Mapped[int]
    text: Mapped[str]
    set_at: Mapped[datetime] = now_column()
    set_by: Mapped[int | None] = mapped_column(ForeignKey(User.id))


class TermsAcceptance(Base):
    """That a person has accepted a version of the terms."""

    __tablename__ = "terms_acceptance"
    user_id: Mapped[int] = mapped_column(ForeignKey(User.id, ondelete="CASCADE"), primary_key=True)
    terms_id: Mapped[int] = mapped_column(ForeignKey(Terms.id, ondelete="CASCADE"), primary_key=True)
    accepted_at: Mapped[datetime] = now_column()
