"""Damaged contents are never scored or blamed on a participant, and are scored once repaired."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from itertools import count

import httpx2
import pytest

from app.challenges.challenges import description_of
from app.core.errors import StorageDamagedError
from app.jobs import attempts
from app.models import Disclosure, Queue
from app.platform import Platform
from app.storage import Storage, content_key
from tests.system.damage import DAMAGES, damaged, overwrite
from tests.system.installations import Client, Installation, good, installation
from tests.system.kits import results, small_kit
from tests.system.object_store import ObjectStore
from tests.system.servers import OwnServers
from tests.working import do_all

pytestmark = pytest.mark.system

PHASE, LADDER = "damage/test", "ladder/test"
ARCHIVE = results(cat=5, dog=5)
METHODS = count(1)


@dataclass(frozen=True, slots=True)
class Scene:
    """A web server, a participant and an admin, but no worker: the test does its work."""

    running: Installation
    someone: Client
    admin: Client

    @property
    def platform(self) -> Platform:
        return self.running.platform

    def submit(self, phase: str = PHASE, archive: bytes = ARCHIVE) -> tuple[int, str]:
        """A queued submission and the key of its archive."""
        upload = self.someone.upload(phase, archive)
        submission = good(self.someone.confirm(upload, f"Method {next(METHODS)}"))["id"]
        [[sha256, upload_id]] = self.running.ask("SELECT sha256, id FROM upload WHERE id = %s", upload)
        return int(submission), content_key(sha256, upload_id)

    def key(self, phase: str, what: str) -> str:
        """A content key of a phase."""
        challenge = phase.partition("/")[0]
        [[key]] = self.running.ask(
            f"SELECT {what} FROM phase p JOIN challenge e ON p.challenge_id = e.id"
            " JOIN ground_truth g ON g.phase_id = p.id WHERE e.code = %s",
            challenge,
        )
        return str(key)

    def matches(self, submission: int) -> str:
        """The key of a scored submission's statistics."""
        [[key]] = self.running.ask(
            "SELECT statistics_key FROM run r JOIN result e ON r.result_id = e.id WHERE e.submission_id = %s",
            submission,
        )
        return str(key)

    def work(self) -> None:
        """Do the work of workers until nothing can be claimed any more."""
        description_of.cache_clear()
        do_all(self.platform, Queue.RUNS)

    def sweep(self) -> None:
        """Do the work of sweepers ten minutes later."""
        self.running.ask("UPDATE damaged_content SET checked_at = checked_at - interval '11 minutes'")
        attempts.check_damaged(self.platform)
        self.work()

    def shown(self, submission: int) -> tuple[str, str, str | None]:
        """The states of a submission's only result and its run, and what it waits for."""
        [result] = self.someone.submission(submission)["results"]
        wait = result["shown"]["waits_for"] or {"text": ""}
        what = re.match("It waits: (.*) damaged", wait["text"])
        return result["state"], result["shown"]["state"], what and what[1]

    def check_that_it_waits(self, submission: int, what: str) -> None:
        """Assert that nothing is recorded or counted and that everybody concerned is informed."""
        assert self.shown(submission) == ("pending", "queued", what)
        for table in ("class_score", "exhibit"):
            recorded = self.running.ask(
                f"SELECT FROM {table} s JOIN run r ON s.run_id = r.id JOIN result e ON r.result_id = e.id"
                " WHERE e.submission_id = %s",
                submission,
            )
            assert recorded == []
        [[crashes, failure]] = self.running.ask(
            "SELECT failures, failure_message FROM run r JOIN job j ON j.run_id = r.id JOIN result e ON r.result_id = e.id WHERE submission_id = %s",
            submission,
        )
        assert (crashes, failure) == (0, None)
        page = self.someone.http.get(f"/submissions/{submission}").text
        assert f"It waits: {what} damaged. This is an error on our side, not yours" in page
        phases = good(self.admin.http.get("/api/v1/organise"))
        assert [one["damaged"] for one in phases if one["damaged"]] == [[{"what": what, "runs": 1}]]
        assert "1 run waits for a repair" in self.admin.http.get("/organise").text
        [found] = good(self.admin.http.get("/api/v1/admin/storage"))["damaged"]
        assert (found["what"], found["runs"]) == (what, 1)
        assert found["key"] in self.admin.http.get("/admin/storage").text
        assert "1 stored file damaged" in self.admin.http.get("/admin").text

    def mean(self, submission: int) -> float:
        [result] = self.someone.submission(submission)["results"]
        assert (result["state"], result["shown"]["waits_for"]) == ("scored", None)
        return float(result["shown"]["headline"])


