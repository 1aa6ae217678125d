"""The whole server with every store in S3: uploads become results and survive an outage of the service."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import httpx2
import pytest

from app.operations import backup
from app.operations.deployment import exposure, has_truth_in_public_bucket
from tests.system.installations import Client, Installation, good, installation
from tests.system.kits import results, small_kit
from tests.system.object_store import ObjectStore
from tests.system.process_trees import tree_of
from tests.system.servers import OwnServers, eventually

pytestmark = [pytest.mark.slow, pytest.mark.system]

PHASE = "buckets/test"
ARCHIVE = results(cat=5, dog=5)


@dataclass(frozen=True, slots=True)
class Scene:
    running: Installation
    objects: ObjectStore
    someone: Client


@pytest.fixture(scope="module")
def scene(
    own_servers: OwnServers, objects: ObjectStore, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scene]:
    with installation(own_servers, retry_seconds=0.2, **objects.settings()) as running:
        with ThreadPoolExecutor() as together:
            worker = together.submit(running.start_worker)
            address = running.start_web()
        worker.result()
        running.load(small_kit(tmp_path_factory.mktemp("buckets")), "buckets", quota=99)
        yield Scene(running, objects, running.participant(address, "oak"))


def test_an_upload_becomes_a_result(scene: Scene) -> None:
    submission_id = scene.someone.submit(PHASE, ARCHIVE, "Oak")

    assert scene.someone.final(submission_id)["results"][0]["state"] == "scored"
    assert not (scene.running.settings.data / "storage").exists()
    assert not (scene.running.settings.data / "private").exists()


def test_the_web_server_does_not_know_the_ground_truth_bucket(scene: Scene) -> None:
    with scene.running.started_as_installed() as processes:
        for pid in tree_of(processes.pid("web")):
            variables = Path(f"/proc/{pid}/environ").read_bytes()
            assert b"HELDOUT_S3_BUCKET" in variables
            assert b"S3_PRIVATE" not in variables
            assert b"secret of admin" not in variables
        assert b"secret of admin" in Path(f"/proc/{processes.pid('worker')}/environ").read_bytes()


def test_a_backup_of_buckets_has_all_contents_the_database_names(scene: Scene, tmp_path: Path) -> None:
    scene.someone.final(scene.someone.submit(PHASE, ARCHIVE, "Saved"))

    taken = backup.back_up(
        scene.running.platform, tmp_path, datetime(2027, 3, 31, tzinfo=UTC), lambda _: None
    )

    assert taken.manifest.missing == ()
    names = {each.name for each in taken.folder.iterdir()}
    assert {"archives", "descriptions", "truth", "database.dump"} <= names


def test_web_keys_that_open_the_ground_truth_bucket_are_detected(scene: Scene) -> None:
    apart = scene.running.settings
    keys = {"s3_access_key": "admin", "s3_secret_key": "secret of admin"}
    same = apart.model_copy(update=keys)
    web = {"s3_bucket": "truth", "s3_private_bucket": None, **keys}

    assert exposure(apart) is None
    assert exposure(same) == "the keys of HELDOUT_S3_BUCKET also open truth"
    assert not has_truth_in_public_bucket(apart)
    assert has_truth_in_public_bucket(apart.model_copy(update=web))


def test_nothing_is_lost_during_an_outage_of_the_service(scene: Scene) -> None:
    http = scene.someone.http
    upload = scene.someone.upload(PHASE, ARCHIVE)
    where = scene.someone.create(PHASE, len(ARCHIVE))

    def send() -> httpx2.Response:
        return scene.someone.append(where, ARCHIVE, 0)

    with scene.objects.down():
        refused = send()
        submission_id = good(scene.someone.confirm(upload, "Away"))["id"]
        requeued = "SELECT count(*) FROM job WHERE kind = 'run' AND postponements > 0"
        assert eventually(lambda: scene.running.ask(requeued) == [(1,)])
        assert eventually(lambda: http.get("/ready").status_code == 503)  # what it found is kept for a while

    assert (refused.status_code, refused.json()["code"]) == (503, "storage-unavailable")
    assert int(refused.headers["Retry-After"]) > 0
    assert send().status_code == 204
    assert good(http.get(where))["valid"]
    assert scene.someone.final(submission_id)["results"][0]["state"] == "scored"
