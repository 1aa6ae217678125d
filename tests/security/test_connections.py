"""Clients that stop in the middle of a body, and crowds of requests: what the web process itself does about them."""

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

BODY_SECONDS = 0.2


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
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(middleware, "BODY_SECONDS", BODY_SECONDS)


def sent(*pieces: tuple[float, bytes], more: bool = False) -> Receive:
    """What a server hands over of a body: each piece after so many seconds; `more` announces one that never comes."""
    waiting = list(pieces)

    async def receive() -> Message:
        if not waiting:
            await asyncio.sleep(10 * BODY_SECONDS)
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


@pytest.mark.usefixtures("hurried")
def test_a_body_that_does_not_go_on_is_refused() -> None:
    with pytest.raises(HTTPException) as refused:
        asyncio.run(all_of(bounded(sent((0, b"ab"), more=True), 100)))

    assert refused.value.status_code == 408


@pytest.mark.usefixtures("hurried")
def test_a_body_that_comes_slowly_and_steadily_is_taken() -> None:
    pieces = [(BODY_SECONDS / 4, b"x")] * 8

    assert asyncio.run(all_of(bounded(sent(*pieces), 100))) == b"x" * 8


@pytest.mark.usefixtures("hurried")
def test_who_waits_for_a_long_response_is_not_late() -> None:
    async def wait() -> Message:
        receive = bounded(sent((0, b"whole")), 100)
        await receive()
        return await receive()  # as a response that is streamed does

    assert asyncio.run(wait())["type"] == "http.disconnect"


def test_a_body_beyond_its_limit_is_refused_whatever_length_it_declared() -> None:
    with pytest.raises(TooLargeError):
        asyncio.run(all_of(bounded(sent((0, b"x" * 60), (0, b"x" * 60)), 100)))


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

    with served(Server(uvicorn.Config(threaded, lifespan="off", log_level="error"))) as port:
        asking = [HTTPConnection("127.0.0.1", port, timeout=10) for _ in range(3 * THREADS)]
        for each in asking:
            each.request("GET", "/")
        statuses = [each.getresponse().status for each in asking]
        for each in asking:
            each.close()

    assert statuses == [204] * len(asking)
    assert most == THREADS
