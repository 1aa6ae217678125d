"""A web application on real servers, without a worker: what pages answer before anything is scored."""

from collections.abc import Callable, Iterator

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from app.core.settings import Settings
from app.main import create_app
from app.operations.migrating import migrate
from app.platform import Platform, platform_of
from tests.system.servers import OwnServers
from tests.unlimited import UNLIMITED

Browser = Callable[[], TestClient]


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
        trusted_hosts="testserver,evil.example",  # the test client's, and one for what headers must not do
        **UNLIMITED,
    )
    made = platform_of(settings)
    for store in made.stores:
        store.check()  # makes its folder, which is not made once there are rows
    migrate(settings)
    yield made
    made.engine.dispose()


@pytest.fixture(autouse=True)
def forget(request: pytest.FixtureRequest) -> None:
    """Let no test be shown what another one read a moment ago."""
    if "platform" in request.fixturenames:
        known = request.getfixturevalue("platform").cache
        for kind in (None, "health", "storage"):
            known.expire_versions(kind)


@pytest.fixture(scope="module")
def app(platform: Platform) -> FastAPI:
    """The application on it."""
    return create_app(platform)


@pytest.fixture
def browser(app: FastAPI) -> Iterator[Browser]:
    """Opens browsers, each with cookies of its own."""
    opened: list[TestClient] = []

    def open_one() -> TestClient:
        client = TestClient(app, headers={"Accept": "text/html"}, follow_redirects=False)
        opened.append(client)
        return client

    yield open_one
    for client in opened:
        client.close()
