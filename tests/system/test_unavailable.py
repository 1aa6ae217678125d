"""What an installation answers while its database or its broker is away, on real processes."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest

from tests.system.installations import LONGEST, Installation, installation
from tests.system.kits import results, small_kit
from tests.system.process_trees import stopped, tree_of
from tests.system.servers import OwnServers, eventually

pytestmark = pytest.mark.system

PAGE = "/editions/away/test/competitions/3"  # reads the database each time, unlike home


@pytest.fixture(scope="module")
def running(own_servers: OwnServers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    with installation(own_servers) as place:
        place.load(small_kit(tmp_path_factory.mktemp("away")), "away")
        yield place


@pytest.fixture(scope="module")
def address(running: Installation) -> str:
    return running.start_web()


def test_a_confirmation_is_accepted_while_the_broker_is_away_and_scored_when_it_is_back(
    running: Installation, address: str
) -> None:
    organiser = running.organiser(address)
    upload = organiser.upload("away/test", results(cat=5, dog=5))

    with running.servers.broker_down():
        before = time.monotonic()
        response = organiser.confirm(upload, "Alder")
        assert response.status_code == 201
        assert time.monotonic() - before < 5
        assert httpx2.get(f"{address}/ready", timeout=LONGEST).status_code == 200
    running.start_worker()

    assert organiser.final(response.json()["id"])["entries"][0]["state"] == "scored"
    assert eventually(lambda: health(address)["status"] == "ok", LONGEST), health(address)
    assert health(address)["workers"]["value"] == 1


def test_pages_and_health_answer_while_the_database_takes_connections_and_says_nothing(
    running: Installation, address: str
) -> None:
    headers = {"Accept": "text/html"}
    with httpx2.Client(base_url=address, timeout=LONGEST, headers=headers) as visitor:
        assert visitor.get(PAGE).status_code == 200
        postgres = running.servers.urls.processes.pid("postgres")
        assert postgres
        with ThreadPoolExecutor(64) as together, stopped(tree_of(postgres)):
            before = time.monotonic()
            waiting = [together.submit(visitor.get, PAGE) for _ in range(64)]
            alive = visitor.get("/health")
            assert time.monotonic() - before < 10
            assert alive.status_code == 200
            # it may know how the database was a second ago
            assert eventually(lambda: health(address)["database"]["status"] == "unreachable")
            assert {one.result().status_code for one in waiting} == {503}
            assert time.monotonic() - before < 40
        assert eventually(lambda: visitor.get(PAGE).status_code == 200)


def health(address: str) -> dict[str, Any]:
    found: dict[str, Any] = httpx2.get(f"{address}/health", timeout=LONGEST).json()
    return found
