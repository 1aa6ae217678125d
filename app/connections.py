"""Connections to the database that are tried before they are used again, and that give up on a server which never answers."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import psycopg
from psycopg.abc import RV, PQGen
from sqlalchemy import Engine, PoolProxiedConnection, QueuePool, event
from sqlalchemy.exc import InvalidatePoolError

IDLE: Final = 0.1  # seconds without use after which a connection may have been lost unnoticed: no server starts again within them


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

    @contextmanager
    def limited(self, seconds: float) -> Iterator[None]:
        """Allow a statement so many seconds within the block."""
        before, self.seconds = self.seconds, seconds
        try:
            yield
        finally:
            self.seconds = before


class ImpatientPool(QueuePool):
    """Connections of a process before which people wait, to a server that may be silent.

    Once it was silent to one who wanted a new connection, one at a time goes on trying, and everybody else is refused at once rather
    than kept waiting for the same. Whatever the server says ends that, a refusal included. A statement that takes long is nothing to
    the pool: its connection is with whoever waits for it.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._is_silent = False
        self._trying = threading.Lock()

    def connect(self) -> PoolProxiedConnection:
        """A connection that works; raises OperationalError, TimeoutError when all are in use for too long."""
        if not self._is_silent:
            return self._tried()
        if not self._trying.acquire(blocking=False):
            raise psycopg.OperationalError(
                "the database is silent, and another request is trying to reach it"
            )
        try:
            return self._tried()
        finally:
            self._trying.release()

    def _tried(self) -> PoolProxiedConnection:
        try:
            connection = super().connect()
        except psycopg.OperationalError as error:
            self._is_silent = isinstance(error, psycopg.errors.ConnectionTimeout)
            raise
        self._is_silent = False
        return connection


def limit_response_time(engine: Engine, seconds: float) -> None:
    """Let every statement of this engine fail after so many seconds without a response, and close its connection.

    The server's own time-outs do nothing while the server is stopped, and TCP's nothing while its machine lives.
    """

    @event.listens_for(engine, "do_connect")
    def connect(_dialect: object, _record: object, arguments: Any, options: Any) -> BoundedConnection:
        connection = BoundedConnection.connect(*arguments, **options)
        connection.seconds = seconds
        return connection


def ping_idle_connections(engine: Engine, seconds: float) -> None:
    """Replace all connections of the pool once one of them was lost while nobody used it; seconds: for which one may say nothing.

    A page asks for several connections in a row, and SQLAlchemy's own `pool_pre_ping` would try each of them every time.
    """

    @event.listens_for(engine, "checkin")
    def note(_connection: object, record: Any) -> None:
        record.info["used"] = time.monotonic()

    @event.listens_for(engine, "checkout")
    def look(connection: Any, record: Any, _proxy: object) -> None:
        if time.monotonic() - record.info.get("used", time.monotonic()) < IDLE:
            return
        try:
            with connection.limited(seconds):
                engine.dialect.do_ping(connection)
        except psycopg.Error as error:
            raise InvalidatePoolError(str(error)) from error
