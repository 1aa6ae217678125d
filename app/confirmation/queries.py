"""Addresses of accounts in the database."""

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.models import MailLink, User


def person(session: Session, user_id: int) -> User | None:
    """A person who is neither suspended nor gone, locked until the end of the transaction."""
    statement = select(User).where(User.id == user_id, User.deleted_at.is_(None), User.suspended_at.is_(None))
    return session.scalar(statement.with_for_update())


def claimed(user: User, link: MailLink) -> bool:
    """Whether the address that a link was mailed to is still one that this account wants."""
    return link.address in (user.email, user.new_email)


def take_address(session: Session, user: User, address: str) -> None:
    """Note that an address is this person's; raises IntegrityError where another account has confirmed it."""
    if user.new_email == address:
        user.email, user.new_email = address, None
    user.verified_at = func.now()
    session.flush()
