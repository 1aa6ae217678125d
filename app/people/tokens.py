"""API tokens, which let programs act for people."""

import secrets
import string
import zlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import ColumnElement, func, select, update
from sqlalchemy.orm import Session

from app.core import audit
from app.core.access import Scope
from app.core.errors import ConflictError
from app.core.names import Visible
from app.core.secret_hashes import hash_of_token
from app.jobs import mail
from app.jobs.mail import MailTemplate
from app.models import ApiToken, User
from app.people.locking import lock_person
from app.platform import Platform

PREFIX = "hld_"
ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
RANDOM, CHECKSUM = 30, 6  # characters; 30 of 62 are 178 bits
LIFETIMES = (7, 30, 90, 365)  # days
DEFAULT_LIFETIME: Final = 90
MAX_ACTIVE = 50  # for each person
NOTED_EVERY = timedelta(minutes=1)  # resolution of the time of last use


def new_token() -> str:
    """Return a token: `hld_` and 36 letters and digits.

    >>> is_token(new_token())
    True
    """
    body = PREFIX + "".join(secrets.choice(ALPHABET) for _ in range(RANDOM))
    return body + _checksum(body)


def is_token(text: str) -> bool:
    """Whether a text is a well-formed token; finds truncated and mistyped ones without asking the database.

    >>> is_token("hld_mistyped")
    False
    """
    body, checksum = text[:-CHECKSUM], text[-CHECKSUM:]
    is_shaped = len(text) == len(PREFIX) + RANDOM + CHECKSUM and text.startswith(PREFIX) and text.isascii()
    return is_shaped and checksum == _checksum(body)


def _checksum(body: str) -> str:
    """Return the CRC-32 in base 62, as in GitHub's tokens."""
    number, digits = zlib.crc32(body.encode()), ""
    for _ in range(CHECKSUM):
        number, digit = divmod(number, len(ALPHABET))
        digits = ALPHABET[digit] + digits
    return digits


class NewToken(BaseModel):
    """The form for a new token."""

    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True, frozen=True)

    name: Annotated[str, Field(min_length=1, max_length=80, description="what will use it"), Visible]
    scope: Annotated[frozenset[Scope], Field(min_length=1, description="what it may do")]
    days: Annotated[Literal[1, 7, 30, 90, 365], Field(description="how long it lasts")] = DEFAULT_LIFETIME


@dataclass(frozen=True, slots=True)
class TokenView:
    """A token as shown to its owner, without the token itself."""

    id: int
    name: str
    hint: str
    scopes: tuple[Scope, ...]
    created_at: datetime
    expires_at: datetime
    last_used_at: datetime | None
    revoked_at: datetime | None
    is_expired: bool

    @property
    def state(self) -> str:
        """Active, expired, or revoked."""
        if self.revoked_at:
            return "revoked"
        return "expired" if self.is_expired else "active"


def is_live() -> tuple[ColumnElement[bool], ...]:
    """Whether a token is neither revoked nor expired, for statements about ApiToken."""
    return (ApiToken.revoked_at.is_(None), ApiToken.expires_at > func.now())


def is_due() -> ColumnElement[bool]:
    """Whether the use of a token is due to be recorded, for statements about ApiToken."""
    return func.coalesce(ApiToken.last_used_at, ApiToken.created_at) < func.now() - NOTED_EVERY


def record_use(session: Session, token_hash: bytes) -> None:
    """Record that a token is used, unless another request has just done so."""
    is_this = ApiToken.token_hash == token_hash
    session.execute(update(ApiToken).where(is_this, is_due()).values(last_used_at=func.now()))


def tokens_of(session: Session, user_id: int) -> tuple[TokenView, ...]:
    """Return a person's tokens, newest first."""
    statement = select(ApiToken, ApiToken.expires_at <= func.now()).where(ApiToken.user_id == user_id)
    rows = session.execute(statement.order_by(ApiToken.id.desc()))
    return tuple(
        TokenView(
            id=row.id,
            name=row.name,
            hint=row.hint,
            scopes=tuple(scope for scope in Scope if scope in row.scopes),
            created_at=row.created_at,
            expires_at=row.expires_at,
            last_used_at=row.last_used_at,
            revoked_at=row.revoked_at,
            is_expired=is_expired,
        )
        for row, is_expired in rows
    )


def count_active(session: Session, user_id: int) -> int:
    """Count a person's active tokens, and lock the person until the end of the transaction."""
    lock_person(session, user_id)
    statement = select(func.count()).select_from(ApiToken).where(ApiToken.user_id == user_id, *is_live())
    return session.scalars(statement).one()


def set_revoked(session: Session, user_id: int, token_id: int) -> bool:
    """Revoke a token of this person. Return whether there was one to revoke."""
    statement = (
        update(ApiToken)
        .where(ApiToken.id == token_id, ApiToken.user_id == user_id, ApiToken.revoked_at.is_(None))
        .values(revoked_at=func.now())
        .returning(ApiToken.id)
    )
    return session.scalar(statement) is not None


def revoke_tokens_of(session: Session, user_id: int) -> int:
    """Revoke every token of a person. Return how many."""
    live = (ApiToken.user_id == user_id, ApiToken.revoked_at.is_(None))
    revoked = update(ApiToken).where(*live).values(revoked_at=func.now()).returning(ApiToken.id)
    return len(session.scalars(revoked).all())


def tokens(platform: Platform, user_id: int | None) -> tuple[TokenView, ...]:
    """Return a person's tokens, newest first."""
    if user_id is None:
        return ()
    with platform.transaction() as session:
        return tokens_of(session, user_id)


def create_token(platform: Platform, user_id: int | None, new: NewToken) -> str:
    """Create a token, to be shown once, and notify its owner by mail.

    Raises ConflictError if the person has too many.
    """
    assert user_id is not None
    with platform.transaction() as session:
        if count_active(session, user_id) >= MAX_ACTIVE:
            raise ConflictError(f"{MAX_ACTIVE} tokens are active; revoke one first")
        token = add_token(session, user_id, new)
        scopes = ", ".join(sorted(new.scope))
        owner = session.get_one(User, user_id)
        mail.notify_owner(
            session, MailTemplate.TOKEN_CREATED, owner, name=new.name, scopes=scopes, days=new.days
        )
    return token


def add_token(session: Session, user_id: int, new: NewToken) -> str:
    """Create a token for a person or for an account used only by programs, to be shown once."""
    token = new_token()
    scopes = sorted(new.scope)
    row = ApiToken(
        user_id=user_id,
        name=new.name,
        token_hash=hash_of_token(token),
        hint=token[:8],
        scopes=scopes,
        expires_at=func.now() + timedelta(days=new.days),
    )
    session.add(row)
    session.flush()
    details = {"name": new.name, "scopes": scopes, "days": new.days}
    audit.record(session, user_id, "token.create", f"token {row.id}", details=details)
    return token


def revoke_token(platform: Platform, user_id: int | None, token_id: int) -> bool:
    """Revoke a token of this person. Return whether there was one to revoke."""
    assert user_id is not None
    with platform.transaction() as session:
        is_revoked = set_revoked(session, user_id, token_id)
        if is_revoked:
            audit.record(session, user_id, "token.revoke", f"token {token_id}")
        return is_revoked


def revoke_all(platform: Platform, user_id: int | None) -> None:
    """Revoke every token of a person."""
    assert user_id is not None
    with platform.transaction() as session:
        count = revoke_tokens_of(session, user_id)
        audit.record(session, user_id, "token.revoke-all", f"person {user_id}", details={"revoked": count})
