"""Engines and pools, errors of the database in our words, and the lock between removals and backups."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import structlog
from psycopg.abc import RV, PQGen
from sqlalchemy import Connection, Engine, event, func, select
from sqlalchemy.exc import DBAPIError, IntegrityError, InterfaceError, InternalError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.orm import Session


class BoundedConnection(psycopg.Connection[Any]):
    """A connection whose statements take a limited time."""

    seconds = 3.0

    def wait(self, gen: PQGen[RV], interval: float = 0.1, timeout: float | None = None) -> RV:
        """Wait for a response; raises OperationalError when the time is up."""
        try:
            return super().wait(gen, interval, timeout or self.seconds)
        except psycopg.errors._WaitTimeout as error:  # noqa: SLF001 - psycopg says callers should convert it
            self.close()
            raise psycopg.OperationalError(f"no response within {self.seconds:g} s") from error


def limit_response_time(engine: Engine, seconds: float) -> None:
    """Let every statement of this engine fail after so many seconds without a response, and close its connection.

    The server's own time-outs do nothing while the server is stopped, and TCP's nothing while its machine lives.
    """

    @event.listens_for(engine, "do_connect")
    def connect(_dialect: object, _record: object, arguments: Any, options: Any) -> BoundedConnection:
        connection = BoundedConnection.connect(*arguments, **options)
        connection.seconds = seconds
        return connection


log = structlog.get_logger()

DISCONNECTING = ("25006", "25P03")  # a read-only server after a fail-over; idle in a transaction for too long


def is_unavailable(error: Exception) -> bool:
    """Whether the database is away, too busy, or was shut down in the middle."""
    if isinstance(error, InternalError):
        return sqlstate(error) in DISCONNECTING
    return isinstance(error, OperationalError | InterfaceError | PoolTimeoutError)


def sqlstate(error: Exception) -> str | None:
    """What PostgreSQL calls an error; none if it is not one of its own."""
    return getattr(error.orig, "sqlstate", None) if isinstance(error, DBAPIError) else None


def violated_constraint(error: IntegrityError) -> str | None:
    """The name of the constraint that refused a row, as the database reports it; message texts are translated."""
    diagnostics = getattr(error.orig, "diag", None)
    return getattr(diagnostics, "constraint_name", None)


class OutageLog:
    """Logs an outage of the database once in this process, and its end; not at each attempt."""

    def __init__(self) -> None:
        self.is_away = False

    @contextmanager
    def forgiving(self, event: str) -> Iterator[None]:
        """Leave a block whose database is away, as if it had ended; it is tried again later."""
        try:
            yield
        except Exception as error:
            if not is_unavailable(error):
                raise
            if not self.is_away:
                log.warning(event, error=str(error))
            self.is_away = True
        else:
            if self.is_away:
                log.warning("database is back")
            self.is_away = False


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
