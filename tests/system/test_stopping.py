"""A web server stopped under load finishes running requests or tells clients when to retry."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection, HTTPResponse
from urllib.parse import urlsplit

import httpx2
import pytest

from tests.system.holds import Pipe, in_a_pipe
from tests.system.installations import Installation, good, installation, stored_file
from tests.system.kits import results, small_kit
from tests.system.process_trees import working_children
from tests.system.servers import OwnServers, eventually

pytestmark = [pytest.mark.slow, pytest.mark.system]

PHASE = "stopping/test"
ARCHIVE = results(cat=5, dog=5)


@pytest.fixture(scope="module")
def running(own_servers: OwnServers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    with installation(own_servers) as running:
        running.load(small_kit(tmp_path_factory.mktemp("kit")), "stopping")
        yield running


@pytest.fixture
def held(running: Installation) -> Iterator[Pipe]:
    """Make every check wait for the description of the phase."""
    [[key]] = running.ask("SELECT description_key FROM phase")
    with in_a_pipe(stored_file(running.platform.descriptions, key)) as pipe:
        yield pipe


def is_stopped(address: str) -> bool:
    """Whether the web server accepts no new connections."""
    try:
        httpx2.get(f"{address}/health", timeout=2)
    except httpx2.HTTPError:
        return True
    return False


def assert_answered_as_unavailable(response: httpx2.Response | HTTPResponse) -> None:
    assert response.headers["content-type"] == "application/problem+json"
    assert int(response.headers["retry-after"]) > 0


def test_a_running_check_ends_before_the_server_stops(running: Installation, held: Pipe) -> None:
    address = running.start_web("patient")
    person, pid = running.participant(address, "Oak"), running.pid("patient")
    with ThreadPoolExecutor() as together:
        sent = together.submit(person.send, PHASE, ARCHIVE)
        assert eventually(lambda: len(working_children(pid)) > 0)
        stopped = together.submit(running.processes.stop, "patient")
        assert eventually(lambda: is_stopped(address))
        held.put_back()
        held.deliver()

        assert good(sent.result())["valid"]
        stopped.result()


def test_a_check_too_long_for_a_shutdown_gets_retry_after_and_can_be_repeated(
    running: Installation, held: Pipe
) -> None:
    address = running.start_web("hurried", stop_seconds=1)
    person, pid = running.participant(address, "Elm"), running.pid("hurried")
    with ThreadPoolExecutor() as together:
        sent = together.submit(person.send, PHASE, ARCHIVE)
        assert eventually(lambda: len(working_children(pid)) > 0)
        running.processes.stop("hurried")
        answer = sent.result()

    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    assert_answered_as_unavailable(answer)
    held.put_back()
    again = running.client(running.start_web("next"), person.http.headers["Authorization"].split()[1])
    [upload] = good(again.http.get("/api/v1/uploads"))["uploads"]
    assert upload["state"] == "received"
    assert eventually(lambda: again.http.post(f"/api/v1/uploads/{upload['id']}/check").is_success)
    assert good(again.http.get(f"/api/v1/uploads/{upload['id']}"))["valid"]


def test_an_upload_still_arriving_gets_retry_after_and_keeps_its_bytes(
    running: Installation,
) -> None:
    address = running.start_web("hurried", stop_seconds=1)
    person = running.participant(address, "Ash")
    where, half = person.create(PHASE, len(ARCHIVE)), len(ARCHIVE) // 2
    connection = HTTPConnection(str(urlsplit(address).netloc), timeout=30)
    connection.putrequest("PATCH", where)
    for name, value in {
        "Authorization": person.http.headers["Authorization"],
        "Tus-Resumable": "1.0.0",
        "Upload-Offset": "0",
        "Content-Type": "application/offset+octet-stream",
        "Content-Length": str(len(ARCHIVE)),
    }.items():
        connection.putheader(name, value)
    connection.endheaders(ARCHIVE[:half])
    assert eventually(lambda: person.http.get("/health").is_success)
    running.processes.stop("hurried")
    answer = connection.getresponse()

    assert answer.status == 503
    assert_answered_as_unavailable(answer)
    again = running.client(running.start_web("next"), person.http.headers["Authorization"].split()[1])
    assert again.offset(where) == half
