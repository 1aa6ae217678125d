from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.system.installations import LONGEST, Client, Installation, good, installation
from tests.system.kits import results, small_kit
from tests.system.servers import OwnServers, eventually

pytestmark = [pytest.mark.slow, pytest.mark.system]

PHASE = "notified/test"


@dataclass(frozen=True, slots=True)
class Scene:
    """An installation without sweeps for lost runs: everything happens because of a notification."""

    running: Installation
    organiser: Client


@pytest.fixture(scope="module")
def scene(own_servers: OwnServers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with installation(own_servers, sweep_seconds=3600, workers=1) as running:
        running.start_worker()
        running.load(small_kit(tmp_path_factory.mktemp("notified")), "notified")
        yield Scene(running, running.organiser(running.start_web()))


def test_an_archive_for_two_competitions_is_scored_in_both(scene: Scene) -> None:
    submission_id = scene.organiser.submit(PHASE, results(3, 4, cat=5, dog=5), "Both")

    scored = scene.organiser.final(submission_id)["results"]

    assert [(each["competition"], each["state"]) for each in scored] == [(3, "scored"), (4, "scored")]


def test_rescoring_more_results_than_workers_finishes(scene: Scene) -> None:
    upload = scene.organiser.upload(PHASE, results(cat=5, dog=5))
    for name in ("Ash", "Birch", "Cherry"):
        scene.organiser.final(good(scene.organiser.confirm(upload, name))["id"])

    good(scene.organiser.http.post(f"/api/v1/organise/{PHASE}/rescore"))

    assert eventually(lambda: not scene.organiser.board(PHASE)["rescoring"], LONGEST)


def test_notifications_arrive_again_after_the_broker_lost_everything(scene: Scene) -> None:
    upload = scene.organiser.upload(PHASE, results(cat=5, dog=5))
    with scene.running.servers.broker_down(loses=True):
        pass

    for name in ("Dogwood", "Elder"):
        submission_id = good(scene.organiser.confirm(upload, name))["id"]
        assert scene.organiser.final(submission_id)["results"][0]["state"] == "scored"
