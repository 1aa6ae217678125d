"""Connections of the web server: how many there are, and how long one may keep it waiting."""

import asyncio
import fcntl
import select
import socket
import sys
import termios
from typing import Any

import h11
import uvicorn
from anyio.to_thread import current_default_thread_limiter
from uvicorn.protocols.http.h11_impl import H11Protocol

from app.serving import BACKLOG

MAX_CONNECTIONS = 800  # of a process; each takes a file descriptor, of which a process often has 1024
# new connections that are taken before others are answered again. asyncio takes as many as wait, up to the backlog that it is
# given: 64 clients that hang up and come back at once kept 2,048 waiting, which took two seconds in which nobody was answered
TAKEN_AT_ONCE = 4
# requests that are handled at the same time in threads; others wait. They share one interpreter: forty of them spent more of a
# processor on taking it from each other than on their requests, and ten connections to the database are kept open
THREADS = 8
HEADER_SECONDS = 10.0  # from the first byte of a request, or the connection, to the end of its headers
BODY_SECONDS = 60.0  # between two pieces of a body
LAST_RESPONSE_SECONDS = 5.0  # in which requests that are cancelled by a stop send their last response
READ_SECONDS = 60.0  # within which a client reads LEAST_READ of what waits for it
LEAST_READ = 4096  # bytes


class PatientServer(uvicorn.Server):
    """A server that takes few connections at a time, while `BACKLOG` of them may wait in the kernel, and has few threads."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve. asyncio tells the kernel the number that it takes at a time, so it is told its own afterwards."""
        current_default_thread_limiter().total_tokens = THREADS
        await super().startup(sockets)
        for each in sockets or ():
            each.listen(BACKLOG)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop serving. uvicorn cancels requests that take too long and does not wait for their responses."""
        await super().shutdown(sockets)
        if self.server_state.tasks:
            await asyncio.wait(self.server_state.tasks, timeout=LAST_RESPONSE_SECONDS)


class PatientProtocol(H11Protocol):
    """HTTP/1.1 that closes connections beyond a number, and those that send their request or read the response too slowly.

    uvicorn has a time limit only between two requests, and counts connections only once a request is complete. A response that
    nobody reads stays in memory, and keeps a stream and its turn waiting.
    """

    max_connections = MAX_CONNECTIONS
    header_seconds = HEADER_SECONDS
    body_seconds = BODY_SECONDS
    read_seconds = READ_SECONDS

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.deadline: asyncio.TimerHandle | None = None
        self.look_at_reader: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn
        """Take a connection, unless there are too many."""
        super().connection_made(transport)
        if len(self.connections) > self.max_connections:
            transport.abort()
            return
        self._expect_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection, and let a page that is being made for it know."""
        if self.cycle is not None:
            self.cycle.scope["state"]["has_left"] = True
        self._stop_waiting()
        self._stop_looking()
        super().connection_lost(exc)
        # asyncio leaves the transport a reference to its own method (until Python 3.13): thousands of closed connections waited
        # for the garbage collection, which took 30 ms then
        vars(self.transport).pop("_read_ready_cb", None)

    def data_received(self, data: bytes) -> None:
        """Take bytes of a request; while its headers are not complete, their deadline stays.

        A page for somebody who has closed the connection is not made. What was to change something goes on, and an upload keeps
        what has arrived of it.
        """
        if self.conn.their_state is h11.IDLE and data.startswith(b"GET ") and self._has_left():
            self.transport.abort()
            return
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._expect_headers()
        elif self.conn.their_state is h11.SEND_BODY:
            self._stop_waiting()
            self._wait(self.body_seconds, self._body_is_late)
        else:
            self._stop_waiting()

    def _has_left(self) -> bool:
        """Whether the client has closed its side; asyncio tells so only when it reads again."""
        looking = select.poll()
        looking.register(self.transport.get_extra_info("socket"), select.POLLRDHUP)
        return bool(looking.poll(0))

    def _expect_headers(self) -> None:
        if self.deadline is None:
            self._wait(self.header_seconds, self.transport.abort)

    def _body_is_late(self) -> None:
        """Close, unless it is we who do not read because the application is busy."""
        if self.flow.read_paused:
            self._wait(self.body_seconds, self._body_is_late)
        elif self.conn.their_state is h11.SEND_BODY:
            self.transport.abort()

    def pause_writing(self) -> None:
        """Look from now on whether the client reads."""
        super().pause_writing()
        self._look_again()

    def resume_writing(self) -> None:
        """Stop looking; little waits to be read."""
        super().resume_writing()
        self._stop_looking()

    def _look_again(self) -> None:
        self._stop_looking()
        self.look_at_reader = self.loop.call_later(self.read_seconds, self._expect_less, self._unread())

    def _expect_less(self, before: int) -> None:
        """Close, unless the client has read something since `before` bytes waited for it."""
        if self._unread() > before - LEAST_READ:
            self.transport.abort()
        else:
            self._look_again()

    def _unread(self) -> int:
        """How many bytes of responses have not reached the client: what waits here, and what the kernel has of it."""
        queued = fcntl.ioctl(self.transport.get_extra_info("socket").fileno(), termios.TIOCOUTQ, bytes(4))
        return self.transport.get_write_buffer_size() + int.from_bytes(queued, sys.byteorder)

    def _stop_looking(self) -> None:
        if self.look_at_reader is not None:
            self.look_at_reader.cancel()
            self.look_at_reader = None

    def _wait(self, seconds: float, then: Any) -> None:
        self.deadline = self.loop.call_later(seconds, then)

    def _stop_waiting(self) -> None:
        if self.deadline is not None:
            self.deadline.cancel()
            self.deadline = None
