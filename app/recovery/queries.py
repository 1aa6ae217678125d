"""Accounts whose passwords change."""

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.models import MailLink, User


def person_of_address(session: Session, address: str) -> int | None:
    """The account that has confirmed an address, else the newest that has not."""
    statement = (
        select(User.id)
        .where(User.email == address, User.deleted_at.is_(None), User.suspended_at.is_(None))
        .order_by(User.verified_at.is_(None), User.id.desc())
        .limit(1)
    )
    return session.scalar(statement)


def owner_of_address(session: Session, address: str) -> int | None:
    """The account that has confirmed an address."""
    statement = select(User.id).where(User.email == address, User.verified_at.is_not(None))
    return session.scalar(statement.where(User.deleted_at.is_(None), User.suspended_at.is_(None)))


def person(session: Session, user_id: int) -> User | None:
    """A person who is neither suspended nor gone, locked until the end of the transaction."""
    statement = select(User).where(User.id == user_id, User.deleted_at.is_(None), User.suspended_at.is_(None))
    return session.scalar(statement.with_for_update())


def confirm_address(session: Session, user: User, link: MailLink) -> bool:
    """Whether the address was not confirmed before; raises IntegrityError where another account has confirmed it."""
    if user.verified_at is not None or link.address != user.email:
        return False
    user.verified_at = func.now()
    session.flush()
    return True
