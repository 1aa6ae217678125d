"""Files of a data set: who may download what and when, by every route; resumed, replaced and deleted files; quota and full disks."""

import csv
import hashlib
import io
import os
import re
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from html import escape, unescape
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn
from sqlalchemy import func, select, text, update
from starlette.testclient import TestClient

from app.challenges.availability import Availability, Moment, Stage
from app.challenges.challenges import phase_page
from app.challenges.phase_files import not_offered
from app.core.errors import StorageFullError
from app.intake.importing import TreeImport, import_tree
from app.main import create_app
from app.models import (
    Approval,
    AuditRecord,
    Challenge,
    DataDownload,
    DataFile,
    Disclosure,
    FileKind,
    Phase,
    PictureSource,
    Team,
    Terms,
    User,
)
from app.organising import roles
from app.people.teams import own_or_new_team
from app.platform import Platform
from app.storage import FolderStorage
from tests.pages.data_samples import BARE, FILE
from tests.pages.picture_trees import deliver, tree_with_pictures
from tests.pages.test_accounts import registered
from tests.pages.views import PHASE, VAL
from tests.system.kits import IMAGES, small_kit

NOW = datetime(2026, 11, 25, tzinfo=UTC)
CONTENT = bytes(range(256)) * 40
TUS = {"Tus-Resumable": "1.0.0"}
AUDIENCES = ("everybody", "terms accepted", "approved teams")
PEOPLE = ("visitor", "person", "accepted", "waiting", "suspended", "approved", "elsewhere", "organiser")


@dataclass
class Place:
    """A challenge with terms and approval of teams, and somebody of every kind."""

    platform: Platform
    people: dict[str, TestClient] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=lambda: iter(range(1, 10**6)))

    @property
    def organiser(self) -> TestClient:
        return self.people["organiser"]

    def offer(self, content: bytes = CONTENT, **facts: Any) -> int:
        """Add a file by the API, and return its id."""
        said = {"name": f"file{next(self.numbers)}.zip", "title": "A file", "kind": "other", **facts}
        added = self.organiser.post("/api/v1/organise/challenges/oak/data", json=said)
        assert added.status_code == 201, added.text
        sent = self.organiser.put(f"{added.headers['location']}/content", content=content)
        assert sent.status_code == 200, sent.text
        return int(sent.json()["id"])

    def move(self, **dates: Any) -> None:
        """Set the dates of the phase."""
        with self.platform.transaction() as session:
            session.execute(update(Phase).values(**dates))
        self.platform.cache.expire_versions()

    def row(self, file_id: int) -> DataFile:
        with self.platform.transaction() as session:
            return session.get_one(DataFile, file_id)


@pytest.fixture(scope="module")
def place(platform: Platform, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    tree = tree_with_pictures(tmp_path_factory.mktemp("data"))
    for challenge in ("oak", "elm"):
        import_tree(platform, TreeImport(tree, challenge, "test", disclosure=Disclosure.FULL))
    deliver(platform)
    found = Place(platform)
    app = create_app(platform)
    for name in PEOPLE:
        client = TestClient(app, headers={"Accept": "text/html"}, follow_redirects=False)
        found.people[name] = client if name == "visitor" else registered(client, f"{name}@example.org")
    for name, challenge in (("organiser", "oak"), ("elsewhere", "elm")):
        found.people[name].post(f"/role-links/{roles.create_organiser_link(platform, challenge)}")
    with platform.transaction() as session:
        oak = session.scalars(select(Challenge).where(Challenge.code == "oak")).one()
        oak.approves_teams = True
        session.add(Terms(challenge_id=oak.id, version=1, text="Do not train on these images."))
        for name, standing in (
            ("waiting", {"approval": Approval.WAITING}),
            ("suspended", {"approval": Approval.APPROVED, "suspended_at": NOW}),
            ("approved", {"approval": Approval.APPROVED}),
        ):
            person = session.scalars(select(User.id).where(User.email == f"{name}@example.org")).one()
            team = own_or_new_team(session, person, oak.id)
            session.execute(update(Team).where(Team.id == team).values(**standing))
    for name in ("accepted", "waiting", "suspended", "approved"):
        assert found.people[name].post("/challenges/oak/terms", data={"version": "1"}).status_code == 303
    yield found
    for client in found.people.values():
        client.close()


MAY = {
    "everybody": set(PEOPLE),
    "terms accepted": {"accepted", "waiting", "suspended", "approved", "organiser"},
    "approved teams": {"approved", "organiser"},
}
HOUR = timedelta(hours=1)
DATES: dict[
    str, tuple[Callable[[datetime], dict[str, Any]], bool]
] = {  # facts of a file, and whether it is available
    "always": (lambda now: {}, True),
    "since a date": (lambda now: {"available_from": (now - HOUR).isoformat()}, True),
    "before a date": (lambda now: {"available_from": (now + HOUR).isoformat()}, False),
    "until a date": (lambda now: {"available_until": (now + HOUR).isoformat()}, True),
    "after a date": (lambda now: {"available_until": (now - HOUR).isoformat()}, False),
    "since the opening": (lambda now: {"from_event": "opening of test"}, True),
    "before the closing": (lambda now: {"from_event": "closing of test"}, False),
    "until the closing": (lambda now: {"until_event": "closing of test"}, True),
    "after the opening": (lambda now: {"until_event": "opening of test"}, False),
}


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("audience", "dates"),
    [
        *(("everybody", each) for each in DATES),
        *((audience, each) for audience in AUDIENCES[1:] for each in ("always", "after a date")),
    ],
)
def test_each_role_downloads_by_every_route_what_dates_and_audience_allow(
    place: Place, audience: str, dates: str
) -> None:
    now = datetime.now(UTC)
    place.move(opens_at=now - timedelta(days=1), closes_at=now + timedelta(days=1))
    facts, is_available = DATES[dates]
    file_id = place.offer(audience=audience, **facts(now))
    sha256 = hashlib.sha256(CONTENT).hexdigest()

    for name, client in place.people.items():
        may = name == "organiser" or (is_available and name in MAY[audience])
        page, twin = client.get("/challenges/oak/data"), client.get("/api/v1/challenges/oak/data").json()
        [listed] = [each for each in twin["files"] if each["id"] == file_id]
        sums = client.get("/challenges/oak/data/SHA256SUMS").text
        answers = [
            client.get(path, headers=headers)
            for path in (f"/challenges/oak/data/{file_id}", f"/api/v1/challenges/oak/data/{file_id}/content")
            for headers in ({}, {"Range": "bytes=5-"})
        ]

        assert listed["name"] in page.text
        assert listed["size"] == len(CONTENT)
        assert (f'href="/challenges/oak/data/{file_id}"' in page.text) == may, name
        assert (listed["sha256"], bool(listed["address"]), bool(listed["reason"])) == (
            sha256 if may else None,
            may,
            not may,
        )
        assert (f"{listed['name']}\n" in sums) == may
        if may:
            assert [each.content for each in answers] == [CONTENT, CONTENT[5:]] * 2, name
        else:
            codes = {each.status_code for each in answers}
            assert codes <= {303, 401, 403}, (name, codes)
            assert all(CONTENT[5:50] not in each.content for each in answers)


