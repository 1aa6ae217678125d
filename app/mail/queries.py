"""Requested mail, its recipients and its links in the database."""

import hashlib
from collections.abc import Collection
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, delete, exists, func, select
from sqlalchemy.orm import Session, aliased

from app.mail.schemas import Letter, Recipient, Requested
from app.models import MailLink, MailRequest, User

DAY = timedelta(days=1)


def hash_of_address(address: str) -> bytes:
    """How an address stands in the count of mail."""
    return hashlib.sha256(address.encode()).digest()


def requested(session: Session, letter: Letter, address: str, user_id: int | None) -> Requested:
    """What was asked for in the last day; until the end of the transaction nobody else asks for this address."""
    hashed = hash_of_address(address)
    session.execute(select(func.pg_advisory_xact_lock(int.from_bytes(hashed[:8], signed=True))))
    now = session.execute(select(func.clock_timestamp())).scalar_one()
    of_address = (MailRequest.address_hash == hashed, MailRequest.letter == letter.value)
    of_person = () if user_id is None else _times(session, now, MailRequest.user_id == user_id)
    hour = select(func.count()).where(MailRequest.at > now - timedelta(hours=1))
    return Requested(now, _times(session, now, *of_address), of_person, session.scalar(hour) or 0)


def _times(session: Session, now: datetime, *conditions: ColumnElement[bool]) -> tuple[datetime, ...]:
    recent = select(MailRequest.at).where(*conditions, MailRequest.at > now - DAY).order_by(MailRequest.at)
    return tuple(session.scalars(recent))


def count(session: Session, letter: Letter, address: str, user_id: int | None) -> None:
    """Note that a mail was asked for."""
    row = MailRequest(
        at=func.clock_timestamp(), letter=letter.value, address_hash=hash_of_address(address), user_id=user_id
    )
    session.add(row)


def recipient(session: Session, user_id: int) -> Recipient | None:
    """A person as far as mail needs them; none for an account that is gone."""
    other = aliased(User)
    is_taken = exists().where(
        other.email == func.coalesce(User.new_email, User.email),
        other.verified_at.is_not(None),
        other.id != User.id,
    )
    statement = select(User.id, User.email, User.new_email, User.verified_at.is_not(None), is_taken).where(
        User.id == user_id, User.deleted_at.is_(None)
    )
    row = session.execute(statement).one_or_none()
    return Recipient(*row) if row else None


def add_link(session: Session, link: MailLink) -> None:
    """Note a link that is about to be mailed."""
    session.add(link)


def link_of(session: Session, token_hash: bytes, purposes: Collection[str]) -> MailLink | None:
    """A link that works, locked until the end of the transaction."""
    statement = select(MailLink).where(
        MailLink.token_hash == token_hash,
        MailLink.purpose.in_([str(purpose) for purpose in purposes]),
        MailLink.expires_at > func.now(),
    )
    return session.scalar(statement.with_for_update())


def drop_links(session: Session, user_id: int, purpose: Letter | None = None) -> None:
    """Make every link that was mailed to this person useless, or those for one purpose."""
    dropped = delete(MailLink).where(MailLink.user_id == user_id)
    if purpose is not None:
        dropped = dropped.where(MailLink.purpose == purpose.value)
    session.execute(dropped)


def forget(session: Session) -> None:
    """Delete requests that no limit counts any more, and links that have expired."""
    session.execute(delete(MailRequest).where(MailRequest.at < func.now() - DAY))
    session.execute(delete(MailLink).where(MailLink.expires_at < func.now()))
