"""Connections to the database that give up on a server which never answers."""

from typing import Any

import psycopg
from psycopg.abc import RV, PQGen
from sqlalchemy import Engine, event


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
