"""Data sets of organisers: what arrives can be read by workers alone, and is resumed, replaced and deleted."""

import base64
import subprocess
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from httpx2 import Response
from sqlalchemy import delete, func, insert, select, text, update
from starlette.testclient import TestClient

from app.core.errors import StorageFullError
from app.intake import intakes, keys
from app.intake.importing import TreeImport, import_tree
from app.intake.segments import SEGMENT, in_order, unseal
from app.models import Base, Event, EventKind, Intake, IntakeFile, IntakeKey, IntakeSegment, IntakeState
from app.organising import roles
from app.platform import Platform
from app.submissions import retention
from tests.pages.test_accounts import registered
from tests.system.kits import small_kit

TUS = {"Tus-Resumable": "1.0.0"}
PATCH = {**TUS, "Content-Type": "application/offset+octet-stream"}
CANARY = b"canary-of-hidden-annotation"
ORGANISE = "/api/v1/organise"


@dataclass
class Place:
    """A challenge with an organiser."""

    platform: Platform
    organiser: TestClient

    def start(self) -> str:
        """Start a data set and return its id."""
        started = self.organiser.post(f"{ORGANISE}/challenges/oak/data-sets")
        assert started.status_code == 201, started.text
        return str(started.json()["id"])

    def put(self, intake: str, content: bytes, role: str = "hidden", name: str = "test.zip") -> Response:
        return self.organiser.put(f"{ORGANISE}/data-sets/{intake}/files/{role}/{name}", content=content)

    def create(
        self, intake: str, size: int, role: str = "hidden", name: str = "test.zip", **headers: str
    ) -> Response:
        pairs = {"filename": name, "role": role}
        metadata = ",".join(
            f"{key} {base64.b64encode(value.encode()).decode()}" for key, value in pairs.items()
        )
        sent = {**TUS, "Upload-Length": str(size), "Upload-Metadata": metadata, **headers}
        return self.organiser.post(f"{ORGANISE}/data-sets/{intake}/files", headers=sent)

    def patch(self, url: str, offset: int, content: bytes, **headers: str) -> Response:
        return self.organiser.patch(
            url, content=content, headers={**PATCH, "Upload-Offset": str(offset), **headers}
        )

    def decrypted(self, intake: str) -> dict[str, bytes]:
        """The files of a data set as a worker sees them."""
        found = {}
        with self.platform.transaction() as session:
            for file in session.scalars(select(IntakeFile).where(IntakeFile.intake_id == uuid.UUID(intake))):
                rows = session.execute(
                    select(IntakeSegment, IntakeKey)
                    .join(IntakeKey, IntakeSegment.key_id == IntakeKey.id)
                    .where(IntakeSegment.file_id == file.id)
                    .order_by(IntakeSegment.offset)
                ).all()
                segments = (
                    unseal(
                        self.platform.intake.open(row.key).read(),
                        keys.identity(self.platform.secret.store, key),
                    )
                    for row, key in rows
                )
                found[file.name] = b"".join(in_order(segments, file.intake_id, file.id, file.role.value))
        return found


