"""Clients that keep the web server waiting, or send what two servers could understand in two ways."""

import asyncio
import gc
import socket
import threading
import time
from asyncio.selector_events import _SelectorSocketTransport  # type: ignore[attr-defined]
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from queue import Queue

import pytest
import uvicorn
from starlette.concurrency import run_in_threadpool
from starlette.types import Receive, Scope, Send

from app.connection_limits import TAKEN_AT_ONCE, THREADS, PatientProtocol, PatientServer

HEADER, BODY, READ = 0.4, 0.4, 0.4  # seconds
LARGE = 8 << 20  # bytes
CROWD = 100  # connections, fewer than wait in the kernel


class Hurried(PatientProtocol):
    """The protocol with shorter times and fewer connections."""

    max_connections = 3
    header_seconds = HEADER
    body_seconds = BODY
    read_seconds = READ


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers once it has the whole body; the path /slow first waits longer than a client may, /large has a large response."""
    if scope["path"] == "/slow":
        await asyncio.sleep(2 * BODY)
    size, more = 0, True
    while more:
        message = await receive()
        size, more = size + len(message.get("body", b"")), message.get("more_body", False)
    answer = b"x" * LARGE if scope["path"] == "/large" else str(size).encode()
    headers = [(b"content-length", str(len(answer)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": answer})


@pytest.fixture
def port() -> Iterator[int]:
    config = uvicorn.Config(
        application, http=Hurried, lifespan="off", log_level="error", timeout_keep_alive=30
    )
    with served(uvicorn.Server(config)) as port:
        yield port


@contextmanager
def served(server: uvicorn.Server) -> Iterator[int]:
    """The port of a server that runs in a thread."""
    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()


@contextmanager
def connected(port: int) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        yield connection


def dripped(connection: socket.socket, text: bytes, every: float = HEADER / 8) -> float:
    """Send byte after byte; after how many seconds the server closed."""
    begun = time.monotonic()
    try:
        for byte in text:
            connection.sendall(bytes([byte]))
            time.sleep(every)  # the pace of a slow client is what is tested
        while connection.recv(100):
            pass
    except ConnectionError:
        pass
    return time.monotonic() - begun


def test_headers_that_come_too_slowly_close_the_connection(port: int) -> None:
    with connected(port) as connection:
        assert (
            HEADER / 2
            < dripped(connection, b"GET / HTTP/1.1\r\nHost: a\r\n" + b"X: y\r\n" * 100)
            < 5 * HEADER
        )


def test_a_connection_that_sends_nothing_is_closed(port: int) -> None:
    with connected(port) as connection:
        assert dripped(connection, b"") < 5 * HEADER


def test_headers_of_the_second_request_have_the_same_time(port: int) -> None:
    with connected(port) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        assert connection.recv(1000).startswith(b"HTTP/1.1 200")

        assert HEADER / 2 < dripped(connection, b"GET / HTTP/1.1\r\nX: " + b"y" * 1000) < 5 * HEADER


def test_a_body_that_does_not_go_on_closes_the_connection(port: int) -> None:
    with connected(port) as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nab")

        assert BODY / 2 < dripped(connection, b"") < 5 * BODY


def answer(connection: socket.socket) -> bytes:
    """A response with its body, which may come after the headers."""
    found = connection.recv(1000)
    while found.endswith(b"\r\n\r\n") and (more := connection.recv(1000)):
        found += more
    return found


def test_a_body_that_comes_slowly_and_steadily_is_taken(port: int) -> None:
    with connected(port) as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 12\r\n\r\n")
        for byte in b"twelve bytes":
            connection.sendall(bytes([byte]))
            time.sleep(BODY / 8)

        assert answer(connection).endswith(b"12")


def test_an_application_that_does_not_read_makes_no_client_late(port: int) -> None:
    with connected(port) as connection:
        connection.sendall(b"POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n")
        connection.sendall(b"x" * 1_000_000)

        assert answer(connection).endswith(b"1000000")


def test_connections_beyond_the_limit_are_closed_and_others_served(port: int) -> None:
    opened = [socket.create_connection(("127.0.0.1", port), timeout=5) for _ in range(5)]
    answers = []
    for connection in opened:
        try:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            answers.append(connection.recv(1000)[:15])
        except ConnectionError:
            answers.append(b"")

    assert answers == [b"HTTP/1.1 200 OK"] * 3 + [b""] * 2
    for connection in opened:
        connection.close()


def read_slowly(port: int, pieces: int, pause: float) -> int:
    """How many bytes of a large response come, of which so many pieces are read with a pause after each, and then the rest."""
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        connection.settimeout(5)
        connection.connect(("127.0.0.1", port))
        connection.sendall(b"GET /large HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        read = 0
        try:
            for _ in range(pieces):
                read += len(connection.recv(65536))
                time.sleep(pause)  # the pace of a slow client is what is tested
            while piece := connection.recv(1 << 20):
                read += len(piece)
        except ConnectionError:
            pass
        return read


def test_a_response_that_nobody_reads_is_not_kept(port: int) -> None:
    assert read_slowly(port, pieces=1, pause=3 * READ) < LARGE


def test_a_response_that_is_read_slowly_and_steadily_comes_to_its_end(port: int) -> None:
    assert read_slowly(port, pieces=24, pause=READ / 8) > LARGE


def test_so_many_requests_as_there_are_threads_are_handled_at_the_same_time() -> None:
    here, most = set(), 0

    def work(name: object) -> None:
        nonlocal most
        here.add(name)
        most = max(most, len(here))
        time.sleep(0.02)  # so that others would come in meanwhile
        here.discard(name)

    async def threaded(scope: Scope, receive: Receive, send: Send) -> None:
        await run_in_threadpool(work, object())
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    config = uvicorn.Config(threaded, http=PatientProtocol, lifespan="off", log_level="error")
    with served(PatientServer(config)) as port:
        asking = [HTTPConnection("127.0.0.1", port, timeout=10) for _ in range(3 * THREADS)]
        for each in asking:
            each.request("GET", "/")
        statuses = [each.getresponse().status for each in asking]
        for each in asking:
            each.close()

    assert statuses == [204] * len(asking)
    assert most == THREADS


def test_no_page_is_made_for_clients_that_have_hung_up() -> None:
    asked = []

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        asked.append((scope["method"], scope["path"]))
        time.sleep(0.5 if scope["path"] == "/begin" else 0)  # noqa: ASYNC251 - it is the event loop that is to be busy
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    config = uvicorn.Config(slow, http=PatientProtocol, lifespan="off", log_level="error")
    with served(PatientServer(config)) as port:
        first, last = (HTTPConnection("127.0.0.1", port, timeout=10) for _ in range(2))
        first.request("GET", "/begin")
        for method in ("GET", "GET", "POST"):
            left = HTTPConnection("127.0.0.1", port, timeout=10)
            left.request(method, "/left")
            left.close()
        last.request("GET", "/end")
        for each in (first, last):
            assert each.getresponse().status == 204
            each.close()

    assert asked == [("GET", "/begin"), ("POST", "/left"), ("GET", "/end")]


def test_a_page_that_is_being_made_learns_that_its_client_has_hung_up() -> None:
    begun, learned = threading.Event(), Queue[bool]()

    def make(state: dict[str, bool]) -> None:
        begun.set()
        end = time.monotonic() + 10
        while not (has_left := state.get("has_left", False)) and time.monotonic() < end:
            time.sleep(0.001)  # a step of its work
        learned.put(has_left)

    async def working(scope: Scope, receive: Receive, send: Send) -> None:
        await run_in_threadpool(make, scope["state"])

    config = uvicorn.Config(working, http=PatientProtocol, lifespan="off", log_level="critical")
    with served(PatientServer(config)) as port:
        client = HTTPConnection("127.0.0.1", port, timeout=10)
        client.request("GET", "/")
        assert begun.wait(10)
        client.close()

        assert learned.get(timeout=15)


def test_connections_that_were_closed_leave_nothing_to_the_garbage_collection() -> None:
    def transports() -> int:
        return sum(type(each) is _SelectorSocketTransport for each in gc.get_objects())

    config = uvicorn.Config(application, http=PatientProtocol, lifespan="off", log_level="error")
    gc.collect()
    before = transports()
    gc.disable()
    try:
        with served(PatientServer(config)) as port:
            for _ in range(CROWD):
                with connected(port) as connection:
                    connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                    while connection.recv(1000):
                        pass
        assert transports() <= before
    finally:
        gc.enable()


def test_whoever_is_connected_is_answered_before_a_crowd_of_newcomers() -> None:
    answered = 0

    async def busy(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal answered
        time.sleep(1 if scope["path"] == "/begin" else 0.002)  # noqa: ASYNC251 - it is the event loop that is to be busy
        answered += 1
        body = str(answered).encode()
        headers = [(b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def ask(connection: HTTPConnection, path: str) -> int:
        connection.request("GET", path)
        return int(connection.getresponse().read())

    config = uvicorn.Config(
        busy,
        http=PatientProtocol,
        lifespan="off",
        log_level="error",
        backlog=TAKEN_AT_ONCE,
        timeout_graceful_shutdown=1,
    )
    with served(PatientServer(config)) as port:
        first, second = (HTTPConnection("127.0.0.1", port, timeout=10) for _ in range(2))
        assert (ask(first, "/"), ask(second, "/")) == (1, 2)
        first.request("GET", "/begin")
        crowd = [HTTPConnection("127.0.0.1", port, timeout=10) for _ in range(CROWD)]
        for each in crowd:
            each.request("GET", "/")
        numbers = [ask(second, "/") for _ in range(2)]
        answers = sorted(int(each.getresponse().read()) for each in crowd)
        for each in (first, second, *crowd):
            each.close()

    assert numbers[1] < CROWD / 2
    assert answers[-1] == CROWD + 5
