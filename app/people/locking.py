"""Locking people, so that one change of an account, its roles or its memberships runs at a time.

A challenge is locked before people and people before teams; several people in the order of their ids.
"""

from typing import Final

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from app.models import User

IS_OPEN: Final = (User.deleted_at.is_(None), User.suspended_at.is_(None))  # neither deleted nor suspended


def lock_person(
    session: Session, user_id: int | None, *conditions: ColumnElement[bool], ends_access: bool = False
) -> User | None:
    """Return a person of whom the conditions are true, locked until the end of the transaction; None if there is none.

    Rows that refer to the person can be added meanwhile, because their foreign keys need no more than that the person stays.
    ends_access: what is being added, such as a session of a login that has not ended, is waited for and none is begun, because
    the transaction deletes all of it.
    """
    statement = select(User).where(User.id == user_id, *conditions).with_for_update(key_share=not ends_access)
    return session.scalar(statement.execution_options(populate_existing=True))