class Bucket(FolderStorage):
    """A store with a server of its own."""

    def presigned(self, key: str, filename: str, lifetime: timedelta) -> str:
        return f"https://bucket.example/{key}?name={filename}&seconds={lifetime.total_seconds():.0f}"


@contextmanager
def with_bucket(platform: Platform) -> Iterator[TestClient]:
    """The application where files are in a bucket."""
    assert isinstance(platform.files, FolderStorage)
    far = replace(platform, files=Bucket(platform.files.root))
    with TestClient(create_app(far), follow_redirects=False) as client:
        yield client


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("audience", "dates"),
    [
        *((each, "always") for each in AUDIENCES),
        ("everybody", "before a date"),
        ("approved teams", "after a date"),
    ],
)
def test_each_role_sees_images_by_every_route_as_the_file_that_offers_them(
    place: Place, audience: str, dates: str
) -> None:
    now = datetime.now(UTC)
    facts, is_available = DATES[dates]
    file_id = place.offer(kind="images", image_set="test", audience=audience, **facts(now))
    place.platform.cache.expire_versions()  # what another process would do after a second
    with place.platform.transaction() as session:
        source = session.scalars(select(PictureSource)).first()
    assert source is not None
    assert source.archive_key is not None
    shown, viewed = f"/pictures/oak/test/{IMAGES[0]}", f"/api/v1/challenges/oak/test/images/{IMAGES[0]}"
    paths = (
        "/pictures/oak/test", "/api/v1/challenges/oak/test/images", shown, viewed, f"{shown}/thumbnail.jpg",
        f"{shown}/picture.jpg", "/leaderboards/oak/test/3/images", "/challenges/oak/test/images.tar",
    )  # fmt: skip

    with with_bucket(place.platform) as far:
        for name, client in place.people.items():
            far.cookies = client.cookies
            may = name == "organiser" or (is_available and name in MAY[audience])
            answers = [client.get(path) for path in paths]
            part = client.get(paths[-1], headers={"Range": "bytes=512-"})
            sent = [far.get(path) for path in (f"/challenges/oak/data/{file_id}", paths[-1])]
            page, twin = (
                client.get("/challenges/oak/data").text,
                client.get("/api/v1/challenges/oak/data").json(),
            )
            [phase] = twin["phases"]

            assert [each.status_code == 200 for each in answers] == [may] * len(paths), name
            assert {each.status_code for each in answers} <= {200, 303, 401, 403}
            assert [each.status_code == 307 for each in sent] == [may, may]
            assert [source.archive_key in each.headers.get("location", "") for each in sent] == [False, may]
            assert (part.status_code == 206) == may
            assert bool(phase["gallery"]) == may
            assert phase["archive"]["size"] == source.archive_size
            assert (source.archive_key[:64] == phase["archive"]["sha256"]) == may
            assert (source.archive_key[:64] in page) == may
            assert (f'href="{paths[-1]}"' in page) == may
            if may and (audience != "everybody" or not is_available):
                assert all("public" not in each.headers.get("cache-control", "") for each in answers)
    front = place.people["visitor"].get("/challenges").text
    assert ("/pictures/oak/" in front) == (is_available and audience == "everybody")
    place.organiser.delete(f"/api/v1/organise/challenges/oak/data/{file_id}?reason=test")


