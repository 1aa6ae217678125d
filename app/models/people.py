"""People, logins, roles, terms they accepted."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from app.models.challenges import Challenge
from app.models.table import Base, Role, key_column, now_column


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


class ChallengeOrganiser(Base):
    """Somebody who runs a challenge."""

    __tablename__ = "challenge_organiser"
    challenge_id: Mapped[int] = mapped_column(ForeignKey(Challenge.id, ondelete="CASCADE"), primary_key=True)
    user_id: Mapped[int] = mapped_column(
        ForeignKey(User.id, ondelete="CASCADE"), primary_key=True, index=True
    )
    added_at: Mapped[datetime] = now_column()


class OneTimeLink(Base):
    """A link that makes the first person who uses it an organiser of a challenge, or an admin."""

    __tablename__ = "one_time_link"
    token_hash: Mapped[bytes] = mapped_column(primary_key=True)
    challenge_id: Mapped[int | None] = mapped_column(ForeignKey(Challenge.id))  # none: it makes an admin
    created_at: Mapped[datetime] = now_column()
    expires_at: Mapped[datetime]
    used_by: Mapped[int | None] = mapped_column(ForeignKey(User.id))


class LoginSession(Base):
    """A browser that is logged in; the cookie's hash names it."""

    __tablename__ = "login_session"
    token_hash: Mapped[bytes] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey(User.id, ondelete="CASCADE"), index=True)
    browser: Mapped[str]  # such as "Firefox on Linux"
    created_at: Mapped[datetime] = now_column()
    authenticated_at: Mapped[datetime] = now_column()  # when its person last showed that it is them
    last_seen_at: Mapped[datetime] = now_column()  # to the minute
    expires_at: Mapped[datetime]
    awaits_code: Mapped[bool] = mapped_column(
        default=False
    )  # opens nothing before the second factor was given


class SecondFactor(Base):
    """The secret that a person's authenticator app shares with the server."""

    __tablename__ = "second_factor"
    user_id: Mapped[int] = mapped_column(ForeignKey(User.id, ondelete="CASCADE"), primary_key=True)
    secret: Mapped[str]
    created_at: Mapped[datetime] = now_column()
    confirmed_at: Mapped[datetime | None]  # none: a code of it was never given, and logins do not ask for one
    last_step: Mapped[int] = mapped_column(BigInteger, default=0)  # of the last code; none is taken twice


class Identity(Base):
    """A login by an OpenID Connect provider that opens an account."""

    __tablename__ = "identity"
    __table_args__ = (UniqueConstraint("user_id", "issuer", name="uq_identity_user_id_issuer"),)
    issuer: Mapped[str] = mapped_column(primary_key=True)
    subject: Mapped[str] = mapped_column(primary_key=True)  # who it is, for this provider
    user_id: Mapped[int] = mapped_column(ForeignKey(User.id, ondelete="CASCADE"))
    email: Mapped[str]  # as the provider said when it was linked; it opens nothing
    linked_at: Mapped[datetime] = now_column()
    last_used_at: Mapped[datetime] = now_column()


class ProviderLogin(Base):
    """A login by a provider that has begun, for a few minutes; the cookie's hash names it."""

    __tablename__ = "provider_login"
    __table_args__ = (Index("ix_provider_login_expires_at", "expires_at"),)
    cookie_hash: Mapped[bytes] = mapped_column(primary_key=True)
    content: Mapped[dict[str, Any]]
    expires_at: Mapped[datetime]


class RecoveryCode(Base):
    """What replaces a code of the app, once."""

    __tablename__ = "recovery_code"
    id: Mapped[int] = key_column()
    user_id: Mapped[int] = mapped_column(ForeignKey(User.id, ondelete="CASCADE"), index=True)
    code_hash: Mapped[bytes]
    used_at: Mapped[datetime | None]


class ApiToken(Base):
    """A program that acts for a person; shown once, kept as a hash."""

    __tablename__ = "api_token"
    id: Mapped[int] = key_column()
    user_id: Mapped[int] = mapped_column(ForeignKey(User.id, ondelete="CASCADE"), index=True)
    name: Mapped[str]
    token_hash: Mapped[bytes] = mapped_column(unique=True)
    hint: Mapped[str]  # the first characters, to distinguish tokens
    scopes: Mapped[list[str]]
    created_at: Mapped[datetime] = now_column()
    expires_at: Mapped[datetime]
    last_used_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]


class Terms(Base):
    """One version of what participants of a challenge agree to; a later one takes its place and never changes it."""

    __tablename__ = "terms"
    __table_args__ = (
        UniqueConstraint("challenge_id", "version"),
        CheckConstraint("version > 0", name="version_positive"),
    )
    id: Mapped[int] = key_column()
    challenge_id: Mapped[int] = mapped_column(ForeignKey(Challenge.id, ondelete="CASCADE"))
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
