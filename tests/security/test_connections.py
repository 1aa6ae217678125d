"""How the web process handles clients that stop in the middle of a body, and floods of requests."""

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection

import pytest
import uvicorn
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.types import Message, Receive, Scope, Send

from app.core.errors import TooLargeError
from app.operations.serving.__main__ import THREADS, Server
from app.web import middleware
from app.web.middleware import bounded
from tests.patience import HANGS

BODY_SECONDS = 1.0


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


@pytest.fixture
def short_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(middleware, "BODY_SECONDS", BODY_SECONDS)


def sent(*pieces: tuple[float, bytes], more: bool = False) -> Receive:
    """A receive channel that delivers each piece after its seconds; `more` announces one that never comes."""
    waiting = list(pieces)

    async def receive() -> Message:
        if not waiting:
            await asyncio.sleep(2 * BODY_SECONDS)
            return {"type": "http.disconnect"}
        seconds, body = waiting.pop(0)
        await asyncio.sleep(seconds)
        return {"type": "http.request", "body": body, "more_body": bool(waiting) or more}

    return receive


async def all_of(receive: Receive) -> bytes:
    pieces: list[bytes] = []
    message: Message = {"more_body": True}
    while message["more_body"]:
        message = await receive()
        pieces.append(message["body"])
    return b"".join(pieces)


@pytest.mark.usefixtures("short_timeout")
def test_a_stalled_body_is_refused() -> None:
    with pytest.raises(HTTPException) as refused:
        asyncio.run(all_of(bounded(sent((0, b"ab"), more=True), 100)))

    assert refused.value.status_code == 408


@pytest.mark.usefixtures("short_timeout")
def test_a_slow_but_steady_body_is_accepted() -> None:
    pieces = [(BODY_SECONDS / 10, b"x")] * 12

    assert asyncio.run(all_of(bounded(sent(*pieces), 100))) == b"x" * 12


@pytest.mark.usefixtures("short_timeout")
def test_a_client_that_waits_for_a_long_response_does_not_time_out() -> None:
    async def wait() -> Message:
        receive = bounded(sent((0, b"whole")), 100)
        await receive()
        return await receive()  # as a streamed response does

    assert asyncio.run(wait())["type"] == "http.disconnect"


def test_a_body_beyond_its_limit_is_refused_regardless_of_its_declared_length() -> None:
    with pytest.raises(TooLargeError):
        asyncio.run(all_of(bounded(sent((0, b"x" * 60), (0, b"x" * 60)), 100)))


def test_as_many_requests_are_handled_at_once_as_there_are_threads() -> None:
    here, most, all_threads = set(), 0, threading.Event()

    def work(name: object) -> None:
        nonlocal most
        here.add(name)
        most = max(most, len(here))
        if most == THREADS:
            all_threads.set()
        all_threads.wait(HANGS)
        time.sleep(0.02)  # so that other threads could start meanwhile
        here.discard(name)

    async def threaded(scope: Scope, receive: Receive, send: Send) -> None:
        await run_in_threadpool(work, object())
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    with served(Server(uvicorn.Config(threaded, lifespan="off", log_level="error"))) as port:
        asking = [HTTPConnection("127.0.0.1", port, timeout=2 * HANGS) for _ in range(3 * THREADS)]
        for each in asking:
            each.request("GET", "/")
        statuses = [each.getresponse().status for each in asking]
        for each in asking:
            each.close()

    assert statuses == [204] * len(asking)
    assert most == THREADS
