"""Failing stores: a service that is down, wrong keys, a full disk, a stopped process."""

import errno
import fcntl
import hashlib
import io
import os
import resource
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import httpx2
import pytest

from app.core.errors import ConflictError, StorageFullError, StorageUnavailableError
from app.platform import INTERACTIVE
from app.storage import Catalogue, FolderStorage, Storage
from app.storage.s3 import Account, Bucket, S3Storage, client_of
from tests.system.conftest import SharedSite
from tests.system.installations import good
from tests.system.kits import results, small_kit
from tests.system.object_store import MiB, ObjectStore, store_at
from tests.system.process_trees import tree_of
from tests.system.proxies import proxy
from tests.system.servers import eventually
from tests.system.test_storage import append, read

pytestmark = [pytest.mark.slow, pytest.mark.system]

NOWHERE = Account("http://127.0.0.1:1", "us-east-1", "key", "secret")
CONTENT = bytes(range(256)) * 4096 * 3


def test_an_s3_outage_raises_one_error_type_until_the_server_is_back(objects: ObjectStore) -> None:
    store, upload = objects.storage(), uuid.uuid4()
    key = store.put(b"content")
    append(store, upload, b"first")
    attempts: list[Callable[[], object]] = [
        lambda: store.put(b"other"),
        lambda: store.open(key),
        lambda: store.materialise(key).__enter__(),
        lambda: store.exists(key),
        lambda: store.length(upload),
        lambda: store.append(upload, 5, io.BytesIO(b"second")),
        lambda: store.commit(upload, 5),
        lambda: store.discard(upload),
        lambda: list(store.contents()),
        lambda: list(store.partials()),
        store.check,
    ]

    with objects.down():
        for attempt in attempts:
            with pytest.raises(StorageUnavailableError):
                attempt()

    assert append(store, upload, b"second") == 11
    assert read(store, store.commit(upload, 11)) == b"firstsecond"
    assert read(store, key) == b"content"


def test_an_s3_connection_cut_during_an_append_loses_and_doubles_nothing(objects: ObjectStore) -> None:
    with proxy("127.0.0.1", int(objects.endpoint.rpartition(":")[2])) as link:
        store, upload = store_at(f"http://127.0.0.1:{link.port}", "cut/"), uuid.uuid4()
        large = CONTENT * 5
        key = store.put(large)

        class Cutting(io.BytesIO):
            """A piece of an upload in the middle of which the service is disconnected."""

            def read(self, size: int | None = -1) -> bytes:
                if self.tell() > MiB:
                    link.go_away()
                return super().read(size)

        with pytest.raises(StorageUnavailableError):
            store.append(upload, 0, Cutting(CONTENT))
        link.serve_new_connections()
        with store.open(key) as stream:
            assert stream.read(100) == CONTENT[:100]
            link.go_away()  # the buffers on the way hold less than the content
            with pytest.raises(StorageUnavailableError):
                stream.read()
        link.serve_new_connections()

        assert store.length(upload) == 0
        assert append(store, upload, CONTENT) == len(CONTENT)
        assert read(store, store.commit(upload, len(CONTENT))) == CONTENT
        assert read(store, key) == large


def test_objects_left_behind_by_a_check_are_swept(objects: ObjectStore) -> None:
    store = objects.storage()
    assert isinstance(store, S3Storage)
    store.bucket.create("check/left behind", io.BytesIO(b"check"))

    assert store.sweep(timedelta(hours=1)) == 0
    assert store.sweep(timedelta(seconds=-5)) >= 1

    assert list(store.bucket.objects("")) == []


def test_a_silent_s3_server_delays_a_request_no_longer_than_a_silent_database() -> None:
    config: Any = client_of(NOWHERE).meta.config

    assert config.read_timeout * config.retries["total_max_attempts"] <= INTERACTIVE.response


def test_keys_for_one_bucket_do_not_open_another(objects: ObjectStore) -> None:
    admin = client_of(objects.account("admin"))
    truths = S3Storage(Bucket("truth", "", admin))
    key = truths.put(b"ground truth")
    stranger = S3Storage(Bucket("truth", "", client_of(objects.account("public"))))

    for attempt in (
        lambda: stranger.open(key),
        lambda: list(stranger.contents()),
        lambda: stranger.put(b"x"),
    ):
        with pytest.raises(StorageUnavailableError):
            attempt()

    assert read(truths, key) == b"ground truth"


@pytest.mark.parametrize("broken", ["a file", "read-only"])
def test_an_unusable_folder_is_a_storage_error(tmp_path: Path, broken: str) -> None:
    root = tmp_path / "store"
    if broken == "a file":
        root.write_text("in place of the folder")
    elif os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    else:
        root.mkdir(mode=0o500)
    store = FolderStorage(root)

    attempts: list[Callable[[], object]] = [
        lambda: store.put(b"content"),
        lambda: store.append(uuid.uuid4(), 0, io.BytesIO(b"first")),
        store.check,
    ]
    for attempt in attempts:
        with pytest.raises(StorageUnavailableError):
            attempt()


def test_a_store_that_lost_its_folder_is_not_recreated(tmp_path: Path) -> None:
    volume, upload = tmp_path / "volume", uuid.uuid4()
    store = FolderStorage(volume / "archives", catalogue=Catalogue(has_contents=lambda: True))
    attempts: list[Callable[[], object]] = [
        lambda: store.put(b"content"),
        lambda: append(store, upload, b"first"),
        lambda: store.length(upload),
        lambda: store.exists("0" * 64),
        lambda: store.delete("0" * 64),
        lambda: list(store.contents()),
        lambda: list(store.partials()),
        store.check,
    ]
    for attempt in attempts:
        with pytest.raises(StorageUnavailableError) as refused:
            attempt()
        assert "is its volume mounted?" in refused.value.cause
    assert not volume.exists()

    (volume / "archives" / "content").mkdir(parents=True)
    assert read(store, store.put(b"content")) == b"content"


