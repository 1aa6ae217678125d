"""What is removed when, what is never removed, and whose check waits for another."""

import io
import os
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from sqlalchemy import select

from app.models import Base, UploadState
from app.people import sessions
from app.platform import Platform
from app.storage import FolderStorage, content_key
from app.submissions import retention, submitting
from tests.system.holds import in_a_pipe
from tests.system.installations import Client, Installation, awaited, good, installation, stored_file
from tests.system.kits import results, small_kit
from tests.system.servers import OwnServers, eventually

pytestmark = pytest.mark.system

PHASE = "kept/test"
DAY = 86_400  # seconds
ARCHIVES = (results(cat=number, dog=1) for number in range(1, 12))  # each with different content
BAD = b"no archive"


@dataclass(frozen=True, slots=True)
class Place:
    """A web server without a worker, so that only tests sweep."""

    installation: Installation
    address: str

    def participant(self, name: str) -> Client:
        return self.installation.participant(self.address, name)


@dataclass(frozen=True, slots=True)
class Stalled(FolderStorage):
    """A store whose process stalls before it deletes."""

    stand_still: Callable[[], None] = field(kw_only=True)

    def delete(self, key: str) -> None:
        self.stand_still()
        FolderStorage.delete(self, key)


@pytest.fixture(scope="module")
def place(own_servers: OwnServers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with installation(own_servers) as running:
        running.load(small_kit(tmp_path_factory.mktemp("kept")), "kept", quota=9)
        other = {"max_files": 30_000}  # for its own description
        running.load(small_kit(tmp_path_factory.mktemp("free")), "free", quota=9, limits=other)
        yield Place(running, running.start_web())


@pytest.fixture(scope="module")
def platform(place: Place) -> Platform:
    return place.installation.platform


@pytest.fixture(scope="module")
def oak(place: Place) -> Client:
    return place.participant("oak")


def made_older(place: Place, upload: str, days: int) -> None:
    """Make an upload some days old."""
    place.installation.ask(
        "UPDATE upload SET started_at = started_at - %s * interval '1 day',"
        " received_at = received_at - %s * interval '1 day', checked_at = checked_at - %s * interval '1 day'"
        " WHERE id = %s",
        *3 * (days,),
        upload,
    )


def key_of(client: Client, upload: str) -> str:
    """The key under which the archive of an upload is stored."""
    return content_key(good(client.http.get(f"/api/v1/uploads/{upload}"))["sha256"], uuid.UUID(upload))


def state(client: Client, upload: str) -> str:
    return str(good(client.http.get(f"/api/v1/uploads/{upload}"))["state"])


def test_an_unconfirmed_valid_archive_is_removed_after_seven_days(
    place: Place, platform: Platform, oak: Client
) -> None:
    upload = oak.upload(PHASE, next(ARCHIVES))
    key = key_of(oak, upload)
    made_older(place, upload, 6)
    retention.sweep_uploads(platform)
    assert state(oak, upload) == "checked"

    made_older(place, upload, 1)
    retention.sweep_uploads(platform)

    assert state(oak, upload) == "expired"
    assert not platform.archives.exists(key)
    refused = oak.confirm(upload, "Too late")
    assert (refused.status_code, refused.json()["problems"][0]["code"]) == (410, "removed")
    assert oak.http.get(f"/api/v1/uploads/{upload}/archive").status_code == 404
    page = oak.http.get(f"/uploads/{upload}", headers={"Accept": "text/html"})
    assert "was removed and cannot be scored" in page.text


@pytest.mark.sampled
def test_invalid_and_partial_archives_are_removed_after_two_days(
    place: Place, platform: Platform, oak: Client
) -> None:
    bad = str(good(oak.send(PHASE, BAD))["id"])
    where = oak.create(PHASE, 1000)
    oak.append(where, b"some bytes", 0)
    partial = where.rpartition("/")[2]

    for upload in (bad, partial):
        made_older(place, upload, 2)
        retention.sweep_uploads(platform)
        assert state(oak, upload) == "expired"

    assert oak.http.head(where, headers={"Tus-Resumable": "1.0.0"}).status_code == 410
    assert oak.append(where, b"more", 10).status_code == 410
    assert platform.archives.length(uuid.UUID(partial)) == 0


def test_a_confirmed_archive_is_never_removed(place: Place, platform: Platform, oak: Client) -> None:
    archive = next(ARCHIVES)
    upload = oak.upload(PHASE, archive)
    good(oak.confirm(upload, "For ever"))
    made_older(place, upload, 1000)

    retention.sweep_uploads(platform)

    assert state(oak, upload) == "checked"
    assert good(oak.http.get(f"/api/v1/uploads/{upload}"))["expires_at"] is None
    assert oak.http.get(f"/api/v1/uploads/{upload}/archive").content == archive


def test_a_stalled_removal_does_not_delete_an_equal_archive(
    place: Place, platform: Platform, oak: Client
) -> None:
    archive = next(ARCHIVES)
    made_older(place, oak.upload(PHASE, archive), 8)
    confirmed: list[str] = []

    def stands_still() -> None:  # until the same bytes have been uploaded again
        confirmed.append(oak.upload(PHASE, archive))
        good(oak.confirm(confirmed[0], "The same again"))

    assert isinstance(platform.archives, FolderStorage)
    stalled = Stalled(platform.archives.root, stand_still=stands_still)
    retention.sweep_uploads(replace(platform, archives=stalled))

    assert len(confirmed) == 1
    assert oak.http.get(f"/api/v1/uploads/{confirmed[0]}/archive").content == archive


def test_an_upload_being_confirmed_is_not_removed(place: Place, platform: Platform, oak: Client) -> None:
    upload = oak.upload(PHASE, next(ARCHIVES))
    made_older(place, upload, 8)
    [[person, team]] = place.installation.ask("SELECT user_id, team_id FROM upload WHERE id = %s", upload)

    with platform.transaction() as session:
        assert submitting.stored_upload(session, person, team, uuid.UUID(upload)) is not None
        retention.sweep_uploads(platform)
        assert state(oak, upload) == "checked"
    retention.sweep_uploads(platform)
    assert state(oak, upload) == "expired"


def test_an_upload_confirmed_before_it_is_locked_is_not_expired(
    place: Place, platform: Platform, oak: Client
) -> None:
    upload = oak.upload(PHASE, next(ARCHIVES))
    good(oak.confirm(upload, "Just in time"))

    with platform.transaction() as session:
        expired = retention.expire(
            session, [uuid.UUID(upload)]
        )  # as if its row had looked due a moment before

    assert expired == []
    assert state(oak, upload) == "checked"


def test_a_confirmation_that_waited_for_the_sweep_is_refused(
    place: Place, platform: Platform, oak: Client
) -> None:
    upload = oak.upload(PHASE, next(ARCHIVES))

    with ThreadPoolExecutor(1) as other, platform.transaction() as session:
        assert [one.state for one in retention.expire(session, [uuid.UUID(upload)])] == [UploadState.EXPIRED]
        response = other.submit(oak.confirm, upload, "A moment late")
        waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"
        assert eventually(lambda: place.installation.ask(waiting)[0][0] > 0)
        session.commit()
        refused = response.result()

    assert (refused.status_code, refused.json()["problems"][0]["code"]) == (410, "removed")


@pytest.mark.sampled
def test_a_full_personal_storage_is_refused_with_how_to_make_room(place: Place) -> None:
    small_share = place.installation.start_web("small share", max_stored=1000)
    elm = place.installation.participant(small_share, "elm")
    where = elm.create(PHASE, 900)

    refused = elm.send(PHASE, bytes(200))

    assert (refused.status_code, refused.json()["code"]) == (413, "stored-bytes")
    assert "delete some at /uploads" in refused.json()["detail"]
    assert elm.http.delete(where).status_code == 204
    assert elm.send(PHASE, bytes(200)).status_code == 201


def test_an_organiser_sees_the_contents_of_the_storage(place: Place, oak: Client) -> None:
    oak.create(PHASE, 500)
    good(oak.confirm(oak.upload(PHASE, next(ARCHIVES)), "Stored for good"))

    storage = good(place.installation.organiser(place.address).http.get("/api/v1/admin/storage"))

    kinds = {line["kind"]: line for line in storage["lines"]}
    assert kinds["partial"]["uploads"] >= 1
    assert kinds["partial"]["next_removal"] is not None
    assert kinds["confirmed"]["next_removal"] is None
    assert storage["contents"] > 0
    assert oak.http.get("/api/v1/admin/storage").status_code == 403


def test_sessions_are_deleted_30_days_after_they_ended(place: Place, platform: Platform) -> None:
    ask = place.installation.ask
    place.participant("yew")
    [[logins]] = ask("SELECT count(*) FROM login_session")
    ended = "UPDATE login_session SET expires_at = now() - interval '{}' WHERE user_id = (SELECT max(id) FROM user_account)"
    ask(ended.format("29 days"))
    sessions.delete_expired_sessions(platform)
    assert ask("SELECT count(*) FROM login_session") == [(logins,)]
    ask(ended.format("30 days"))

    sessions.delete_expired_sessions(platform)

    assert ask("SELECT count(*) FROM login_session") == [(logins - 1,)]


def test_files_that_belong_to_no_upload_are_removed_once_they_are_old(
    platform: Platform, oak: Client
) -> None:
    store = platform.archives
    assert isinstance(store, FolderStorage)
    kept = key_of(oak, oak.upload(PHASE, next(ARCHIVES)))
    arriving = uuid.UUID(oak.create(PHASE, 4).rpartition("/")[2])
    store.append(arriving, 0, io.BytesIO(b"late"))
    committed = store.commit(arriving, 4)  # by a request that is about to record it
    unknown = store.put(b"left by a crash", uuid.uuid4())
    unowned, young = store.put(b"of nobody"), store.put(b"just stored")
    for key in (kept, committed, unknown, unowned):
        made_old(store.root / "content" / key[:2] / key)

    retention.remove_unnamed(platform, "archives")

    assert [store.exists(key) for key in (kept, committed, unknown, unowned, young)] == [
        True, True, False, False, True,
    ]  # fmt: skip
    store.delete(young)


def test_the_sweep_knows_every_column_that_names_a_content() -> None:
    others = {
        "Team.name_key", "Method.name_key", "DamagedContent.key", "Job.key", "Submission.idempotency_key",
        "Result.rank_key", "Result.ladder_rank_key", "SigningKey.key", "EventKey.key", "WebhookDelivery.event_key",
        "IntakeKey.public_key",
    }  # fmt: skip
    columns = {
        f"{mapper.class_.__name__}.{column.key}"
        for mapper in Base.registry.mappers
        for column in mapper.columns
        if column.key == "key" or column.key.endswith("_key")
    }

    known = {str(column) for _, column in retention.NAMING}

    assert columns - others == known - {"GroundTruth.key"}  # which consists of two columns


def test_unreferenced_contents_of_every_store_are_removed_after_a_day(
    place: Place, platform: Platform
) -> None:
    ask = place.installation.ask
    stores = {
        "descriptions": platform.descriptions,
        "artefacts": platform.artefacts,
        "files": platform.files,
        "intake": platform.intake,
        "truth": platform.truths,
    }
    left = {name: store.put(f"left in {name}".encode(), uuid.uuid4()) for name, store in stores.items()}
    young = platform.truths.put(b"of an import that is under way", uuid.uuid4())
    for store in stores.values():
        assert isinstance(store, FolderStorage)
        for file in (each for each in (store.root / "content").rglob("*") if each.is_file()):
            if file.name != young:
                made_old(file)
    ask("DELETE FROM heartbeat WHERE starts_with(name, 'contents of ')")

    retention.sweep_contents(
        replace(platform, private=None, truth_key=None)
    )  # the sweeper without access to ground truth
    is_left = {name: stores[name].exists(key) for name, key in left.items()}
    retention.sweep_contents(platform)
    retention.sweep_contents(platform)  # does nothing: it has already run today
    storage = good(place.installation.organiser(place.address).http.get("/api/v1/admin/storage"))

    public = ("descriptions", "artefacts", "files", "intake")
    assert is_left == {**dict.fromkeys(public, False), "truth": True}
    assert not platform.truths.exists(left["truth"])
    assert platform.truths.exists(young)
    for name, column in retention.NAMING:
        with platform.transaction() as session:
            keys = [key for key in session.scalars(select(column)) if key]
        assert all(stores[name].exists(key) for key in keys)
    removed = "(details->>'contents')::int), sum((details->>'bytes')::int"
    [[count, size]] = ask(f"SELECT sum({removed}) FROM audit WHERE action = 'storage.sweep'")
    assert count >= len(left)
    assert size >= sum(len(f"left in {name}") for name in left)
    assert storage["last_sweep"]["contents"] >= 1
    assert storage["last_sweep"]["bytes"] >= len("left in truth")
    platform.truths.delete(young)


def made_old(file: Path) -> None:
    changed = file.stat().st_mtime - 2 * DAY
    os.utime(file, (changed, changed))


def test_one_person_has_one_check_at_a_time_without_delaying_others(place: Place, platform: Platform) -> None:
    ash, fir = place.participant("ash"), place.participant("fir")
    ask = place.installation.ask
    [[key]] = ask(
        "SELECT description_key FROM phase JOIN challenge ON challenge_id = challenge.id WHERE code = 'kept'"
    )
    description = stored_file(platform.descriptions, key)
    with in_a_pipe(description) as pipe, ThreadPoolExecutor(2) as together:
        responses = [together.submit(ash.send, PHASE, next(ARCHIVES)) for _ in range(2)]
        awaited(lambda: checks(place) == (1, 2))

        assert fir.upload("free/test", results(cat=1))
        assert checks(place) == (1, 2)

        pipe.put_back()
        pipe.deliver()
        assert [good(response.result())["state"] for response in responses] == ["checked", "checked"]


def checks(place: Place) -> tuple[int, int]:
    """How many checks are running, and how many uploads wait for a check or are being checked."""
    [row] = place.installation.ask(
        "SELECT count(*) FILTER (WHERE check_until > now()), count(*) FROM upload WHERE state = 'received'"
    )
    return int(row[0]), int(row[1])
