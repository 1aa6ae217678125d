"""Errors of the database: which mean that it is away, and what is logged of that."""

from collections.abc import Iterator
from contextlib import contextmanager

import structlog
from sqlalchemy.exc import DBAPIError, IntegrityError, InterfaceError, InternalError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

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