@pytest.fixture(scope="module", params=["folder", pytest.param("s3", marks=pytest.mark.slow)])
def whole(
    request: pytest.FixtureRequest, own_servers: OwnServers, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scene]:
    stores: dict[str, str] = {}
    if request.param == "s3":
        objects: ObjectStore = request.getfixturevalue("objects")
        stores = objects.settings()
    kit = small_kit(tmp_path_factory.mktemp("damage"))
    with installation(own_servers, **stores) as running:
        running.load(kit, "damage")
        running.load(kit, "ladder", disclosure=Disclosure.LADDER)
        address = running.start_web()
        yield Scene(running, running.participant(address, "oak"), running.organiser(address))


@pytest.fixture
def scene(whole: Scene) -> Scene:
    whole.work()
    whole.running.ask("DELETE FROM damaged_content")
    return whole


@pytest.mark.sampled
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_result_with_a_damaged_archive_is_scored_once_it_is_repaired(scene: Scene, damage: str) -> None:
    submission, key = scene.submit()

    with damaged(scene.platform.archives, key, damage):
        scene.work()
        scene.check_that_it_waits(submission, "stored archive")
        scene.sweep()
        scene.check_that_it_waits(submission, "stored archive")

    scene.work()
    assert scene.shown(submission)[1] == "queued"  # nothing has read it yet
    scene.sweep()
    assert scene.mean(submission) == 0.5
    assert good(scene.admin.http.get("/api/v1/admin/storage"))["damaged"] == []


@pytest.mark.sampled
@pytest.mark.parametrize("way", ["page", "api", "command"])
def test_what_waits_for_a_repaired_file_goes_on_when_an_admin_asks(scene: Scene, way: str) -> None:
    submission, key = scene.submit()
    with damaged(scene.platform.archives, key):
        scene.work()
        scene.check_that_it_waits(submission, "stored archive")

    assert attempts.check_damaged(scene.platform) == 0  # it was looked at just now
    if way == "command":
        repaired = attempts.check_damaged(scene.platform, timedelta(0))
    else:
        address = {"page": "/admin/storage/check", "api": "/api/v1/admin/storage/check"}[way]
        assert scene.admin.http.post(address).status_code in (202, 303)
        assert "is checked in a moment" in scene.admin.http.get("/admin/storage").text
        repaired = attempts.check_damaged(scene.platform)

    scene.work()
    assert (repaired, scene.mean(submission)) == (1, 0.5)


@pytest.mark.sampled
def test_a_valid_archive_stored_in_place_of_another_is_not_scored(scene: Scene) -> None:
    submission, key = scene.submit()
    overwrite(scene.platform.archives, key, results(cat=10, dog=10))

    scene.work()

    scene.check_that_it_waits(submission, "stored archive")
    overwrite(scene.platform.archives, key, ARCHIVE)
    scene.sweep()
    assert scene.mean(submission) == 0.5


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("store", "key", "what"),
    [
        ("private", "g.fingerprint || '-' || replace(g.public_id::text, '-', '')", "ground truth"),
        ("descriptions", "p.description_key", "public description"),
    ],
)
@pytest.mark.parametrize("damage", ["flipped", "truncated"])
def test_a_result_waits_for_any_damaged_content_to_be_repaired(
    scene: Scene, store: str, key: str, what: str, damage: str
) -> None:
    submission, _ = scene.submit()
    damaged_store: Storage = getattr(scene.platform, store)

    with damaged(damaged_store, scene.key(PHASE, key), damage):
        scene.work()
        scene.check_that_it_waits(submission, what)

    scene.sweep()
    assert scene.mean(submission) == 0.5


@pytest.mark.sampled
def test_a_ladder_result_waits_while_its_predecessors_matches_are_damaged(scene: Scene) -> None:
    first, _ = scene.submit(LADDER)
    scene.work()
    second, _ = scene.submit(LADDER, results(cat=9, dog=9))

    with damaged(scene.platform.truths, scene.matches(first), "flipped"):
        scene.work()
        scene.check_that_it_waits(second, "matches")

    scene.sweep()
    assert scene.mean(second) == 0.9


def test_other_results_are_scored_while_one_waits_for_a_repair(scene: Scene) -> None:
    waiting, key = scene.submit()
    with damaged(scene.platform.archives, key):
        scene.work()
        other, _ = scene.submit()

        scene.work()

        assert scene.mean(other) == 0.5
        assert scene.shown(waiting) == ("pending", "queued", "stored archive")
    scene.sweep()


