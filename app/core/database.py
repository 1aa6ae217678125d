"""Statement time limits, classification of database errors, and the lock between removals and backups."""

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

log = structlog.get_logger()


class BoundedConnection(psycopg.Connection[Any]):
    """A connection that limits how long a statement may take."""

    seconds = 3.0

    def wait(self, gen: PQGen[RV], interval: float = 0.1, timeout: float | None = None) -> RV:
        """Wait for a response. Raises OperationalError when the time is up."""
        try:
            return super().wait(gen, interval, timeout or self.seconds)
        except psycopg.errors._WaitTimeout as error:  # noqa: SLF001 - psycopg says callers should convert it
            self.close()
            raise psycopg.OperationalError(f"no response within {self.seconds:g} s") from error


def limit_response_time(engine: Engine, seconds: float) -> None:
    """Make statements of this engine fail after so many seconds without a response, and close their connection.

    The server's own timeouts do nothing while the server is frozen, and TCP's do nothing while its machine is up.
    """

    @event.listens_for(engine, "do_connect")
    def connect(_dialect: object, _record: object, arguments: Any, options: Any) -> BoundedConnection:
        connection = BoundedConnection.connect(*arguments, **options)
        connection.seconds = seconds
        return connection


DISCONNECTING = ("25006", "25P03")  # a read-only server after a failover; idle in a transaction for too long


def is_unavailable(error: Exception) -> bool:
    """Whether the database is unreachable, too busy, or was shut down during the request."""
    if isinstance(error, InternalError):
        return sqlstate(error) in DISCONNECTING
    return isinstance(error, OperationalError | InterfaceError | PoolTimeoutError)


def sqlstate(error: Exception) -> str | None:
    """The SQLSTATE of an error; None if it does not come from PostgreSQL."""
    return getattr(error.orig, "sqlstate", None) if isinstance(error, DBAPIError) else None


def violated_constraint(error: IntegrityError) -> str | None:
    """The name of the violated constraint, from the diagnostics: message texts may be translated."""
    diagnostics = getattr(error.orig, "diag", None)
    return getattr(diagnostics, "constraint_name", None)


class OutageLog:
    """Logs the start and the end of a database outage once per process, not at each attempt."""

    def __init__(self) -> None:
        self.is_away = False

    @contextmanager
    def tolerating_outages(self, event: str) -> Iterator[None]:
        """Suppress database outages in a block, which the caller will run again later."""
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


HOLD = 0x4B45_4550  # an arbitrary number: the advisory lock of the connection that takes a backup


def removals_allowed(session: Session) -> bool:
    """Whether content that this transaction leaves unreferenced may be removed after it ends.

    A backup takes the lock before it reads the database. So a later backup sees what was decided here, and nothing that a
    backup has seen is removed before the backup is complete.
    """
    return bool(session.scalar(select(func.pg_try_advisory_xact_lock_shared(HOLD))))


def suspend_removals(connection: Connection) -> bool:
    """Suspend removals until `resume_removals` or the end of this connection; False if another connection already has."""
    return bool(connection.scalar(select(func.pg_try_advisory_lock(HOLD))))


def resume_removals(connection: Connection) -> None:
    """Allow removals again. Raises OperationalError if the connection was lost, so that removals were allowed too early."""
    connection.execute(select(func.pg_advisory_unlock(HOLD)))
