"""Sessions and tokens: what a cookie or a header opens."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from app.models.people import User
from app.models.table import Base, key_column, now_column


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
