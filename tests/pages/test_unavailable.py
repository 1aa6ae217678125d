"""Responses while the database or storage is unreachable, busy or without a schema."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager

import psycopg
import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.orm import Session

from app.operations import health
from app.people.tokens import new_token
from app.platform import Platform
from tests.pages.conftest import Browser
from tests.pages.test_accounts import registered
from tests.system.servers import OwnServers, plain

Opened = Callable[[Platform], AbstractContextManager[Session]]
PAGES = ["/", "/challenges/sample", "/leaderboards/sample/test/3", "/account", "/submissions", "/organise"]


@pytest.fixture
def without_database(own_servers: OwnServers, platform: Platform) -> Iterator[None]:
    platform.engine.dispose()
    with own_servers.database_down():
        platform.cache.expire_versions("health")  # the state of the database a second ago
        yield
    platform.engine.dispose()


@pytest.mark.parametrize("opened", [Platform.transaction, Platform.reading], ids=["transaction", "reading"])
def test_an_idle_connection_that_was_lost_is_replaced_silently(platform: Platform, opened: Opened) -> None:
    platform.engine.dispose()
    with opened(platform) as session:
        lost = session.scalar(text("SELECT pg_backend_pid()"))
    with psycopg.connect(plain(str(platform.settings.database_url))) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", [lost])

    with opened(platform) as session:
        assert session.scalar(text("SELECT pg_backend_pid()")) != lost


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.usefixtures("without_database")
def test_every_page_says_that_the_database_is_unreachable(browser: Browser, path: str) -> None:
    visitor = browser()
    visitor.cookies.set("heldout_session", "a session that nobody can look up")
    before = time.monotonic()

    response = visitor.get(path)

    assert response.status_code == 503
    assert "<h1>Service unavailable</h1>" in response.text
    assert response.headers["x-request-id"] in response.text
    assert response.headers["retry-after"] == "10"
    assert "default-src 'none'" in response.headers["content-security-policy"]
    assert time.monotonic() - before < 10


@pytest.mark.usefixtures("without_database")
def test_programs_are_told_in_json_that_the_database_is_unreachable(browser: Browser) -> None:
    program = browser()
    program.headers["Authorization"] = f"Bearer {new_token()}"

    for response in (
        program.get("/api/v1/challenges"),
        program.put("/api/v1/challenges/a/b/uploads?filename=x.zip"),
    ):
        assert response.status_code == 503
        assert response.headers["content-type"] == "application/problem+json"
        assert response.json()["code"] == "unavailable"
        assert response.json()["reference"] == response.headers["x-request-id"]


@pytest.mark.usefixtures("without_database")
def test_static_files_need_no_database(browser: Browser) -> None:
    visitor = browser()
    visitor.cookies.set("heldout_session", "a session that nobody can look up")

    assert visitor.get("/static/style.css").status_code == 200
    assert visitor.get("/login").status_code == 503  # the session cannot be looked up
    assert browser().get("/login").status_code == 200


@pytest.mark.usefixtures("without_database")
def test_health_still_responds_and_ready_says_what_is_missing(browser: Browser) -> None:
    health, ready = browser().get("/health"), browser().get("/ready")

    assert health.status_code == 200
    assert health.json()["status"] == "degraded"
    assert health.json()["database"]["status"] == "unreachable"
    assert ready.status_code == 503
    assert ready.json() == {"ready": False, "missing": ["database does not answer"], "waiting": []}


def test_pages_work_again_once_the_database_is_back(browser: Browser, own_servers: OwnServers) -> None:
    person = registered(browser(), "acacia@example.org")
    with own_servers.database_down():
        assert person.get("/account").status_code == 503

    assert person.get("/account").status_code == 200
    found = browser().get("/ready").json()
    assert (found["ready"], found["missing"]) == (True, [])


def test_a_database_without_a_schema_is_not_ready(browser: Browser, platform: Platform) -> None:
    owner = create_engine(str(platform.settings.migration_database_url))
    with owner.begin() as connection:
        [head] = connection.execute(text("SELECT version_num FROM alembic_version")).scalars()
        connection.execute(text("DELETE FROM alembic_version"))
    try:
        response = browser().get("/ready")
    finally:
        with owner.begin() as connection:
            connection.execute(text("INSERT INTO alembic_version VALUES (:head)"), {"head": head})
        owner.dispose()

    assert response.status_code == 503
    assert response.json()["missing"] == ["the database has no schema; run `heldout-server migrate`"]


def test_a_server_with_unwritable_storage_is_not_ready(
    browser: Browser, platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "SHARED_SECONDS", 60.0)  # on a slow machine a second is over too soon
    platform.cache.expire_versions("storage")
    assert browser().get("/ready").status_code == 200
    folder = platform.settings.public_storage
    aside = folder.rename(folder.with_name("aside"))
    folder.write_text("a file in place of the folder")
    again = browser().get("/ready")
    platform.cache.expire_versions("storage")
    try:
        response = browser().get("/ready")
    finally:
        folder.unlink()
        aside.rename(folder)
        platform.cache.expire_versions("storage")

    assert again.status_code == 200, "not tried again within a second"
    assert response.status_code == 503
    assert "the storage cannot be written" in response.text


def test_health_responds_while_every_connection_is_in_use(browser: Browser, platform: Platform) -> None:
    visitor = browser()
    with ThreadPoolExecutor(64) as together, platform.engine.connect() as connection:
        connection.execute(text("LOCK TABLE challenge IN ACCESS EXCLUSIVE MODE"))
        waiting = [together.submit(visitor.get, "/") for _ in range(64)]
        health = browser().get("/health")
        assert not all(one.done() for one in waiting)
        connection.rollback()

    assert health.status_code == 200
    assert {one.result().status_code for one in waiting} <= {200, 503}
