"""Connections to the database that are tried before they are used again, and that give up on a server which never answers."""

import time
from typing import Any, Final

import psycopg
from psycopg.abc import RV, PQGen
from sqlalchemy import Engine, event
from sqlalchemy.exc import DisconnectionError

IDLE: Final = 1.0  # seconds without use after which a connection may have been lost unnoticed


def limit_response_time(engine: Engine, seconds: float) -> None:
    """Let every statement of this engine fail after so many seconds without a response, and close its connection.

    The server's own time-outs do nothing while the server is stopped, and TCP's nothing while its machine lives.
    """

    class BoundedConnection(psycopg.Connection[Any]):
        """A connection whose statements take a limited time."""

        def wait(self, gen: PQGen[RV], interval: float = 0.1, timeout: float | None = None) -> RV:
            """Wait for a response; raises OperationalError when the time is up."""
            try:
                return super().wait(gen, interval, timeout or seconds)
            except psycopg.errors._WaitTimeout as error:  # noqa: SLF001 - psycopg says callers should convert it
                self.close()
                raise psycopg.OperationalError(f"no response within {seconds:g} s") from error

    @event.listens_for(engine, "do_connect")
    def connect(_dialect: object, _record: object, arguments: Any, options: Any) -> psycopg.Connection[Any]:
        return BoundedConnection.connect(*arguments, **options)


def try_idle_connections(engine: Engine) -> None:
    """Replace a connection that was lost while nobody used it.

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
            engine.dialect.do_ping(connection)
        except psycopg.Error as error:
            raise DisconnectionError(str(error)) from error