def test_a_date_that_is_not_decided_is_in_the_future(place: Place) -> None:
    place.move(closes_at=None)
    file_id = place.offer(from_event="closing of test")

    refused = place.people["approved"].get(f"/api/v1/challenges/oak/data/{file_id}/content")

    assert (refused.status_code, refused.json()["code"]) == (403, "withheld")
    assert "whose date is not decided" in refused.json()["detail"]
    assert "a date that is not decided" in place.people["visitor"].get("/challenges/oak/data").text


def test_stages_change_at_the_dates_themselves() -> None:
    availability = Availability(Moment(NOW), Moment(NOW + HOUR))

    moments = (NOW - timedelta(microseconds=1), NOW, NOW + HOUR - timedelta(microseconds=1), NOW + HOUR)
    assert [availability.stage(each) for each in moments] == [
        Stage.COMING, Stage.AVAILABLE, Stage.AVAILABLE, Stage.OVER,
    ]  # fmt: skip


def test_nobody_but_organisers_of_the_challenge_changes_its_files(place: Place) -> None:
    file_id = place.offer()
    api, page = f"/api/v1/organise/challenges/oak/data/{file_id}", f"/organise/challenges/oak/data/{file_id}"
    facts = {"name": "stolen.zip", "title": "Stolen", "kind": "other"}

    for name in ("visitor", "approved", "elsewhere"):
        client = place.people[name]
        codes = {
            client.put(api, json=facts).status_code,
            client.put(f"{api}/content", content=b"x").status_code,
            client.post(f"{api}/uploads", headers={**TUS, "Upload-Length": "4"}).status_code,
            client.delete(f"{api}?reason=x").status_code,
            client.post(page, data=facts).status_code,
            client.post(f"{page}/content", files={"file": ("a", b"x")}).status_code,
            client.post(f"{page}/delete", data={"reason": "x"}).status_code,
            client.get("/api/v1/organise/challenges/oak/data/downloads").status_code,
        }
        assert codes <= {401, 403}, (name, codes)
    assert place.organiser.get(f"/challenges/oak/data/{file_id}").content == CONTENT


def test_a_file_is_not_seen_before_its_bytes_have_arrived(place: Place) -> None:
    said = {"name": "promised.zip", "title": "Promised", "kind": "other"}
    added = place.organiser.post("/api/v1/organise/challenges/oak/data", json=said).json()["file"]

    assert "promised.zip" not in place.people["visitor"].get("/challenges/oak/data").text
    assert place.people["approved"].get(f"/challenges/oak/data/{added['id']}").status_code == 404
    assert place.organiser.get(f"/challenges/oak/data/{added['id']}").status_code == 409
    assert "no bytes yet" in place.organiser.get("/organise/challenges/oak/data").text


def test_files_are_added_changed_replaced_and_deleted_with_plain_forms(place: Place) -> None:
    page = "/organise/challenges/oak/data"
    form = {"title": "Images & more", "kind": "images", "audience": "everybody", "image_licence": "CC-BY-4.0"}

    added = place.organiser.post(page, data=form, files={"file": ("../../images.zip", b"first")})
    assert (added.status_code, added.headers["location"]) == (303, page)
    [file] = [
        each for each in place.organiser.get(f"/api/v1{page}").json()["files"] if each["name"] == "images.zip"
    ]
    here = f"{page}/{file['id']}"
    assert (
        place.organiser.post(
            here, data={**form, "name": "renamed.zip", "available_from": "2030-01-01T00:00"}
        ).status_code
        == 303
    )
    assert place.organiser.post(f"{here}/content", files={"file": ("other", b"second")}).status_code == 303
    shown = place.organiser.get(here).text
    public = place.people["visitor"].get("/challenges/oak/data").text
    too_long = place.organiser.post(f"{here}/delete", data={"reason": "y" * 1001})
    assert (too_long.status_code, "must have at most 1000 characters" in too_long.text) == (422, True)
    assert f'value="{"y" * 1001}"' in too_long.text
    assert place.organiser.post(f"{here}/delete", data={"reason": "wrong images"}).status_code == 303

    assert hashlib.sha256(b"first").hexdigest() in shown
    assert hashlib.sha256(b"second").hexdigest() in shown
    assert "renamed.zip" in public
    assert "1 Jan 2030 00:00 UTC" in public
    assert hashlib.sha256(b"second").hexdigest() not in public
    with place.platform.transaction() as session:
        subject = f"data file {file['id']}"
        records = session.execute(
            select(AuditRecord.action, AuditRecord.reason)
            .where(AuditRecord.subject == subject)
            .order_by(AuditRecord.id)
        ).all()
    assert [tuple(each) for each in records] == [
        ("file.add", ""), ("file.change", ""), ("file.replace", ""), ("file.delete", "wrong images"),
    ]  # fmt: skip


