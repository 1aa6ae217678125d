"""Connections to a database that are silent for a while or silently lost."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

import pytest
from sqlalchemy import make_url, text
from sqlalchemy.exc import OperationalError

from app.core.settings import Settings
from app.platform import BACKGROUND, INTERACTIVE, Platform, platform_of
from tests.system.process_trees import stopped, tree_of
from tests.system.proxies import proxy
from tests.system.servers import OwnServers

pytestmark = [pytest.mark.slow, pytest.mark.system]

POOLED, RESPONSE = 4, 5  # connections, seconds
QUICK = replace(INTERACTIVE, response=RESPONSE)


def test_a_worker_waits_until_a_silent_database_answers(own_servers: OwnServers, settings: Settings) -> None:
    platform = platform_of(settings, BACKGROUND)
    fill_pool(platform)

    with ThreadPoolExecutor(2) as together:
        with silent_database(own_servers):
            waiting = [together.submit(use, platform) for _ in range(2)]
            time.sleep(7)  # twice the timeout of a new connection

        assert [each.result() for each in waiting] == [1, 1]
    platform.engine.dispose()


def test_a_page_gives_up_on_a_silent_database_sooner(own_servers: OwnServers, settings: Settings) -> None:
    platform = platform_of(settings, INTERACTIVE)
    fill_pool(platform)

    with silent_database(own_servers), pytest.raises(OperationalError):
        use(platform)
    platform.engine.dispose()


def test_only_the_first_of_several_silently_lost_connections_costs_time(settings: Settings) -> None:
    url = make_url(str(settings.database_url))
    with proxy(str(url.host), url.port or 5432) as firewall:
        beyond = url.set(host="127.0.0.1", port=firewall.port).render_as_string(hide_password=False)
        platform = platform_of(settings.model_copy(update={"database_url": beyond}), QUICK)
        fill_pool(platform)
        firewall.go_silent()
        firewall.serve_new_connections()

        begun = time.monotonic()
        assert [use(platform) for _ in range(2 * POOLED)] == [1] * 2 * POOLED
        assert time.monotonic() - begun < POOLED * RESPONSE
        platform.engine.dispose()


@pytest.fixture
def settings(own_servers: OwnServers) -> Settings:
    return Settings(
        database_url=own_servers.owners_url(own_servers.fresh_database()),
        broker_url=own_servers.urls.broker_url,
    )


def fill_pool(platform: Platform) -> None:
    """Open some connections in the pool."""
    together = threading.Barrier(POOLED)

    def hold(_: int) -> None:
        with platform.transaction() as session:
            session.scalar(text("SELECT 1"))
            together.wait()

    with ThreadPoolExecutor(POOLED) as threads:
        list(threads.map(hold, range(POOLED)))


def use(platform: Platform) -> int:
    with platform.transaction() as session:
        return int(session.scalar(text("SELECT 1")) or 0)


@contextmanager
def silent_database(servers: OwnServers) -> Iterator[None]:
    with stopped(tree_of(servers.urls.processes.pid("postgres") or 0)):
        yield
