"""A receiver of webhooks on this machine, which remembers what it was sent and can be told to misbehave."""

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.patience import HANGS

HERE, ELSEWHERE = "127.0.0.1", "127.0.0.2"  # an address that tests allow, and one that they do not


@dataclass
class Sent:
    """A request that arrived."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Receiver:
    """What arrived, and how the receiver answers. statuses: of the next answers, 200 afterwards."""

    port: int
    scheme: str = "http"
    sent: list[Sent] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    written: int = 0  # bytes of endless answers that could be written
    leaves: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"{self.scheme}://{HERE}:{self.port}/ok"

    @property
    def ids(self) -> list[str]:
        """The ids of the deliveries in the order in which they arrived."""
        return [each.headers["webhook-id"] for each in self.sent]


class _Requests(BaseHTTPRequestHandler):
    server: "_Server"

    def do_POST(self) -> None:
        receiver = self.server.receiver
        body = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        receiver.sent.append(Sent(self.path, headers, body))
        match self.path:
            case "/hang":
                receiver.leaves.wait(HANGS)
            case "/redirect":
                self.answer(302, Location=f"http://{ELSEWHERE}:{receiver.port}/stolen")
            case "/flood":
                self.answer(200, length=1 << 30)
                with suppress(OSError):
                    while receiver.written < 1 << 30:
                        receiver.written += self.wfile.write(bytes(1 << 16))
            case "/drip":
                self.answer(200, length=1 << 20)
                with suppress(OSError):
                    while not receiver.leaves.wait(0.2):
                        self.wfile.write(b" ")
            case "/noise":
                self.wfile.write(b"220 mail.example.org ESMTP\r\n")
            case _:
                self.answer(receiver.statuses.pop(0) if receiver.statuses else 200)
        self.close_connection = True

    def answer(self, status: int, *, length: int = 0, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(length), **headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    receiver: Receiver

    def handle_error(self, *_: Any) -> None:
        """Say nothing: clients of tests hang up."""


@contextmanager
def receiving(tls: ssl.SSLContext | None = None) -> Iterator[Receiver]:
    """A receiver at `HERE` and, on the same port, at `ELSEWHERE`, until the end of the block."""
    with (
        _Server((HERE, 0), _Requests) as server,
        _Server((ELSEWHERE, server.server_port), _Requests) as other,
    ):
        receiver = Receiver(server.server_port, "https" if tls else "http")
        for each in (server, other):
            each.receiver = receiver
            if tls:
                each.socket = tls.wrap_socket(each.socket, server_side=True)
            threading.Thread(target=each.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield receiver
        receiver.leaves.set()
        for each in (server, other):
            each.shutdown()
