"""Logins by the provider in the database."""

from datetime import timedelta
from typing import Any

from sqlalchemy import delete, exists, func, select, update
from sqlalchemy.orm import Session

from app.models import Identity, ProviderLogin, User
from app.openid.schemas import Claims, Known, LinkView


def keep(session: Session, cookie_hash: bytes, content: dict[str, Any], lifetime: timedelta) -> None:
    """Note what belongs to a login that has begun, and forget those that nobody has finished."""
    session.execute(delete(ProviderLogin).where(ProviderLogin.expires_at < func.now()))
    session.add(ProviderLogin(cookie_hash=cookie_hash, content=content, expires_at=func.now() + lifetime))


def take(session: Session, cookie_hash: bytes) -> dict[str, Any]:
    """What belongs to the login of this cookie, which is used up; empty for one that is over, used, or of another browser."""
    taken = delete(ProviderLogin).where(
        ProviderLogin.cookie_hash == cookie_hash, ProviderLogin.expires_at > func.now()
    )
    return session.scalar(taken.returning(ProviderLogin.content)) or {}


def peek(session: Session, cookie_hash: bytes) -> dict[str, Any]:
    """The same, which stays."""
    statement = select(ProviderLogin.content).where(
        ProviderLogin.cookie_hash == cookie_hash, ProviderLogin.expires_at > func.now()
    )
    return session.scalar(statement) or {}


def known(session: Session, issuer: str, claims: Claims, started_by: int | None) -> Known:
    """What is known here of somebody who comes back from the provider."""
    of_login = (Identity.issuer == issuer, Identity.subject == claims.subject)
    found = session.execute(
        select(Identity.user_id, User.suspended_at.is_not(None))
        .join(User, User.id == Identity.user_id)
        .where(*of_login)
    ).one_or_none()
    has_account = exists().where(User.email == claims.email, User.verified_at.is_not(None))
    has_link = exists().where(Identity.user_id == started_by, Identity.issuer == issuer)
    account, link = session.execute(select(has_account, has_link)).one()
    owner, is_suspended = found or (None, False)
    return Known(owner, is_suspended, started_by, has_account=account, has_link=link)


def add_link(session: Session, user_id: int, issuer: str, subject: str, email: str) -> None:
    """Link a login by the provider to an account."""
    session.add(Identity(user_id=user_id, issuer=issuer, subject=subject, email=email))
    session.flush()


def note_use(session: Session, issuer: str, subject: str) -> None:
    """Note that a login by the provider was used now."""
    used = update(Identity).where(Identity.issuer == issuer, Identity.subject == subject)
    session.execute(used.values(last_used_at=func.now()))


def links_of(session: Session, user_id: int) -> dict[str, LinkView]:
    """By issuer, the logins that are linked to an account."""
    columns = (Identity.issuer, Identity.email, Identity.linked_at, Identity.last_used_at)
    rows = session.execute(select(*columns).where(Identity.user_id == user_id))
    return {
        issuer: LinkView(email, linked_at, last_used_at) for issuer, email, linked_at, last_used_at in rows
    }


def delete_link(session: Session, user_id: int, issuer: str) -> bool:
    """Whether a login by this provider was linked to the account; it is no more."""
    gone = delete(Identity).where(Identity.user_id == user_id, Identity.issuer == issuer)
    return session.scalar(gone.returning(Identity.user_id)) is not None


def person(session: Session, user_id: int) -> User:
    """A person, locked until the end of the transaction."""
    return session.get_one(User, user_id, with_for_update=True)
