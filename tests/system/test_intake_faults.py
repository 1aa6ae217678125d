"""Data sets in an installation whose processes are killed and restarted."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from app.intake.reading import scratch_root
from app.intake.segments import SEGMENT
from app.models import Challenge
from tests.pages.data_sets import TABLE, jpeg, zipped
from tests.system.installations import LONGEST, Client, Installation, awaited, good, installation, is_healthy
from tests.system.process_trees import kill_all, tree_of
from tests.system.servers import OwnServers, eventually

pytestmark = [pytest.mark.system, pytest.mark.slow]

ORGANISE = "/api/v1/organise"
CANARY = b"canary-of-hidden-annotation"


@dataclass(frozen=True, slots=True)
class Scene:
    """A web server, a worker and an organiser of a challenge without phases."""

    running: Installation
    organiser: Client

    def start(self) -> str:
        return str(good(self.organiser.http.post(f"{ORGANISE}/challenges/birds/data-sets"))["id"])

    def send(self, intake: str, name: str, content: bytes, role: str = "hidden") -> None:
        good(self.organiser.http.put(f"{ORGANISE}/data-sets/{intake}/files/{role}/{name}", content=content))

    def view(self, intake: str) -> Any:
        return good(self.organiser.http.get(f"{ORGANISE}/data-sets/{intake}"))

    def settled(self, intake: str) -> Any:
        """A data set once no worker is at it."""
        busy = ("received", "reading", "applying")
        assert eventually(lambda: self.view(intake)["state"] not in busy, LONGEST), self.view(intake)
        return self.view(intake)


@pytest.fixture(scope="module")
def scene(own_servers: OwnServers) -> Iterator[Scene]:
    with installation(own_servers, lease_seconds=3, sweep_seconds=1, retry_seconds=0.2) as running:
        running.start_worker()
        address = running.start_web()
        with running.platform.transaction() as session:
            session.add(Challenge(code="birds", title="Birds", dataset="birds"))
        found = Scene(running, running.organiser(address))
        assert eventually(
            lambda: found.organiser.http.post(f"{ORGANISE}/challenges/birds/data-sets").status_code == 201,
            LONGEST,
        )  # once the worker has made its key
        yield found


def test_a_worker_killed_while_it_reads_leaves_nothing_half_done(scene: Scene) -> None:
    pictures = zipped({f"{number}.jpg": jpeg(shade=number % 250) for number in range(2_000)})
    intake = scene.start()
    scene.send(intake, "test.csv", TABLE)
    scene.send(intake, "pictures.zip", pictures, "images")
    good(scene.organiser.http.post(f"{ORGANISE}/data-sets/{intake}/read"))
    awaited(lambda: scene.view(intake)["state"] == "reading" or None)

    kill_all(tree_of(scene.running.pid("worker")))

    assert scene.view(intake)["report"] is None
    found = scene.settled(intake)
    assert found["state"] == "read", found
    assert found["report"]["images"]["count"] == 2_000
    awaited(lambda: not any(scratch_root(scene.running.platform).iterdir()))


def test_an_upload_goes_on_after_the_web_server_was_restarted(scene: Scene) -> None:
    intake, content = scene.start(), content_of(2 * SEGMENT)
    headers = {
        "Tus-Resumable": "1.0.0",
        "Upload-Length": str(len(content)),
        "Upload-Metadata": "filename YS5jc3Y=,role aGlkZGVu",
    }
    created = scene.organiser.http.post(f"{ORGANISE}/data-sets/{intake}/files", headers=headers)
    url = created.headers["location"]
    scene.organiser.append(url, content[: SEGMENT + 5], 0)

    kill_all([scene.running.pid("web")])

    assert eventually(lambda: is_healthy(scene.organiser.http), LONGEST)
    where = int(scene.organiser.http.head(url).headers["upload-offset"])
    assert where == SEGMENT + 5
    assert scene.organiser.append(url, content[where:], where).status_code == 204


def content_of(size: int) -> bytes:
    return (CANARY * (size // len(CANARY) + 1))[:size]


def test_two_data_sets_at_once_do_not_disturb_each_other(scene: Scene) -> None:
    intakes = [scene.start() for _ in range(2)]
    for intake in intakes:
        scene.send(intake, "test.csv", TABLE)
        good(scene.organiser.http.post(f"{ORGANISE}/data-sets/{intake}/read"))
    for intake in intakes:
        assert scene.settled(intake)["state"] == "read"
    for intake in intakes:
        good(
            scene.organiser.http.post(
                f"{ORGANISE}/data-sets/{intake}/apply",
                json={"set": "hidden-0", "phase": "test", "without_picture": 3},
            )
        )

    versions = [scene.settled(intake) for intake in intakes]

    assert [(each["state"], each["version"]) for each in versions] == [("applied", 1)] * 2


def test_nothing_that_was_sent_is_readable_outside_private_storage(scene: Scene) -> None:
    scene.send(scene.start(), "test.csv", TABLE)
    settings = scene.running.settings
    private = settings.private_storage
    files = [
        path
        for path in settings.data.rglob("*")
        if path.is_file() and not (private and path.is_relative_to(private))
    ]

    assert any("intake" in path.parts for path in files)
    assert [path for path in files if CANARY in path.read_bytes()] == []
