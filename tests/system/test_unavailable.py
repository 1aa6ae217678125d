"""The responses of real processes while their database or broker is unavailable."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import psycopg
import pytest

from tests.patience import LIMIT
from tests.system.installations import LONGEST, Installation, installation
from tests.system.kits import results, small_kit
from tests.system.process_trees import stopped, tree_of
from tests.system.servers import OwnServers, eventually, plain
from tests.system.test_stalls import waits_for_lock

pytestmark = [pytest.mark.slow, pytest.mark.system]

PAGE = "/challenges/away/test/competitions/3"  # reads the database each time, unlike the home page


@pytest.fixture(scope="module")
def running(own_servers: OwnServers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    with installation(own_servers) as place:
        place.load(small_kit(tmp_path_factory.mktemp("away")), "away")
        yield place


@pytest.fixture(scope="module")
def address(running: Installation) -> str:
    return running.start_web()


def test_a_submission_during_a_broker_outage_is_accepted_and_scored_later(
    running: Installation, address: str
) -> None:
    organiser = running.organiser(address)
    # other tests stop the database: connections of the pool may be broken, one after another
    assert eventually(lambda: all(organiser.http.get("/api/v1/teams").is_success for _ in range(10)), LONGEST)
    upload = organiser.upload("away/test", results(cat=5, dog=5))

    with running.servers.broker_down():
        before = time.monotonic()
        response = organiser.confirm(upload, "Alder")
        assert response.status_code == 201
        assert time.monotonic() - before < 30
        assert httpx2.get(f"{address}/ready", timeout=LONGEST).status_code == 200
    running.start_worker()
    running.start_sender()

    assert organiser.final(response.json()["id"])["results"][0]["state"] == "scored"
    assert eventually(lambda: health(address)["status"] == "ok", LONGEST), health(address)
    assert health(address)["workers"]["value"] == 1


def test_pages_and_health_answer_while_the_database_is_silent(running: Installation, address: str) -> None:
    headers = {"Accept": "text/html"}
    with httpx2.Client(base_url=address, timeout=LONGEST, headers=headers) as visitor:
        assert visitor.get(PAGE).status_code == 200
        with ThreadPoolExecutor(64) as together, stopped(database_processes(running)):
            before = time.monotonic()
            waiting = [together.submit(visitor.get, PAGE) for _ in range(64)]
            alive = visitor.get("/health")
            assert alive.status_code == 200
            assert not all(page.done() for page in waiting)
            # the state of the database may be cached for a second
            assert eventually(lambda: health(address)["database"]["status"] == "unreachable")
            assert {one.result().status_code for one in waiting} == {503}
            assert time.monotonic() - before < 100  # one after the other they would take longer
        assert eventually(lambda: visitor.get(PAGE).status_code == 200)


def test_a_silent_database_is_reported_and_service_resumes_when_it_answers(
    running: Installation, address: str
) -> None:
    someone = running.participant(address, "Ash")
    headers = {**someone.http.headers, "Accept": "text/html"}
    with httpx2.Client(base_url=address, timeout=LONGEST, headers=headers) as visitor:

        def visit(_: object = None) -> tuple[int, float]:
            begun = time.monotonic()
            response = visitor.get(PAGE)
            assert response.status_code == 200 or int(response.headers["Retry-After"]) > 0
            return response.status_code, time.monotonic() - begun

        assert visit()[0] == 200
        with ThreadPoolExecutor(8) as together, stopped(database_processes(running)):
            first = list(together.map(visit, range(8)))
            ready = visitor.get("/ready")
        begun = time.monotonic()
        assert eventually(lambda: visit()[0] == 200)
        recovered = time.monotonic() - begun

    assert {status for status, _ in first} == {503}
    assert max(seconds for _, seconds in first) < 100
    assert (ready.status_code, "database does not answer" in ready.text) == (503, True)
    assert recovered < LIMIT / 10


def test_a_waiting_statement_is_not_mistaken_for_a_silent_database(
    running: Installation, address: str
) -> None:
    someone = running.participant(address, "Elm")
    with ThreadPoolExecutor(1) as together, httpx2.Client(base_url=address, timeout=LONGEST) as visitor:
        with psycopg.connect(plain(str(running.settings.database_url))) as connection:
            connection.execute("LOCK TABLE upload IN ACCESS EXCLUSIVE MODE")
            waiting = together.submit(someone.http.get, "/uploads")
            assert eventually(lambda: waits_for_lock(running))
            time.sleep(4)  # longer than the timeout of a new connection
            others = [visitor.get(PAGE).status_code for _ in range(8)]
        waited = waiting.result()

    assert (others, waited.status_code) == ([200] * 8, 200)


def database_processes(running: Installation) -> list[int]:
    postgres = running.servers.urls.processes.pid("postgres")
    assert postgres
    return tree_of(postgres)


def health(address: str) -> dict[str, Any]:
    found: dict[str, Any] = httpx2.get(f"{address}/health", timeout=LONGEST).json()
    return found