def test_a_form_says_everything_that_is_wrong_and_adds_nothing(place: Place) -> None:
    page = "/organise/challenges/oak/data"
    used = place.row(place.offer(b"a file")).name
    before = place.organiser.get(f"/api/v1{page}").json()["files"]

    wrong = {"title": "", "kind": "song", "audience": "nobody", "name": "a/b"}
    several = place.organiser.post(page, data=wrong, files={"file": ("a.zip", b"x")})
    fine = {"title": "A", "kind": "code", "audience": "everybody"}
    problems = {
        "without a file": (fine, {}, 422, "choose one"),
        "with an unknown phase": ({**fine, "image_set": "night"}, {"file": ("a.zip", b"x")}, 422, "no phase"),
        "with two dates": (
            {**fine, "available_from": "2026-01-01T00:00", "from_event": "opening of test"},
            {"file": ("a.zip", b"x")}, 422, "not both",
        ),
        "with an empty file": (fine, {"file": ("a.zip", b"")}, 422, "empty"),
        "with a name that is used": ({**fine, "name": used}, {"file": ("a.zip", b"x")}, 409, "has a file"),
    }  # fmt: skip

    assert several.status_code == 422
    assert "Fix 4 problems" in several.text
    for case, (form, files, code, words) in problems.items():
        answer = place.organiser.post(page, data=form, files=files)
        assert (answer.status_code, words in answer.text) == (code, True), (case, answer.text)
    assert place.organiser.get(f"/api/v1{page}").json()["files"] == before


def test_a_tus_upload_that_breaks_off_goes_on_and_replaces_the_file_once_it_is_complete(place: Place) -> None:
    file_id = place.offer(b"old")
    start = f"/api/v1/organise/challenges/oak/data/{file_id}/uploads"
    created = place.organiser.post(start, headers={**TUS, "Upload-Length": str(len(CONTENT))})
    where = created.headers["location"]
    piece = {**TUS, "Content-Type": "application/offset+octet-stream"}

    first = place.organiser.patch(where, content=CONTENT[:999], headers={**piece, "Upload-Offset": "0"})
    again = place.organiser.patch(where, content=CONTENT[:999], headers={**piece, "Upload-Offset": "0"})
    reached = place.organiser.head(where).headers["upload-offset"]
    old = place.organiser.get(f"/challenges/oak/data/{file_id}").content
    rest = place.organiser.patch(where, content=CONTENT[999:], headers={**piece, "Upload-Offset": "999"})

    assert (first.status_code, again.status_code, reached, rest.status_code) == (204, 409, "999", 204)
    assert old == b"old"
    assert place.organiser.get(f"/challenges/oak/data/{file_id}").content == CONTENT
    assert place.organiser.head(where).status_code == 404
    row = place.row(file_id)
    assert (row.version, [each["sha256"] for each in row.earlier]) == (
        2,
        [hashlib.sha256(b"old").hexdigest()],
    )


def test_a_tus_upload_with_another_checksum_changes_nothing(place: Place) -> None:
    file_id = place.offer(b"old")
    start = f"/api/v1/organise/challenges/oak/data/{file_id}/uploads"
    metadata = "sha256 " + "MDAw" * 21 + "MA=="
    created = place.organiser.post(start, headers={**TUS, "Upload-Length": "3", "Upload-Metadata": metadata})
    piece = {**TUS, "Content-Type": "application/offset+octet-stream", "Upload-Offset": "0"}

    refused = place.organiser.patch(created.headers["location"], content=b"new", headers=piece)

    assert (refused.status_code, refused.json()["code"]) == (422, "checksum-mismatch")
    assert place.organiser.get(f"/challenges/oak/data/{file_id}").content == b"old"
    assert place.organiser.head(created.headers["location"]).status_code == 404


def test_a_file_is_added_now_and_its_bytes_later_and_what_has_arrived_can_be_deleted(place: Place) -> None:
    page = "/organise/challenges/oak/data"
    form = {"name": "late.zip", "title": "Late", "kind": "other", "audience": "everybody", "later": "1"}
    before = place.organiser.get(f"/api/v1{page}").json()["used"]

    added = place.organiser.post(page, data=form)
    again = place.organiser.post(page, data=form)
    nameless = place.organiser.post(page, data={**form, "name": "", "title": ""})
    here = added.headers["location"].removesuffix("#bytes")
    start = place.organiser.post(f"/api/v1{here}/uploads", headers={**TUS, "Upload-Length": "1000"})
    upload = start.headers["location"]
    piece = {**TUS, "Content-Type": "application/offset+octet-stream", "Upload-Offset": "0"}
    place.organiser.patch(upload, content=bytes(300), headers=piece)
    shown, reserved = place.organiser.get(here).text, place.organiser.get(f"/api/v1{page}").json()["used"]
    delete = f"{upload.removeprefix('/api/v1')}/delete"
    others = {place.people[name].post(delete).status_code for name in ("visitor", "approved", "elsewhere")}
    deleted = place.organiser.post(delete)

    assert (added.status_code, again.status_code, nameless.status_code) == (303, 409, 422)
    assert "this challenge has a file &#39;late.zip&#39;" in again.text
    assert "300 bytes of 1,000 bytes have arrived" in shown
    assert "curl -T FILE" in shown
    assert reserved == before + 1000
    assert others <= {401, 403, 404}
    assert (deleted.status_code, deleted.headers["location"]) == (303, here)
    assert place.organiser.head(upload).status_code == 404
    assert place.organiser.get(f"/api/v1{page}").json()["used"] == before
    assert "late.zip" not in place.people["visitor"].get("/challenges/oak/data").text


