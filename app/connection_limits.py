"""Connections of the web server: how many there are, and how long one may keep it waiting."""

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

MAX_CONNECTIONS = 800  # of a process; each takes a file descriptor, of which a process often has 1024
HEADER_SECONDS = 10.0  # from the first byte of a request, or the connection, to the end of its headers
BODY_SECONDS = 60.0  # between two pieces of a body


class PatientProtocol(H11Protocol):
    """HTTP/1.1 that closes connections beyond a number, and those that send their request too slowly.

    uvicorn has a time limit only between two requests, and counts connections only once a request is complete.
    """

    max_connections = MAX_CONNECTIONS
    header_seconds = HEADER_SECONDS
    body_seconds = BODY_SECONDS

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn
        """Take a connection, unless there are too many."""
        super().connection_made(transport)
        if len(self.connections) > self.max_connections:
            transport.abort()
            return
        self._expect_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes of a request; while its headers are not complete, their deadline stays."""
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._expect_headers()
        elif self.conn.their_state is h11.SEND_BODY:
            self._stop_waiting()
            self._wait(self.body_seconds, self._body_is_late)
        else:
            self._stop_waiting()

    def _expect_headers(self) -> None:
        if self.deadline is None:
            self._wait(self.header_seconds, self.transport.abort)

    def _body_is_late(self) -> None:
        """Close, unless it is we who do not read because the application is busy."""
        if self.flow.read_paused:
            self._wait(self.body_seconds, self._body_is_late)
        elif self.conn.their_state is h11.SEND_BODY:
            self.transport.abort()

    def _wait(self, seconds: float, then: Any) -> None:
        self.deadline = self.loop.call_later(seconds, then)

    def _stop_waiting(self) -> None:
        if self.deadline is not None:
            self.deadline.cancel()
            self.deadline = None
