"""Removing stored contents, which waits while a backup copies them."""

from sqlalchemy import Connection, func, select
from sqlalchemy.orm import Session

HOLD = 0x4B45_4550  # any number of our own: the advisory lock of the connection that takes a backup


def are_allowed(session: Session) -> bool:
    """Whether what no row names in this transaction may be removed once it has ended.

    A backup takes the lock before it looks at the database. So what is decided here is seen by a later one, and what a
    backup has seen is not removed before it is complete.
    """
    return bool(session.scalar(select(func.pg_try_advisory_xact_lock_shared(HOLD))))


def hold(connection: Connection) -> bool:
    """Hold all removals until `release`, or until this connection ends; false while another one does."""
    return bool(connection.scalar(select(func.pg_try_advisory_lock(HOLD))))


def release(connection: Connection) -> None:
    """Allow removals again. Raises OperationalError where the connection has ended, and they were not held until now."""
    connection.execute(select(func.pg_advisory_unlock(HOLD)))
