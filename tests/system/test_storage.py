"""The contract of every store, tested on a folder and on a real S3 server."""

import hashlib
import hmac
import io
import tempfile
import uuid
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from threading import Barrier, Event

import httpx2
import pytest

from app.core.errors import (
    ChecksumError,
    ConflictError,
    OffsetError,
    StorageDamagedError,
    StorageUnavailableError,
)
from app.storage import Catalogue, FolderStorage, Storage, content_key, digest_of, is_intact, owner_of
from app.storage.s3 import S3Storage
from tests.system.damage import DAMAGES, overwrite
from tests.system.object_store import MiB, ObjectStore, store_at

pytestmark = pytest.mark.system

BIG = bytes(range(256)) * 4096 * 40  # 40 MiB: several pieces of an upload


@pytest.fixture(params=["folder", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Storage:
    """An empty store whose drafts lie in this test's folder, since a sweep takes those of the whole machine."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    if request.param == "folder":
        return FolderStorage(tmp_path / "store")
    running: ObjectStore = request.getfixturevalue("objects")
    return running.storage()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def read(store: Storage, key: str) -> bytes:
    with store.open(key) as stream:
        return stream.read()


def append(store: Storage, upload: uuid.UUID, *pieces: bytes) -> int:
    end = store.length(upload)
    for each in pieces:
        end = store.append(upload, end, io.BytesIO(each))
    return end


@pytest.mark.sampled
@pytest.mark.parametrize("content", [b"", b"x", b"some bytes", BIG], ids=["empty", "one", "few", "40 MiB"])
def test_stored_bytes_are_read_back_under_their_hash(store: Storage, content: bytes, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(content)

    key = store.put(content)

    assert key == store.put(tmp_path / "file") == sha256(content)
    assert read(store, key) == content
    assert (store.exists(key), store.size(key)) == (True, len(content))
    with store.materialise(key) as path:
        assert path.read_bytes() == content
    [found] = store.contents()
    assert (found.key, found.size) == (key, len(content))
    assert abs(found.stored_at - datetime.now(UTC)) < timedelta(minutes=5)


def test_a_stream_starts_at_the_given_byte(store: Storage) -> None:
    key = store.put(BIG)

    with store.open(key, 30 * MiB + 5) as stream:
        assert stream.read(1000) == BIG[30 * MiB + 5 : 30 * MiB + 1005]


@pytest.mark.sampled
@pytest.mark.parametrize(
    "pieces",
    [[b"all"], [b"a", b"b", b"c"], [BIG[: 20 * MiB], b"", BIG[20 * MiB :]]],
    ids=["1", "3", "40 MiB"],
)
def test_appended_pieces_become_a_content_that_survives_the_upload(
    store: Storage, pieces: list[bytes]
) -> None:
    upload, content = uuid.uuid4(), b"".join(pieces)
    assert store.length(upload) == 0

    assert append(store, upload, *pieces) == store.length(upload) == len(content)
    [found] = store.partials()
    key = store.commit(upload, len(content), sha256(content))
    store.discard(upload)

    assert (found.upload_id, found.size) == (upload, len(content))
    assert key == content_key(sha256(content), upload)
    assert read(store, key) == content
    assert list(store.partials()) == []


def test_bytes_at_an_offset_other_than_the_end_are_refused(store: Storage) -> None:
    upload = uuid.uuid4()
    for offset in (1, 100):
        with pytest.raises(OffsetError) as early:
            store.append(upload, offset, io.BytesIO(b"?"))
        assert early.value.received == 0
    append(store, upload, b"first", b"second")

    for offset in (0, 5, 10, 12):
        with pytest.raises(OffsetError) as refused:
            store.append(upload, offset, io.BytesIO(b"?"))
        assert refused.value.received == 11

    assert read(store, store.commit(upload, 11)) == b"firstsecond"


def test_a_commit_requires_the_declared_size_and_hash(store: Storage) -> None:
    upload = uuid.uuid4()
    append(store, upload, b"first")
    for size in (0, 4, 6):
        with pytest.raises(OffsetError):
            store.commit(upload, size)
    append(store, upload, b"second")

    with pytest.raises(ChecksumError):
        store.commit(upload, 11, sha256(b"something else"))

    assert list(store.contents()) == []
    with pytest.raises(OffsetError):
        store.commit(uuid.uuid4(), 5)


def test_equal_bytes_of_two_uploads_are_stored_as_two_contents(store: Storage) -> None:
    uploads = uuid.uuid4(), uuid.uuid4()
    for upload in uploads:
        append(store, upload, b"equal")
    first, second = (store.commit(upload, 5) for upload in uploads)
    packed = store.put(b"equal", uploads[0])

    store.delete(first)

    assert (packed, owner_of(first), owner_of(second)) == (first, *uploads)
    assert (store.exists(first), read(store, second)) == (False, b"equal")


def test_a_commit_can_be_repeated_and_refuses_further_bytes(store: Storage) -> None:
    upload = uuid.uuid4()
    append(store, upload, b"first")

    keys = {store.commit(upload, 5) for _ in range(3)}
    for offset in (0, 5):
        with pytest.raises(ConflictError):
            store.append(upload, offset, io.BytesIO(b"more"))
    store.delete(keys.pop())
    key = store.commit(upload, 5)  # as after a crash

    assert read(store, key) == b"first"
    assert store.length(upload) == 5


def test_an_existing_content_is_never_rewritten(store: Storage) -> None:
    store.put(b"content")
    upload = uuid.uuid4()
    append(store, upload, b"content")
    store.commit(upload, 7)
    before = sorted(store.contents(), key=lambda each: each.key)

    store.put(b"content")
    store.commit(upload, 7)

    assert sorted(store.contents(), key=lambda each: each.key) == before


def test_one_of_many_writers_at_an_offset_wins_each_piece(store: Storage) -> None:
    upload, start = uuid.uuid4(), Barrier(6)

    def write(name: int) -> int | None:
        start.wait()
        try:
            return store.append(upload, 0, io.BytesIO(bytes([name]) * 100_000))
        except ConflictError:
            return None

    with ThreadPoolExecutor(6) as crowd:
        ends = list(crowd.map(write, range(6)))

    [winner] = [name for name, end in enumerate(ends) if end is not None]
    assert store.length(upload) == 100_000
    assert read(store, store.commit(upload, 100_000)) == bytes([winner]) * 100_000


class Held(io.BytesIO):
    """A stream whose reader waits until it is released."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self.is_read, self.is_free = Event(), Event()

    def read(self, size: int | None = -1, /) -> bytes:
        self.is_read.set()
        assert self.is_free.wait(30)
        return super().read(size)


def test_a_commit_racing_an_append_stores_content_that_fits_its_key(store: Storage) -> None:
    upload = uuid.uuid4()
    append(store, upload, b"first")
    late = Held(b"late")
    with ThreadPoolExecutor(2) as two:
        appending = two.submit(store.append, upload, 5, late)
        assert late.is_read.wait(30)
        committing = two.submit(partial(store.commit, upload, 5))
        late.is_free.set()
        outcomes = {each.exception() is None for each in (appending, committing)}

    assert True in outcomes
    if committing.exception() is None:
        assert read(store, committing.result()) == b"first"
    for content in store.contents():
        assert sha256(read(store, content.key)) == digest_of(content.key)


def write_and_commit(
    opened: Callable[[], Storage], upload: uuid.UUID, size: int, letter: bytes
) -> str | None:
    """Append pieces at the end of the upload until it is complete, then commit, ignoring other writers."""
    store = opened()
    for _ in range(1000):
        try:
            end = store.length(upload)
            if end == size:
                return store.commit(upload, size)
            store.append(upload, end, io.BytesIO(letter * min(end % 7000 + 1000, size - end)))
        except ConflictError:
            continue
    return None


@pytest.mark.slow
def test_processes_racing_for_every_piece_produce_one_content(store: Storage) -> None:
    upload, size = uuid.uuid4(), 100_000
    opened: Callable[[], Storage] = partial(FolderStorage, getattr(store, "root", Path()))
    if isinstance(store, S3Storage):
        opened = partial(store_at, str(store.bucket.client.meta.endpoint_url), store.bucket.prefix)
    with ProcessPoolExecutor(3, mp_context=get_context("spawn")) as crowd:
        racing = [
            crowd.submit(write_and_commit, opened, upload, size, letter) for letter in (b"a", b"b", b"c")
        ]
        keys = {each.result(200) for each in racing}

    [key] = keys
    assert key is not None
    assert [content.key for content in store.contents()] == [key]
    assert (store.size(key), sha256(read(store, key))) == (size, digest_of(key))


@pytest.mark.slow
def test_simultaneous_commits_agree(store: Storage) -> None:
    upload, start = uuid.uuid4(), Barrier(4)
    append(store, upload, BIG)

    def commit(_: int) -> str:
        start.wait()
        return store.commit(upload, len(BIG))

    with ThreadPoolExecutor(4) as crowd:
        assert set(crowd.map(commit, range(4))) == {content_key(sha256(BIG), upload)}


def test_reading_a_missing_content_is_an_error_but_removing_it_is_not(store: Storage) -> None:
    key = sha256(b"never stored")
    attempts: list[Callable[[], object]] = [
        lambda: store.open(key),
        lambda: store.size(key),
        lambda: store.materialise(key).__enter__(),
    ]
    for attempt in attempts:
        with pytest.raises(StorageUnavailableError):
            attempt()

    assert not store.exists(key)
    store.delete(key)
    store.discard(uuid.uuid4())


@pytest.mark.parametrize("key", ["", "../../etc/passwd", "A" * 64, "a" * 63, "a" * 64 + "/x"])
def test_a_key_is_never_a_path(store: Storage, key: str) -> None:
    for use in (store.open, store.exists, store.size, store.delete):
        with pytest.raises(ValueError, match="a key is a sha256"):
            use(key)


@pytest.mark.sampled
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_changed_content_is_never_read_without_an_error(store: Storage, damage: str) -> None:
    noted: list[str] = []
    store = replace(store, catalogue=Catalogue(note_damage=noted.append))
    key, other = store.put(b"some bytes"), store.put(b"others")
    overwrite(store, key, DAMAGES[damage](b"some bytes"))

    with pytest.raises(StorageDamagedError) as refused:
        read(store, key)
    with pytest.raises(StorageDamagedError), store.materialise(key) as path:
        path.read_bytes()

    assert (refused.value.key, set(noted)) == (key, {key})
    assert (is_intact(store, key), is_intact(store, other)) == (False, True)
    overwrite(store, key, b"some bytes")
    assert read(store, key) == b"some bytes"


def test_a_failure_on_a_damaged_content_is_reported_as_damage(store: Storage) -> None:
    def fail() -> None:
        with store.materialise(key):
            raise ZeroDivisionError

    key = store.put(b"some bytes")
    with pytest.raises(ZeroDivisionError):
        fail()
    overwrite(store, key, b"some byte")

    with pytest.raises(StorageDamagedError):
        fail()


def test_a_part_of_a_content_is_read_without_the_rest(store: Storage) -> None:
    key = store.put(b"some bytes")
    overwrite(store, key, b"some bytez")

    with store.open(key, 2) as stream:
        assert stream.read() == b"me bytez"
    with store.open(key) as stream:
        assert stream.read(4) == b"some"


def test_a_keyed_store_names_and_verifies_contents_by_their_hmac(store: Storage) -> None:
    keyed = Catalogue(new_digest=partial(hmac.new, b"key", digestmod="sha256"))
    private = replace(store, catalogue=keyed)

    key = private.put(b"some bytes")

    assert key == hmac.new(b"key", b"some bytes", "sha256").hexdigest()
    assert read(private, key) == b"some bytes"
    assert not is_intact(store, key)


@pytest.mark.sampled
def test_storing_a_damaged_content_again_repairs_it(store: Storage) -> None:
    key = store.put(BIG)
    overwrite(store, key, b"")

    assert store.put(BIG) == key

    assert read(store, key) == BIG
    assert [content.key for content in store.contents()] == [key]


def test_a_content_that_changes_during_use_is_detected(tmp_path: Path) -> None:
    store = FolderStorage(tmp_path)
    key = store.put(b"some bytes")

    def use() -> None:
        with store.materialise(key) as path:
            assert path.read_bytes() == b"some bytes"
            overwrite(store, key, b"same bytes")

    with pytest.raises(StorageDamagedError):
        use()


def test_deleted_contents_are_gone(store: Storage) -> None:
    kept, gone = store.put(b"kept"), store.put(b"gone")

    store.delete(gone)

    assert [content.key for content in store.contents()] == [kept]
    assert not store.exists(gone)


def test_a_draft_is_removed_after_an_error(store: Storage) -> None:
    def fail() -> None:
        with store.draft() as draft:
            draft.write_bytes(b"half")
            drafts.append(draft)
            raise ZeroDivisionError

    drafts: list[Path] = []
    with pytest.raises(ZeroDivisionError):
        fail()

    assert not drafts[0].exists()
    assert list(store.partials()) == []
    assert store.sweep(timedelta()) == 0


def test_a_draft_left_behind_by_a_crash_is_swept(store: Storage) -> None:
    abandoned = store.draft()
    draft = abandoned.__enter__()
    draft.write_bytes(b"half")

    assert store.sweep(timedelta(hours=1)) == 0
    assert store.sweep(timedelta(seconds=-1)) == 1

    assert not draft.exists()


def test_adjacent_stores_do_not_see_each_others_contents(
    store: Storage, objects: ObjectStore, tmp_path: Path
) -> None:
    other: Storage = FolderStorage(tmp_path / "other")
    if not isinstance(store, FolderStorage):
        other = objects.storage()
    key = store.put(b"content")

    assert not other.exists(key)
    assert list(other.contents()) == []
    other.delete(key)
    assert store.exists(key)


def test_a_store_that_works_passes_its_check(store: Storage) -> None:
    store.check()

    assert list(store.contents()) == []
    assert list(store.partials()) == []


def test_only_a_store_with_a_server_of_its_own_gives_addresses_from_which_a_browser_saves_a_content(
    store: Storage,
) -> None:
    content = b"<script>alert(1)</script>"
    key = store.put(content, uuid.uuid4())

    address = store.presigned(key, 'a "page" ü.html', timedelta(minutes=15))

    assert (address is None) == isinstance(store, FolderStorage)
    if address is not None:
        whole, part = httpx2.get(address), httpx2.get(address, headers={"Range": "bytes=8-"})
        assert (whole.status_code, whole.content) == (200, content)
        assert (part.status_code, part.content) == (206, content[8:])
        assert whole.headers["content-disposition"].startswith('attachment; filename="a _page_ _.html"')
        assert whole.headers["content-type"] == "application/octet-stream"
        assert httpx2.get(address.replace("X-Amz-Expires=900", "X-Amz-Expires=9000")).status_code == 403