def test_a_store_that_vanishes_is_answered_with_503_until_it_is_back(
    site: SharedSite, tmp_path: Path
) -> None:
    running = site.installation
    running.load(small_kit(tmp_path), "vanishing", quota=9)
    address = running.start_web("vanishing web")
    someone = running.participant(address, "Elm")
    first = someone.upload("vanishing/test", results(cat=5, dog=5))
    archives = running.settings.public_storage / "archives"
    where = someone.create("vanishing/test", 5)

    aside = archives.rename(archives.with_name("unmounted"))
    try:
        refused = someone.append(where, b"first", 0)
        assert eventually(lambda: not httpx2.get(f"{address}/ready").is_success)  # retried once a second
        unready = httpx2.get(f"{address}/ready")
        checked = running.command("check")
        words = " ".join(checked.stdout.replace("│", " ").split())
        was_made = archives.exists()
    finally:
        aside.rename(archives)

    assert (refused.status_code, refused.json()["code"]) == (503, "storage-unavailable")
    assert (unready.status_code, "the storage cannot be written" in unready.text) == (503, True)
    assert (checked.returncode, "is its volume mounted?" in words) == (1, True), words
    assert not was_made
    assert someone.append(where, b"first", 0).status_code == 204
    assert good(someone.http.get(f"/api/v1/uploads/{first}"))["state"] == "checked"
    assert eventually(lambda: httpx2.get(f"{address}/ready").is_success)


def fill_the_disk(root: str, upload: str) -> str:
    """Append 3 MiB where files are limited to 1 MiB; returns the error and the upload's offset."""
    store = FolderStorage(Path(root))
    resource.setrlimit(resource.RLIMIT_FSIZE, (MiB, MiB))
    try:
        store.append(uuid.UUID(upload), 0, io.BytesIO(CONTENT))
    except StorageFullError as error:
        return f"{error.code} {store.length(uuid.UUID(upload))}"
    return "no error"


def test_a_full_disk_has_its_own_error_and_the_upload_can_continue(tmp_path: Path) -> None:
    upload = uuid.uuid4()
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as child:
        outcome = child.submit(fill_the_disk, str(tmp_path), str(upload)).result()

    store = FolderStorage(tmp_path)
    assert outcome == f"storage-full {MiB}"
    assert store.append(upload, MiB, io.BytesIO(CONTENT[MiB:])) == 3 * MiB
    assert read(store, store.commit(upload, 3 * MiB)) == CONTENT


def test_a_process_stopped_with_the_lock_blocks_one_upload_briefly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.storage.folder.LOCK_SECONDS", 0.2)
    store, upload = FolderStorage(tmp_path), uuid.uuid4()
    append(store, upload, b"first")
    with (tmp_path / "incoming" / str(upload)).open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)

        for attempt in (lambda: append(store, upload, b"x"), lambda: store.commit(upload, 5)):
            with pytest.raises(ConflictError, match="another request is writing"):
                attempt()
        assert append(store, uuid.uuid4(), b"another") == 7

    assert append(store, upload, b"second") == 11


def test_a_folder_store_provides_its_own_read_only_file(tmp_path: Path) -> None:
    store = FolderStorage(tmp_path)
    key = store.put(b"content")

    with store.materialise(key) as path:
        assert path == tmp_path / "content" / key[:2] / key
        assert path.stat().st_mode & 0o777 == 0o400


def test_an_upload_that_fills_the_disk_gets_507_and_can_continue_later(
    site: SharedSite, tmp_path: Path
) -> None:
    running = site.installation
    running.load(small_kit(tmp_path), "full", quota=9)
    someone = running.participant(running.start_web("full web"), "oak")
    archive = results(cat=5, dog=5) + bytes(3 * MiB)
    where = someone.create("full/test", len(archive))

    def send(offset: int) -> httpx2.Response:
        return someone.append(where, archive[offset:], offset)

    with largest_file(tree_of(running.pid("full web")), 2 * MiB):
        refused = send(0)
        offset = someone.offset(where)
        again = send(offset)

    assert {(response.status_code, response.json()["code"]) for response in (refused, again)} == {
        (507, "storage-full")
    }
    assert offset == 2 * MiB
    assert send(offset).status_code == 204
    finished = good(someone.http.get(where))
    assert finished["sha256"] == hashlib.sha256(archive).hexdigest()


@contextmanager
def largest_file(pids: list[int], size: int) -> Iterator[None]:
    """Simulate a full disk for these processes: no file may grow beyond `size`."""
    before = {pid: resource.prlimit(pid, resource.RLIMIT_FSIZE) for pid in pids}
    for pid, (_, hard) in before.items():
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        for pid, limits in before.items():
            resource.prlimit(pid, resource.RLIMIT_FSIZE, limits)


def test_a_disk_that_fills_up_during_a_draft_is_a_storage_error(tmp_path: Path) -> None:
    for store in (FolderStorage(tmp_path), S3Storage(Bucket("nowhere", "", client_of(NOWHERE)))):
        with pytest.raises(StorageFullError):
            _write_too_much(store)

    assert list((tmp_path / "incoming").iterdir()) == []


def _write_too_much(store: Storage) -> None:
    with store.draft():
        raise OSError(errno.ENOSPC, "No space left on device")