@pytest.mark.slow
def test_follow_up_jobs_wait_for_a_repair_and_are_not_given_up(scene: Scene) -> None:
    submission, _ = scene.submit()
    scene.work()
    has_intervals = (
        "SELECT FROM class_score s JOIN run r ON s.run_id = r.id JOIN result e ON r.result_id = e.id"
        " WHERE e.submission_id = %s AND low IS NOT NULL"
    )
    statistics = scene.matches(submission)
    for _ in range(2):
        with damaged(scene.platform.truths, statistics):
            deliver_all(scene)
        assert scene.running.ask(has_intervals, submission) == []
        scene.sweep()

    deliver_all(scene)

    assert scene.running.ask(has_intervals, submission) != []
    assert scene.running.ask("SELECT FROM job WHERE dead_at IS NOT NULL OR failures > 0") == []


def deliver_all(scene: Scene) -> None:
    do_all(scene.platform, Queue.FOLLOW_UPS)


@contextmanager
def unchecked(scene: Scene) -> Iterator[tuple[str, str]]:
    """An upload whose check was interrupted, and the key of its archive."""
    upload = scene.someone.upload(PHASE, ARCHIVE)
    scene.running.ask(
        "UPDATE upload SET state = 'received', report = NULL, valid = NULL, checked_at = NULL WHERE id = %s",
        upload,
    )
    [[sha256, upload_id]] = scene.running.ask("SELECT sha256, id FROM upload WHERE id = %s", upload)
    yield upload, content_key(sha256, upload_id)


@pytest.mark.sampled
@pytest.mark.parametrize("damage", DAMAGES)
def test_an_upload_whose_stored_archive_is_damaged_gets_no_report(scene: Scene, damage: str) -> None:
    http = scene.someone.http
    with unchecked(scene) as (upload, key):
        with damaged(scene.platform.archives, key, damage):
            refused = http.post(f"/api/v1/uploads/{upload}/check")
            page = http.post(f"/uploads/{upload}/check")
            state = good(http.get(f"/api/v1/uploads/{upload}"))

        assert (refused.status_code, refused.json()["code"]) == (503, "storage-damaged")
        assert refused.headers["Retry-After"] == "600"
        assert "This is an error on our side" in page.text
        assert (state["state"], state["report"], state["valid"]) == ("received", None, None)
        assert good(http.post(f"/api/v1/uploads/{upload}/check"))["valid"]


def test_an_upload_is_not_checked_against_a_damaged_description(scene: Scene) -> None:
    with unchecked(scene) as (upload, _):
        with damaged(scene.platform.descriptions, scene.key(PHASE, "p.description_key"), "flipped"):
            refused = scene.someone.http.post(f"/api/v1/uploads/{upload}/check")

        assert (refused.status_code, refused.json()["code"]) == (503, "storage-damaged")
        assert good(scene.someone.http.post(f"/api/v1/uploads/{upload}/check"))["valid"]


def test_a_download_of_a_damaged_archive_is_aborted(scene: Scene) -> None:
    _, key = scene.submit()
    [[upload]] = scene.running.ask("SELECT id FROM upload ORDER BY started_at DESC LIMIT 1")
    address = f"/api/v1/uploads/{upload}/archive"

    with damaged(scene.platform.archives, key, "flipped"), pytest.raises(httpx2.RemoteProtocolError):
        scene.someone.http.get(address)

    assert scene.someone.http.get(address).content == ARCHIVE


@pytest.mark.sampled
def test_records_of_damage_last_only_while_the_content_is_needed(scene: Scene) -> None:
    submission, key = scene.submit()
    _, other = scene.submit()
    store = scene.platform.archives
    with damaged(store, key):
        scene.work()
        overwrite(store, other, b"damaged")
        with pytest.raises(StorageDamagedError), store.materialise(other):
            pass
        store.delete(other)
        store.delete(key)

        scene.sweep()

        [found] = good(scene.admin.http.get("/api/v1/admin/storage"))["damaged"]
        assert found["key"] == key
        [result] = scene.someone.submission(submission)["results"]
        withdrawal = {"reason": "its archive is lost"}
        good(scene.admin.http.post(f"/api/v1/results/{result['id']}/withdraw", json=withdrawal))
        scene.sweep()
        assert good(scene.admin.http.get("/api/v1/admin/storage"))["damaged"] == []