@pytest.fixture(scope="module")
def place(app: FastAPI, platform: Platform, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    tree = small_kit(tmp_path_factory.mktemp("data"))
    import_tree(platform, TreeImport(tree, "oak", "test"))
    client = TestClient(app, headers={"Accept": "application/json"}, follow_redirects=False)
    registered(client, "organiser@example.org")
    client.post(f"/role-links/{roles.create_organiser_link(platform, 'oak')}")
    refused = client.post(f"{ORGANISE}/challenges/oak/data-sets")
    assert (refused.status_code, refused.json()["code"]) == (503, "no-worker")
    assert keys.check(platform)
    yield Place(platform, client)
    client.close()


def content_of(size: int) -> bytes:
    return (CANARY * (size // len(CANARY) + 1))[:size]


def test_what_arrives_can_be_read_by_workers_alone(
    place: Place,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    intake, content = place.start(), content_of(SEGMENT + 1000)

    sent = place.put(intake, content)
    created = place.create(intake, 3000, name="b.json")
    url = created.headers["location"]
    for offset in (0, 1000, 2000):
        place.patch(url, offset, content[offset : offset + 1000])

    assert sent.status_code == 201, sent.text
    assert place.decrypted(intake) == {"test.zip": content, "b.json": content[:3000]}
    assert CANARY.decode() not in capfd.readouterr().out + caplog.text + sent.text + created.text
    stored = [path for path in place.platform.settings.data.rglob("*") if path.is_file()]
    assert any("intake" in path.parts for path in stored)
    assert not any(CANARY in path.read_bytes() for path in (*stored, *tmp_path.rglob("*")) if path.is_file())
    with place.platform.transaction() as session:
        for table in Base.metadata.sorted_tables:
            rows = session.execute(text(f'SELECT t::text FROM "{table.name}" t')).scalars().all()
            assert not any(CANARY.decode() in row or CANARY.hex() in row for row in rows), table.name


@pytest.mark.sampled
@pytest.mark.parametrize("cut", [1, SEGMENT - 1, SEGMENT, SEGMENT + 1])
def test_an_interrupted_upload_goes_on_where_its_last_segment_ends(place: Place, cut: int) -> None:
    intake, content = place.start(), content_of(2 * SEGMENT)
    url = place.create(intake, len(content)).headers["location"]

    first = place.patch(url, 0, content[:cut])
    wrong = place.patch(url, cut + 1, content[cut + 1 :])
    where = place.organiser.head(url)
    rest = place.patch(url, cut, content[cut:])

    assert (first.status_code, wrong.status_code, rest.status_code) == (204, 409, 204)
    assert (where.headers["upload-offset"], where.headers["upload-length"]) == (str(cut), str(len(content)))
    assert place.decrypted(intake) == {"test.zip": content}
    place.organiser.delete(f"{ORGANISE}/data-sets/{intake}")


def test_the_newest_request_writes_and_the_one_before_it_no_longer_does(place: Place) -> None:
    from app.intake import receiving

    intake = place.start()
    url = place.create(intake, 10).headers["location"]
    with place.platform.transaction() as session:
        file = intakes.file_view(session.get_one(IntakeFile, uuid.UUID(url.rsplit("/", 1)[1])))
    hangs = receiving._take_over(place.platform, file, 0)

    place.patch(url, 0, b"01234")

    with pytest.raises(Exception, match="another request has continued"):
        receiving._store(place.platform, file, hangs, 0, bytearray(b"x"))
    place.patch(url, 5, b"56789")
    assert place.decrypted(intake) == {"test.zip": b"0123456789"}


def test_an_object_that_is_not_listed_is_swept_and_deleting_removes_all_others(place: Place) -> None:
    intake = place.start()
    place.put(intake, content_of(1000))
    orphan = place.platform.intake.put(b"sealed, but the connection to the database broke")
    for path in (place.platform.settings.data / "storage" / "intake" / "content").rglob("*"):
        if path.is_file():
            subprocess.run(["touch", "-d", "2 days ago", path], check=True)
    with place.platform.transaction() as session:
        listed = set(session.scalars(select(IntakeSegment.key)))

    retention.remove_unnamed(place.platform, "intake")

    assert not place.platform.intake.exists(orphan)
    assert all(map(place.platform.intake.exists, listed))
    for each in place.organiser.get(f"{ORGANISE}/challenges/oak/data-sets").json()["intakes"]:
        assert place.organiser.delete(f"{ORGANISE}/data-sets/{each['id']}").status_code == 204
    assert not any(place.platform.intake.contents())


@pytest.mark.parametrize(
    ("send", "status", "words"),
    [
        (lambda place, intake: place.put(intake, b""), 422, "empty"),
        (lambda place, intake: place.put(intake, b"x", role="secret"), 422, "hidden"),
        (
            lambda place, intake: place.create(intake, 5, role="secret"),
            422,
            "expected images, public, hidden",
        ),
        (lambda place, intake: place.create(intake, 1 << 50), 413, "data-set-too-large"),
        (
            lambda place, intake: place.create(intake, 5, **{"Upload-Checksum": "sha1 x"}),
            400,
            "computes no hash",
        ),
        (
            lambda place, intake: place.patch(place.create(intake, 5).headers["location"], 0, b"123456"),
            413,
            "declared",
        ),
        (
            lambda place, intake: place.organiser.post(
                f"{ORGANISE}/data-sets/{intake}/files", files={"file": b"x"}, headers=TUS
            ),
            422,
            "role",
        ),
    ],
)
def test_what_cannot_be_received_is_refused_with_a_sentence(
    place: Place, send: Any, status: int, words: str
) -> None:
    intake = place.start()

    answer = send(place, intake)

    assert answer.status_code == status, answer.text
    assert words in answer.text
    place.organiser.delete(f"{ORGANISE}/data-sets/{intake}")


def test_a_full_disk_refuses_a_segment_and_the_upload_goes_on_later(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    intake, content = place.start(), content_of(2000)
    url = place.create(intake, len(content)).headers["location"]
    place.patch(url, 0, content[:1000])
    with monkeypatch.context() as patched:

        def full(*_: object) -> str:
            raise StorageFullError("No space left on device")

        patched.setattr(type(place.platform.intake), "put", full)
        refused = place.patch(url, 1000, content[1000:])

    rest = place.patch(url, int(place.organiser.head(url).headers["upload-offset"]), content[1000:])

    assert (refused.status_code, rest.status_code) == (507, 204)
    assert place.decrypted(intake) == {"test.zip": content}
    place.organiser.delete(f"{ORGANISE}/data-sets/{intake}")


def test_a_key_can_be_replaced_in_the_middle_of_an_upload(place: Place) -> None:
    keys.rotate(place.platform)  # to a key that no other test needs
    intake, content = place.start(), content_of(2000)
    url = place.create(intake, len(content)).headers["location"]
    place.patch(url, 0, content[:1000])
    with place.platform.transaction() as session:
        old = keys.newest(session).name

    keys.rotate(place.platform)
    place.patch(url, 1000, content[1000:])

    assert place.decrypted(intake) == {"test.zip": content}
    with place.platform.transaction() as session:
        session.execute(update(IntakeKey).values(created_at=func.now() - text("interval '2 days'")))
    keys.delete_unused(place.platform)
    assert place.platform.secret.store.exists(old)  # this data set needs it
    place.organiser.delete(f"{ORGANISE}/data-sets/{intake}")
    keys.delete_unused(place.platform)
    assert not place.platform.secret.store.exists(old)
    assert keys.check(place.platform)


def test_a_public_key_that_is_not_the_workers_raises_an_alarm(place: Place) -> None:
    with place.platform.transaction() as session:
        key = keys.newest(session)
        mine, key.public_key = key.public_key, "age1" + "q" * 58

    found = keys.check(place.platform)

    with place.platform.transaction() as session:
        session.get_one(IntakeKey, key.id).public_key = mine
        assert session.scalar(select(func.count()).where(Event.kind == EventKind.INTAKE_KEY)) == 1
    assert not found
    assert keys.check(place.platform)


def test_a_data_set_that_nobody_touches_is_removed_after_a_warning(place: Place) -> None:
    before = {each.key for each in place.platform.intake.contents()}
    intake = place.start()
    place.put(intake, b"content")

    def age(days: int) -> None:
        with place.platform.transaction() as session:
            values = {"changed_at": func.now() - text(f"interval '{days} days'")}
            session.execute(update(Intake).where(Intake.id == uuid.UUID(intake)).values(values))
        intakes.remove_untouched(place.platform)

    age(40)
    with place.platform.transaction() as session:
        row = session.get_one(Intake, uuid.UUID(intake))  # it was not told before, so it is still there
        row.warned_at = func.now() - text("interval '8 days'")
        told = select(func.count()).where(Event.kind == EventKind.DATA_SET_EXPIRES)
        assert session.scalar(told) == 1
    intakes.remove_untouched(place.platform)

    assert place.organiser.get(f"{ORGANISE}/data-sets/{intake}").status_code == 404
    assert {each.key for each in place.platform.intake.contents()} == before


def test_data_sets_are_listed_page_by_page(place: Place) -> None:
    address = f"{ORGANISE}/challenges/oak/data-sets"
    oldest = place.start()
    with place.platform.transaction() as session:
        own = session.get_one(Intake, uuid.UUID(oldest))
        of_challenge = {
            "challenge_id": own.challenge_id,
            "user_id": own.user_id,
            "state": IntakeState.APPLIED,
        }
        made = session.scalars(insert(Intake).returning(Intake.id), [of_challenge] * 120).all()

    listed: list[str] = []
    pages = 0
    following: str | None = ""
    while following is not None:
        found = place.organiser.get(f"{address}?{following}").json()
        listed += [each["id"] for each in found["intakes"]]
        following = f"before={found['next']}" if found["next"] else None
        pages += 1
    page = place.organiser.get("/organise/challenges/oak/data-sets", headers={"Accept": "text/html"}).text
    beyond = place.organiser.get(f"{address}?before={2**63 - 1}")
    with place.platform.transaction() as session:
        session.execute(delete(Intake).where(Intake.id.in_(made)))

    assert pages >= 3
    assert len(listed) == len(set(listed))
    assert set(map(str, made)) < set(listed)
    assert listed.index(oldest) >= 120
    assert "Older data sets" in page
    assert [each["id"] for each in beyond.json()["intakes"]] == listed[:50]
