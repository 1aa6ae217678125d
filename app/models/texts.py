"""Tables of what organisers and admins write: pages of challenges, announcements, the name and the legal texts of the site."""

import uuid
from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from app.models.challenges import Challenge
from app.models.people import User
from app.models.table import Base, CreationRule, key_column, now_column


class ChallengePage(Base):
    """The texts of a challenge; a challenge without a row has none."""

    __tablename__ = "challenge_page"
    __table_args__ = (CheckConstraint("version > 0", name="version_positive"),)
    challenge_id: Mapped[int] = mapped_column(ForeignKey(Challenge.id, ondelete="CASCADE"), primary_key=True)
    version: Mapped[int] = mapped_column(default=1)  # incremented with every change
    tagline: Mapped[str] = mapped_column(default="")
    overview: Mapped[str] = mapped_column(default="")  # Markdown, like rules and organisers
    rules: Mapped[str] = mapped_column(default="")
    organisers: Mapped[str] = mapped_column(default="")
    contact: Mapped[str] = mapped_column(default="")  # an e-mail address, not in the source of public pages
    citation: Mapped[str] = mapped_column(default="")  # BibTeX
    changed_at: Mapped[datetime] = now_column()
    changed_by: Mapped[int | None] = mapped_column(ForeignKey(User.id))


class Announcement(Base):
    """News of a challenge."""

    __tablename__ = "announcement"
    __table_args__ = (
        Index("ix_announcement_challenge", "challenge_id", "id"),
        CheckConstraint("version > 0", name="version_positive"),
    )
    id: Mapped[int] = key_column()
    public_id: Mapped[uuid.UUID] = mapped_column(unique=True, default=uuid.uuid4)  # its name in feeds
    challenge_id: Mapped[int] = mapped_column(ForeignKey(Challenge.id, ondelete="CASCADE"))
    version: Mapped[int] = mapped_column(default=1)  # incremented with every change
    title: Mapped[str]
    text: Mapped[str]  # Markdown
    created_at: Mapped[datetime] = now_column()
    created_by: Mapped[int | None] = mapped_column(ForeignKey(User.id))  # None: a change announced itself
    edited_at: Mapped[datetime | None]


class Site(Base):
    """What admins set about the whole site: one row at most."""

    __tablename__ = "site"
    __table_args__ = (
        CheckConstraint("id = 1", name="one_row"),
        CheckConstraint("version > 0", name="version_positive"),
    )
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False, default=1)
    version: Mapped[int] = mapped_column(default=1)  # incremented with every change
    name: Mapped[str]
    tagline: Mapped[str] = mapped_column(default="", server_default=text("''"))  # a sentence on the home page
    creation: Mapped[CreationRule] = mapped_column(
        default=CreationRule.ADMINS, server_default=text("'admins'")
    )
    # who may create an account, as the setting of this name says; empty: as the server was started
    registration: Mapped[str] = mapped_column(default="", server_default=text("''"))
    accent: Mapped[str] = mapped_column(default="")  # "#1f6feb"; empty for the style sheet's own
    contact: Mapped[str] = mapped_column(default="")
    links: Mapped[list[dict[str, Any]]] = mapped_column(default=list)  # of the footer: title and address
    imprint: Mapped[str] = mapped_column(default="")  # Markdown, like privacy
    privacy: Mapped[str] = mapped_column(default="")
    logo: Mapped[bytes | None] = mapped_column(deferred=True)  # PNG
    logo_digest: Mapped[str] = mapped_column(default="")  # in its address
    changed_at: Mapped[datetime] = now_column()
    changed_by: Mapped[int | None] = mapped_column(ForeignKey(User.id))
