"""People, teams and roles."""

from datetime import datetime

from sqlalchemy import ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from app.models.editions import Edition
from app.models.states import Role
from app.models.table import Base, key_column, now_column


class User(Base):
    """A person who can log in."""

    __tablename__ = "user_account"
    __table_args__ = (
        Index(
            "uq_user_account_email", "email", unique=True, postgresql_where=text("verified_at IS NOT NULL")
        ),
        Index("ix_user_account_email", "email"),
        Index(
            "ix_user_account_unconfirmed",
            "created_at",
            postgresql_where=text("verified_at IS NULL AND deleted_at IS NULL"),
        ),
    )
    id: Mapped[int] = key_column()
    email: Mapped[str]  # NFKC, case folded; of one account once it is confirmed
    name: Mapped[str]
    affiliation: Mapped[str] = mapped_column(default="")
    homepage: Mapped[str] = mapped_column(
        default=""
    )  # https://…, shown where a team names the person publicly
    orcid: Mapped[str] = mapped_column(default="")  # such as 0000-0002-1825-0097, shown likewise
    password_hash: Mapped[str | None]  # none: this account acts with tokens only
    role: Mapped[Role] = mapped_column(default=Role.PARTICIPANT)
    created_at: Mapped[datetime] = now_column()
    suspended_at: Mapped[datetime | None]  # an admin has; neither sessions nor tokens open anything
    verified_at: Mapped[datetime | None]  # since when it is known that the address is theirs
    new_email: Mapped[str | None]  # an address that takes the place of the other once it is confirmed
    deleted_at: Mapped[datetime | None]  # the row stays, without personal data, for what names it


class EditionOrganiser(Base):
    """Somebody who runs an edition."""

    __tablename__ = "edition_organiser"
    edition_id: Mapped[int] = mapped_column(ForeignKey(Edition.id, ondelete="CASCADE"), primary_key=True)
    user_id: Mapped[int] = mapped_column(
        ForeignKey(User.id, ondelete="CASCADE"), primary_key=True, index=True
    )
    added_at: Mapped[datetime] = now_column()


class OneTimeLink(Base):
    """A link that makes the first person who uses it an organiser of an edition, or an admin."""

    __tablename__ = "one_time_link"
    token_hash: Mapped[bytes] = mapped_column(primary_key=True)
    edition_id: Mapped[int | None] = mapped_column(ForeignKey(Edition.id))  # none: it makes an admin
    created_at: Mapped[datetime] = now_column()
    expires_at: Mapped[datetime]
    used_by: Mapped[int | None] = mapped_column(ForeignKey(User.id))
