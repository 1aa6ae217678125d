"""A proxy in front of an S3 service that passes requests on or responds like a failing service."""

import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property, partial
from http.client import HTTPConnection, HTTPException, HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from typing import Any
from urllib.parse import urlsplit

SHARE = 0.7  # share of requests that fail, so that work is also interrupted in the middle
SLOW = (0.3, 2.0)  # additional seconds
TIMES = re.compile(rb"(?<=<LastModified>)[^<]+|(?<=<Initiated>)[^<]+")
OF_ONE_CONNECTION = {"connection", "transfer-encoding", "keep-alive", "content-length"}


@dataclass(frozen=True, slots=True)
class Reply:
    """A response to a client; truncated if `size` is larger than the body."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    size: int


class Exchange(BaseHTTPRequestHandler):
    """The requests of one connection, one after another."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def __init__(self, service: "ObjectProxy", *arguments: Any) -> None:
        self.service = service
        super().__init__(*arguments)

    @cached_property
    def body(self) -> bytes:
        """The whole request body."""
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def pass_on(self) -> Reply:
        """The response of the service itself."""
        connection = HTTPConnection(*self.service.address)
        try:
            connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() not in {"expect", "connection"}:
                    connection.putheader(name, value)
            connection.endheaders(self.body)
            return self._reply_of(connection.getresponse())
        finally:
            connection.close()

    def _reply_of(self, response: HTTPResponse) -> Reply:
        headers = tuple(each for each in response.getheaders() if each[0].lower() not in OF_ONE_CONNECTION)
        body = self.service.aged(response.read())
        size = int(response.getheader("Content-Length") or 0) if self.command == "HEAD" else len(body)
        return Reply(response.status, headers, body, size)

    def handle_one_request(self) -> None:
        self.__dict__.pop("body", None)  # of the previous request
        with suppress(OSError):
            super().handle_one_request()
            return
        self.close_connection = True

    def _answer(self) -> None:
        try:
            reply = self.service.trouble_of_next()(self)
        except HTTPException as error:
            raise ConnectionAbortedError from error
        self.send_response_only(reply.status)
        for name, value in reply.headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(reply.size))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(reply.body)
            self.close_connection |= len(reply.body) < reply.size

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _answer  # noqa: N815 - http.server's names

    def log_message(self, *_: object) -> None:
        """Log nothing: faults are recorded in the history."""


Trouble = Callable[[Exchange], Reply]


def _refuse(status: int, code: str, exchange: Exchange) -> Reply:
    """Refuse without forwarding the request."""
    assert exchange.body is not None
    body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>In trouble</Message></Error>".encode()
    return Reply(status, (("Content-Type", "application/xml"),), body, len(body))


def _refuse_what_was_done(exchange: Exchange) -> Reply:
    """Forward the request but report a failure."""
    exchange.pass_on()
    return _refuse(500, "InternalError", exchange)


def _hang_up(exchange: Exchange) -> Reply:
    """Close the connection in the middle of a request."""
    exchange.rfile.read(int(exchange.headers.get("Content-Length") or 0) // 2)
    raise ConnectionAbortedError


def _hang_up_after_work(exchange: Exchange) -> Reply:
    """Forward the request and close the connection without a response."""
    exchange.pass_on()
    raise ConnectionAbortedError


def _break_off(exchange: Exchange) -> Reply:
    """Close the connection in the middle of a response body."""
    reply = exchange.pass_on()
    return replace(reply, body=reply.body[: len(reply.body) // 2])


def _dawdle(exchange: Exchange) -> Reply:
    time.sleep(exchange.service.chance.uniform(*SLOW))
    return exchange.pass_on()


TROUBLES: Mapping[str, Trouble] = {
    "overloaded": partial(_refuse, 503, "SlowDown"),
    "failing": partial(_refuse, 500, "InternalError"),
    "failing after the work": _refuse_what_was_done,
    "denied": partial(_refuse, 403, "AccessDenied"),
    "expired": partial(_refuse, 400, "ExpiredToken"),
    "hanging up": _hang_up,
    "hanging up after the work": _hang_up_after_work,
    "broken off": _break_off,
    "slow": _dawdle,
}


@dataclass(slots=True)
class ObjectProxy:
    """A proxy in front of a service; `age` is added to the age of everything in its lists."""

    address: tuple[str, int]
    endpoint: str = ""
    trouble: Trouble | None = None
    share: float = SHARE
    age: timedelta = timedelta(0)
    chance: Random = field(default_factory=Random)

    def trouble_of_next(self) -> Trouble:
        """The fault that the next request meets."""
        trouble = self.trouble
        return trouble if trouble and self.chance.random() < self.share else Exchange.pass_on

    @contextmanager
    def in_trouble(self, name: str, share: float = SHARE) -> Iterator[None]:
        self.trouble, self.share = TROUBLES[name], share
        try:
            yield
        finally:
            self.trouble = None

    def aged(self, body: bytes) -> bytes:
        """A response body with shifted times, if it is a list."""

        def earlier(found: re.Match[bytes]) -> bytes:
            time_of_change = datetime.fromisoformat(found[0].decode())
            return (time_of_change - self.age).isoformat().encode()

        return TIMES.sub(earlier, body) if self.age and body.startswith(b"<?xml") else body


@contextmanager
def object_proxy(endpoint: str) -> Iterator[ObjectProxy]:
    """A proxy in front of the service at `endpoint`."""
    where = urlsplit(endpoint)
    made = ObjectProxy((where.hostname or "", where.port or 80))
    with _Server(("127.0.0.1", 0), partial(Exchange, made)) as server:
        made.endpoint = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield made
        finally:
            server.shutdown()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def handle_error(self, *_: object) -> None:
        """Ignore errors: clients disconnect at any time."""
