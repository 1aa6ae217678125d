"""Fixtures of the tests of pages: a web application on real servers, without a worker."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal
from fastapi import FastAPI
from httpx2 import ASGITransport, AsyncByteStream, ByteStream, Request, Response
from pwdlib import PasswordHash
from pwdlib.hashers.argon2 import Argon2Hasher
from starlette.testclient import TestClient

from app.core.settings import Settings
from app.main import create_app
from app.platform import Platform, platform_of
from tests.system.servers import OwnServers
from tests.unlimited import UNLIMITED

Browser = Callable[[], TestClient]


@pytest.fixture(scope="session", autouse=True)
def one_event_loop() -> Iterator[None]:
    """Share one event loop between all test clients, which otherwise start a thread with a loop for each request."""
    with start_blocking_portal() as portal, pytest.MonkeyPatch.context() as patch:
        patch.setattr(TestClient, "portal", portal)
        patch.setattr("starlette.testclient._TestClientTransport.handle_request", answer)
        yield


def answer(transport: Any, request: Request) -> Response:
    """Answer a request of a test client with one call of its event loop, where Starlette makes eight."""
    request.read()
    application = ASGITransport(transport.app, transport.raise_server_exceptions, client=transport.client)

    async def answer_whole() -> Response:
        response = await application.handle_async_request(request)
        assert isinstance(response.stream, AsyncByteStream)
        body = b"".join([part async for part in response.stream])
        return Response(response.status_code, headers=response.headers, stream=ByteStream(body))

    with transport.portal_factory() as portal:
        whole: Response = portal.call(answer_whole)
    return whole


@pytest.fixture(scope="module", autouse=True)
def cheap_hashes() -> Iterator[pytest.MonkeyPatch]:
    """Hash passwords a hundred times as fast: a test module registers up to a hundred people."""
    with pytest.MonkeyPatch.context() as patch:
        hasher = Argon2Hasher(time_cost=1, memory_cost=64, parallelism=1)
        patch.setattr("app.people.passwords._passwords", PasswordHash((hasher,)))
        yield patch


@pytest.fixture
def usual_hashes(cheap_hashes: pytest.MonkeyPatch) -> None:
    """Hash passwords as in production until the end of the module."""
    cheap_hashes.undo()


@pytest.fixture(scope="module")
def platform(
    own_servers: OwnServers, database_url: str, broker_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Platform]:
    """A platform with an empty, migrated database."""
    folder = tmp_path_factory.mktemp("installation")
    settings = Settings(
        data=folder,
        database_url=database_url,
        migration_database_url=own_servers.owners_url(database_url),
        broker_url=broker_url,
        private_storage=folder / "private",
        max_upload=1 << 20,
        trusted_hosts="testserver,evil.example",  # the test client's host, and one that a forged header names
        **UNLIMITED,
    )
    made = platform_of(settings)
    for store in made.stores:
        store.check()  # creates its folder, which is not created once there are rows
    made.secret.labels(())  # creates the key, which is not created either
    yield made
    made.engine.dispose()


@pytest.fixture(autouse=True)
def expire_cache(request: pytest.FixtureRequest) -> None:
    """Expire everything cached by earlier tests."""
    if "platform" in request.fixturenames:
        known = request.getfixturevalue("platform").cache
        for kind in (None, "health", "storage"):
            known.expire_versions(kind)


@pytest.fixture(scope="module")
def app(platform: Platform) -> FastAPI:
    """The application on this platform."""
    return create_app(platform)


@pytest.fixture
def browser(app: FastAPI) -> Iterator[Browser]:
    """Opens browsers, each with its own cookies."""
    opened: list[TestClient] = []

    def open_one() -> TestClient:
        client = TestClient(app, headers={"Accept": "text/html"}, follow_redirects=False)
        opened.append(client)
        return client

    yield open_one
    for client in opened:
        client.close()