def test_a_download_that_has_begun_is_complete_although_the_file_is_replaced_and_deleted(
    place: Place,
) -> None:
    content = hashlib.shake_256(b"begun").digest(3 << 20)
    file_id = place.offer(b"first")
    with place.platform.transaction() as session:
        key = place.platform.files.put(content)
        row = session.get_one(DataFile, file_id)
        row.key, row.sha256, row.size = key, key[:64], len(content)

    with (
        served(place.platform) as address,
        httpx2.stream("GET", f"{address}/challenges/oak/data/{file_id}") as response,
    ):
        blocks = response.iter_bytes(100_000)
        arrived = [next(blocks)]
        api = f"/api/v1/organise/challenges/oak/data/{file_id}"
        place.organiser.put(f"{api}/content", content=b"second")
        rest = {"Range": "bytes=100000-", "If-Range": response.headers["etag"]}
        replaced = place.people["visitor"].get(f"/challenges/oak/data/{file_id}", headers=rest)
        place.organiser.delete(f"{api}?reason=test")
        arrived += blocks

    assert b"".join(arrived) == content
    assert (replaced.status_code, replaced.content) == (200, b"second")  # not the rest of another file
    assert place.people["visitor"].get(f"/challenges/oak/data/{file_id}").status_code == 410


def test_a_file_that_is_missing_from_storage_is_an_error_that_says_so(place: Place) -> None:
    file_id = place.offer()
    with place.platform.transaction() as session:
        key = session.get_one(DataFile, file_id).key
    assert key is not None
    place.platform.files.delete(key)

    for headers in ({}, {"Range": "bytes=1-2"}):
        answer = place.people["visitor"].get(f"/challenges/oak/data/{file_id}", headers=headers)

        assert (answer.status_code, "Storage cannot be reached" in answer.text) == (503, True)
    assert place.people["visitor"].head(f"/challenges/oak/data/{file_id}").status_code == 503


def test_ranges_are_sent_or_refused_as_http_says(place: Place) -> None:
    file_id = place.offer()
    path, sha256 = f"/challenges/oak/data/{file_id}", hashlib.sha256(CONTENT).hexdigest()
    size = len(CONTENT)
    ask = place.people["visitor"].get

    part = ask(path, headers={"Range": "bytes=10-19"})
    same = ask(path, headers={"Range": "bytes=10-19", "If-Range": f'"{sha256}"'})
    other = ask(path, headers={"Range": "bytes=10-19", "If-Range": '"another"'})
    beyond = ask(path, headers={"Range": f"bytes={size}-"})

    assert (part.status_code, part.content) == (206, CONTENT[10:20])
    assert part.headers["content-range"] == f"bytes 10-19/{size}"
    assert (same.status_code, same.content) == (206, CONTENT[10:20])
    assert (other.status_code, other.content) == (200, CONTENT)
    assert (beyond.status_code, beyond.headers["content-range"]) == (416, f"bytes */{size}")


@contextmanager
def served(platform: Platform) -> Iterator[str]:
    """The application behind a real socket."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(create_app(platform), log_level="error"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_curl_resumes_a_download_that_was_interrupted(place: Place, tmp_path: Path) -> None:
    content = hashlib.shake_256(b"many").digest(3 << 20)
    file_id = place.offer(content[: 1 << 20])
    with place.platform.transaction() as session:  # beyond what the tests' settings let a request have
        key = place.platform.files.put(content)
        row = session.get_one(DataFile, file_id)
        row.key, row.sha256, row.size = key, key[:64], len(content)
    target = tmp_path / "images.zip"

    with served(place.platform) as address:
        with httpx2.stream("GET", f"{address}/challenges/oak/data/{file_id}") as response:
            target.write_bytes(next(response.iter_bytes(100_000)))
        arrived = target.stat().st_size
        command = [
            "curl",
            "-sS",
            "--fail",
            "-C",
            "-",
            "-o",
            str(target),
            f"{address}/challenges/oak/data/{file_id}",
        ]
        subprocess.run(command, check=True)

    assert 0 < arrived < len(content)
    assert target.read_bytes() == content


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
@pytest.mark.parametrize(("audience", "who"), [("everybody", "visitor"), ("terms accepted", "accepted")])
def test_the_commands_of_the_page_load_all_files_and_check_them(
    place: Place, tmp_path: Path, audience: str, who: str
) -> None:
    name = f"John's $HOME {who}.zip"
    place.offer(name=name, audience=audience)
    form = {"name": "curl", "scope": "read", "days": "7"}
    created = place.people[who].post("/account/tokens", data=form).text
    token = found[0] if (found := re.search(r"hld_\w+", created)) else ""
    page = place.people[who].get("/challenges/oak/data").text
    commands = unescape(page.split(">at=")[1].split("</code>")[0]).splitlines()[1:]

    with served(place.platform) as address:
        command = "\n".join([f"at={address}/challenges/oak", *commands])
        variables = {"PATH": os.environ["PATH"], "HELDOUT_TOKEN": token}
        done = subprocess.run(
            ["sh", "-c", command], cwd=tmp_path, env=variables, check=True, capture_output=True, text=True
        )

    assert (tmp_path / name).read_bytes() == CONTENT
    assert f"{name}: OK" in done.stdout


@pytest.mark.sampled
@pytest.mark.parametrize(
    "name", ["page.html", "image.svg", 'a"; filename="x.html', "ü\u202egpj.exe", "..hidden", "run.js"]
)
def test_a_file_of_any_name_and_type_is_saved_and_never_shown(place: Place, name: str) -> None:
    content = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"
    form = {"title": "<b>Hostile</b>", "kind": "other", "audience": "everybody"}
    page = "/organise/challenges/oak/data"

    added = place.organiser.post(page, data=form, files={"file": (name, content, "text/html")})

    assert added.status_code == 303, added.text
    file = place.organiser.get(f"/api/v1{page}").json()["files"][-1]
    for path in (f"/challenges/oak/data/{file['id']}", f"/api/v1/challenges/oak/data/{file['id']}/content"):
        answer = place.people["visitor"].get(path)
        assert answer.content == content
        assert answer.headers["content-type"] == "application/octet-stream"
        assert answer.headers["content-disposition"].startswith('attachment; filename="')
        assert answer.headers["content-disposition"].count(";") == 2
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert (
            "sandbox" in answer.headers["content-security-policy"]
            or "default-src 'none'" in answer.headers["content-security-policy"]
        )
    assert "<b>Hostile" not in place.people["visitor"].get("/challenges/oak/data").text
    place.organiser.post(f"{page}/{file['id']}/delete", data={"reason": "a test"})


def test_a_replaced_file_keeps_its_address_and_the_hashes_of_earlier_versions(place: Place) -> None:
    file_id = place.offer(b"one")
    old = place.row(file_id).key
    assert old is not None
    place.organiser.put(f"/api/v1/organise/challenges/oak/data/{file_id}/content", content=b"two")

    view = place.people["visitor"].get("/api/v1/challenges/oak/data").json()["files"]
    [file] = [each for each in view if each["id"] == file_id]

    assert place.people["visitor"].get(f"/challenges/oak/data/{file_id}").content == b"two"
    assert (file["version"], file["sha256"]) == (2, hashlib.sha256(b"two").hexdigest())
    assert [(each["version"], each["sha256"]) for each in file["earlier"]] == [
        (1, hashlib.sha256(b"one").hexdigest())
    ]
    assert not place.platform.files.exists(old)


@pytest.mark.sampled
def test_old_addresses_of_a_deleted_file_say_so_to_everybody(place: Place) -> None:
    file_id = place.offer(b"gone", name="gone.zip")
    key = place.row(file_id).key
    assert key is not None
    assert (
        place.organiser.delete(f"/api/v1/organise/challenges/oak/data/{file_id}").status_code == 422
    )  # no reason
    assert (
        place.organiser.delete(f"/api/v1/organise/challenges/oak/data/{file_id}?reason=wrong").status_code
        == 204
    )

    for client in place.people.values():
        answers = [
            client.get(f"/challenges/oak/data/{file_id}"),
            client.get(f"/api/v1/challenges/oak/data/{file_id}/content"),
        ]
        assert [each.status_code for each in answers] == [410, 410]
        assert answers[1].json()["code"] == "file-deleted"
        assert "gone.zip" not in client.get("/challenges/oak/data").text
    assert not place.platform.files.exists(key)
    api = f"/api/v1/organise/challenges/oak/data/{file_id}"
    assert place.organiser.put(f"{api}/content", content=b"x").status_code == 410
    assert place.organiser.get(f"/organise/challenges/oak/data/{file_id}").status_code == 200
    assert place.offer(b"again", name="gone.zip") != file_id
    assert place.people["visitor"].get("/challenges/elm/data/999999").status_code == 404


def test_organisers_see_who_downloaded_which_version_under_which_terms(place: Place) -> None:
    file_id = place.offer(b"one", audience="everybody")
    for name in ("approved", "approved", "visitor", "person"):
        place.people[name].get(f"/challenges/oak/data/{file_id}")
    place.organiser.put(f"/api/v1/organise/challenges/oak/data/{file_id}/content", content=b"two")
    place.people["approved"].get(
        f"/api/v1/challenges/oak/data/{file_id}/content", headers={"Range": "bytes=1-"}
    )

    log = place.organiser.get(f"/api/v1/organise/challenges/oak/data/{file_id}").json()["log"]["downloads"]
    export = place.people["approved"].get("/account/data.json")

    found = [(each["version"], each["person"], each["terms_version"], each["requests"]) for each in log]
    assert found == [
        (2, "Ash Grove", 1, 1),
        (1, "Ash Grove", None, 1),
        (1, None, None, 1),
        (1, "Ash Grove", 1, 2),
    ]
    assert "not logged in" in place.organiser.get(f"/organise/challenges/oak/data/{file_id}").text
    assert [
        each["version"] for each in export.json()["downloads"] if each["file"] == place.row(file_id).name
    ] == [1, 2]


def test_nothing_is_recorded_of_a_refused_download(place: Place) -> None:
    file_id = place.offer(audience="approved teams")

    place.people["person"].get(f"/challenges/oak/data/{file_id}")

    with place.platform.transaction() as session:
        assert session.scalar(select(func.count()).where(DataDownload.file_id == file_id)) == 0


def test_a_challenge_has_so_much_space_and_a_replaced_file_does_not_count_twice(place: Place) -> None:
    used = place.organiser.get("/api/v1/organise/challenges/oak/data").json()["used"]
    settings = place.platform.settings.model_copy(update={"max_data": used + 1000})
    with TestClient(create_app(replace(place.platform, settings=settings))) as client:
        client.cookies = place.organiser.cookies
        file = client.post(
            "/api/v1/organise/challenges/oak/data",
            json={"name": "large.zip", "title": "Large", "kind": "other"},
        ).headers["location"]

        refused = client.put(f"{file}/content", content=bytes(1001))
        stored = client.put(f"{file}/content", content=bytes(1000))
        replaced = client.put(f"{file}/content", content=bytes(999))
        form = client.post(
            "/organise/challenges/oak/data",
            data={"title": "More", "kind": "other", "audience": "everybody"},
            files={"file": ("more.zip", bytes(100))},
            headers={"Accept": "application/json"},
        )
        client.delete(f"{file}?reason=full")

    assert (refused.status_code, refused.json()["code"]) == (413, "data-quota")
    assert (stored.status_code, replaced.status_code) == (200, 200)
    assert (form.status_code, form.json()["code"]) == (413, "data-quota")
    files = place.organiser.get("/api/v1/organise/challenges/oak/data").json()["files"]
    assert "more.zip" not in {each["name"] for each in files}


class Full(FolderStorage):
    """A folder on a full disk."""

    def append(self, *_: Any) -> int:
        raise StorageFullError("no space left on device")


def test_a_full_disk_is_said_and_leaves_the_file_as_it_was(place: Place) -> None:
    file_id = place.offer(b"old")
    assert isinstance(place.platform.files, FolderStorage)
    full = replace(place.platform, files=Full(place.platform.files.root))
    with TestClient(create_app(full), headers={"Accept": "application/json"}) as client:
        client.cookies = place.organiser.cookies

        replaced = client.put(f"/api/v1/organise/challenges/oak/data/{file_id}/content", content=b"new")
        added = client.post(
            "/organise/challenges/oak/data",
            data={"title": "More", "kind": "other", "audience": "everybody"},
            files={"file": ("unlucky.zip", bytes(100))},
        )

    assert [(each.status_code, each.json()["code"]) for each in (replaced, added)] == [
        (507, "storage-full")
    ] * 2
    assert place.organiser.get(f"/challenges/oak/data/{file_id}").content == b"old"
    assert "unlucky.zip" not in place.organiser.get("/organise/challenges/oak/data").text
    with place.platform.transaction() as session:
        assert session.execute(text("SELECT count(*) FROM data_upload WHERE size IN (3, 100)")).scalar() == 0


def test_a_store_with_a_server_of_its_own_is_where_people_are_sent(place: Place) -> None:
    file_id = place.offer(b"far away", audience="terms accepted")
    with with_bucket(place.platform) as client:
        refused = client.get(f"/api/v1/challenges/oak/data/{file_id}/content")
        client.cookies = place.people["accepted"].cookies
        sent = client.get(f"/challenges/oak/data/{file_id}")

    assert refused.status_code == 401
    assert (sent.status_code, sent.headers["cache-control"]) == (307, "no-store")
    assert sent.headers["location"].startswith(f"https://bucket.example/{place.row(file_id).key}")
    assert sent.headers["location"].endswith("&seconds=900")
    with place.platform.transaction() as session:
        assert session.scalar(select(func.count()).where(DataDownload.file_id == file_id)) == 1


def test_a_file_for_all_phases_decides_where_none_is_for_the_phase_alone(place: Place) -> None:
    def is_shown() -> bool:
        return phase_page(place.platform, "oak", "test").shows_images

    of_all = place.offer(kind="images", available_from="2030-01-01T00:00:00Z")
    hidden = is_shown()
    of_phase = place.offer(kind="images", image_set="test")
    shown = is_shown()
    for file_id in (of_all, of_phase):
        place.organiser.delete(f"/api/v1/organise/challenges/oak/data/{file_id}?reason=test")

    assert (hidden, shown, is_shown()) == (False, True, True)
    assert phase_page(place.platform, "elm", "test").images_available


@pytest.mark.sampled
def test_annotation_is_drawn_over_images_only_for_whom_and_while_it_is_public(place: Place) -> None:
    def drawn(who: str = "visitor") -> dict[str, bool]:
        place.platform.cache.expire_versions()
        client = place.people[who]
        [card] = [each for each in client.get("/api/v1/challenges").json() if each["code"] == "oak"]
        [phase] = client.get("/api/v1/challenges/oak").json()["phases"]
        viewer = client.get(f"/pictures/oak/test/{IMAGES[0]}").text
        assert len(card["cover"]["images"]) == 4  # which are public all the time
        return {
            "card": any(card["cover"]["drawn"]),
            "overview": any(each["drawn"] for each in phase["pictures"]),
            "viewer": "mark truth" in viewer,
        }

    public = drawn()
    found: dict[tuple[str, ...], dict[str, bool]] = {}
    narrower: tuple[dict[str, Any], ...] = (
        {"available_from": "2030-01-01T00:00:00Z"},
        {"audience": "approved teams"},
    )
    for facts in narrower:
        file_id = place.offer(kind="annotation", image_set="test", **facts)
        found |= {(who, *facts): drawn(who) for who in ("visitor", "organiser")}
        page = place.people["visitor"].get(f"/pictures/oak/test/{IMAGES[0]}").text
        assert "is not public for everybody who may see the images" in page
        place.organiser.delete(f"/api/v1/organise/challenges/oak/data/{file_id}?reason=test")
    place.move(opens_at=datetime.now(UTC) + timedelta(days=1), closes_at=None)
    found["visitor", "upcoming"] = drawn()
    place.move(opens_at=NOW - timedelta(days=400))

    assert (public, drawn()) == (2 * (dict.fromkeys(public, True),))
    for (who, *_), each in found.items():
        assert each == {"card": False, "overview": False, "viewer": who == "organiser"}


def test_what_is_not_offered_is_said_with_the_reason(place: Place, tmp_path: Path) -> None:
    place.move(opens_at=NOW - timedelta(days=400))
    import_tree(place.platform, TreeImport(small_kit(tmp_path), "ash", "test"))  # held out, without images

    def missing(challenge: str) -> dict[str, str]:
        [phase] = place.people["visitor"].get(f"/api/v1/challenges/{challenge}/data").json()["phases"]
        return {each["what"]: each["reason"] for each in phase["not_offered"]}

    hidden, before = missing("ash"), missing("oak")
    page = place.people["visitor"].get("/challenges/ash/data").text
    file_id = place.offer(kind="annotation", image_set="test")
    place.platform.cache.expire_versions()
    after = missing("oak")
    place.organiser.delete(f"/api/v1/organise/challenges/oak/data/{file_id}?reason=test")

    assert hidden == {
        "images": "The organisers do not offer them here.",
        "annotation": "Hidden: the server scores results with it.",
    }
    assert all(reason in page for reason in hidden.values())
    assert before == after == {}  # the annotation is being packed


def test_annotation_for_all_image_sets_is_not_that_of_a_held_out_one() -> None:
    training = replace(FILE, kind=FileKind.BOTH, image_set=None)

    assert [each.what for each in not_offered(PHASE, BARE, [training])] == ["annotation"]
    assert not [*not_offered(VAL, BARE, [training])]


def test_spooling_a_large_form_to_a_full_disk_is_an_error_that_says_so(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    import errno

    from starlette.formparsers import MultiPartParser

    async def full(_: MultiPartParser) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(MultiPartParser, "parse", full)
    answer = place.organiser.post(
        "/organise/challenges/oak/data",
        data={"title": "A", "kind": "other"},
        files={"file": ("a.zip", io.BytesIO(b"x"))},
        headers={"Accept": "application/json"},
    )

    assert (answer.status_code, answer.json()["code"]) == (507, "storage-full")


def test_the_server_makes_lists_examples_and_programs_for_every_phase(place: Place) -> None:
    visitor = place.people["visitor"]
    page, twin = visitor.get("/challenges/oak/data").text, visitor.get("/api/v1/challenges/oak/data").json()
    [phase] = twin["phases"]

    names = visitor.get("/challenges/oak/test/images.txt").text.split()
    table = list(csv.DictReader(io.StringIO(visitor.get("/challenges/oak/test/images.csv").text)))

    assert [row["name"] for row in table] == names
    assert all(int(row["width"]) > 0 and int(row["height"]) > 0 for row in table)
    assert phase["images"] == len(names)
    assert {
        "oak-test-images.txt",
        "oak-test-images.csv",
        "description.json",
        "oak-test-comp3-example.tar.gz",
    } <= {each["name"] for each in phase["files"]}
    for each in phase["files"]:
        assert visitor.get(each["address"]).status_code == 200, each
        assert escape(each["address"]) in page
    for each in phase["snippets"]:
        assert "description.json" in each["code"]
    assert visitor.get("/challenges/oak/test/image_info.json").status_code == 404  # no numbers


def test_counts_are_those_of_public_annotation_and_never_of_a_held_out_phase(
    place: Place, tmp_path: Path
) -> None:
    place.move(opens_at=NOW - timedelta(days=400))
    import_tree(place.platform, TreeImport(small_kit(tmp_path), "fir", "test"))  # held out

    def statistics(challenge: str) -> Any:
        return place.organiser.get(f"/api/v1/challenges/{challenge}/data").json()["statistics"]

    def counts_to_compare_with(challenge: str) -> Any:
        return (
            place.organiser.get(f"/api/v1/challenges/{challenge}/test/description")
            .json()
            .get("public_counts")
        )

    public, hidden = statistics("oak"), statistics("fir")
    compared = [counts_to_compare_with("oak"), counts_to_compare_with("fir")]
    file_id = place.offer(kind="annotation", image_set="test", available_from="2030-01-01T00:00:00Z")
    dated = statistics("oak")
    compared.append(counts_to_compare_with("oak"))
    place.organiser.delete(f"/api/v1/organise/challenges/oak/data/{file_id}?reason=test")
    place.move(opens_at=datetime.now(UTC) + timedelta(days=1), closes_at=None)
    upcoming = statistics("oak")
    compared.append(counts_to_compare_with("oak"))
    place.move(opens_at=NOW - timedelta(days=400))

    [total] = public["totals"]
    [(_, [first]), *_] = public["rows"]
    assert total["objects"] == sum(counts[0]["objects"] for _, counts in public["rows"]) > 0
    assert first["images"] <= public["images"][0]
    for each in (hidden, dated, upcoming):
        assert each["totals"] == [None]
        assert all(counts == [None] for _, counts in each["rows"])
        assert each["images"] == public["images"]  # the list of images is public
    shown = [[name, counts[0]["objects"]] for name, counts in public["rows"]]
    assert compared == [{"image_set": "test", "objects": shown}, None, None, None]
