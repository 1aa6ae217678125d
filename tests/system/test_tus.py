"""Resumable uploads by tus: the official client with a real server that dies, and every response of the protocol."""

import hashlib
import random
import threading
import uuid
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import pytest
from tusclient.client import TusClient
from tusclient.exceptions import TusCommunicationError, TusUploadFailed
from tusclient.uploader.uploader import Uploader

from app.storage import content_key
from app.web.tus import format_metadata
from tests.system.conftest import SharedSite
from tests.system.installations import LONGEST, Client, Installation, good, installation, is_healthy
from tests.system.kits import results, small_kit
from tests.system.servers import OwnServers, eventually, kill

pytestmark = pytest.mark.system

PHASE = "tus/test"
GOOD = results(cat=5, dog=5)
MiB = 1 << 20


@pytest.fixture(scope="module")
def someone(site: SharedSite, tmp_path_factory: pytest.TempPathFactory) -> Client:
    site.installation.load(small_kit(tmp_path_factory.mktemp("tus")), "tus", quota=9)
    return site.participant("tus")


def uploads_of(client: Client) -> str:
    return f"{str(client.http.base_url).rstrip('/')}/api/v1/challenges/{PHASE}/uploads"


def tus_uploader(client: Client, content: bytes, **options: object) -> Uploader:
    tus = TusClient(uploads_of(client), headers={"Authorization": client.http.headers["Authorization"]})
    return tus.uploader(file_stream=BytesIO(content), metadata={"filename": "results.tar.gz"}, **options)


def test_a_tus_client_sends_an_archive_in_chunks(someone: Client) -> None:
    uploader = tus_uploader(someone, GOOD, chunk_size=len(GOOD) // 3)

    uploader.upload()

    report = good(someone.http.get(str(uploader.url)))
    assert (report["state"], report["valid"]) == ("checked", True)
    assert report["sha256"] == hashlib.sha256(GOOD).hexdigest()


@pytest.mark.slow
def test_a_tus_client_resumes_after_the_web_process_is_killed(
    own_servers: OwnServers, tmp_path_factory: pytest.TempPathFactory
) -> None:
    content = random.Random(7).randbytes(64 * MiB)
    with installation(own_servers) as running:
        running.load(small_kit(tmp_path_factory.mktemp("killed")), "tus", quota=9)
        someone = running.participant(running.start_web(), "tus")
        uploader = tus_uploader(someone, content)
        killer = threading.Thread(target=kill_when_some_arrived, args=(running, someone))
        killer.start()

        with pytest.raises((TusUploadFailed, TusCommunicationError)):
            uploader.upload()
        killer.join()
        assert eventually(lambda: is_healthy(someone.http), LONGEST)
        where = str(uploader.url)
        arrived = someone.offset(where)
        again = TusClient(
            uploads_of(someone), headers={"Authorization": someone.http.headers["Authorization"]}
        )
        again.uploader(file_stream=BytesIO(content), url=where, chunk_size=8 * MiB).upload()

        report = good(someone.http.get(where))
        assert 0 < arrived < len(content)
        assert (report["received"], report["sha256"]) == (len(content), hashlib.sha256(content).hexdigest())
        with someone.http.stream("GET", f"{where}/archive") as archive:
            assert hashlib.file_digest(BytesIO(archive.read()), "sha256").hexdigest() == report["sha256"]


def kill_when_some_arrived(running: Installation, someone: Client) -> None:
    """Kill -9 as soon as a first piece is stored, with most of the request still outstanding."""
    pid = running.pid("web")
    store = running.platform.archives

    def has_begun() -> bool:
        return any(each.size > 0 for each in store.partials())

    assert eventually(has_begun, LONGEST)
    kill(pid)


def test_an_interrupted_put_is_resumed_by_tus(someone: Client) -> None:
    def listed() -> dict[str, Any]:
        uploads = good(someone.http.get("/api/v1/uploads"))["uploads"]
        return dict(uploads[0]) if uploads else {"filename": None}

    def breaking() -> Iterator[bytes]:
        yield GOOD[: len(GOOD) // 2]
        assert eventually(lambda: listed()["filename"] == "broken.tar.gz")
        raise ConnectionError

    with pytest.raises(ConnectionError):
        someone.http.put(
            f"/api/v1/challenges/{PHASE}/uploads",
            params={"filename": "broken.tar.gz"},
            content=breaking(),
            headers={"Content-Length": str(len(GOOD))},
        )
    upload = listed()
    where = f"/api/v1/uploads/{upload['id']}"

    def resumed() -> bool:  # the server may not have noticed yet that the first client has disconnected
        offset = someone.offset(where)
        return someone.append(where, GOOD[offset:], offset).status_code == 204

    assert eventually(resumed)
    assert good(someone.http.get(where))["valid"]


def test_an_upload_may_be_created_with_its_first_bytes(someone: Client) -> None:
    headers = tus_headers(Upload_Length=str(len(GOOD)), Content_Type="application/offset+octet-stream")

    response = someone.http.post(uploads_of(someone), content=GOOD[:100], headers=headers)

    assert (response.status_code, response.headers["Upload-Offset"]) == (201, "100")
    assert someone.append(response.headers["Location"], GOOD[100:], 100).status_code == 204
    assert good(someone.http.get(response.headers["Location"]))["valid"]


def test_head_returns_the_state_of_an_upload(someone: Client) -> None:
    where = someone.create(PHASE, 100)

    head = someone.http.head(where, headers=tus_headers())

    assert head.status_code == 200
    assert (head.headers["Upload-Offset"], head.headers["Upload-Length"]) == ("0", "100")
    assert head.headers["Cache-Control"] == "no-store"
    assert head.headers["Upload-Expires"].endswith(" GMT")
    assert head.headers["Upload-Metadata"].startswith("filename ")
    assert head.headers["Tus-Resumable"] == "1.0.0"


def test_options_lists_versions_and_extensions_for_anyone(site: SharedSite, someone: Client) -> None:
    for address in (uploads_of(someone), someone.create(PHASE, 1)):
        response = site.anybody.http.options(address)

        assert response.status_code == 204
        assert response.headers["Tus-Version"] == "1.0.0"
        assert response.headers["Tus-Extension"] == "creation,creation-with-upload,expiration,termination"
        assert int(response.headers["Tus-Max-Size"]) > 0


@pytest.mark.parametrize("version", [{}, {"Tus-Resumable": "0.2.0"}])
def test_another_version_of_the_protocol_is_refused(someone: Client, version: dict[str, str]) -> None:
    where = someone.create(PHASE, 10)
    body = {"Upload-Offset": "0", "Content-Type": "application/offset+octet-stream"}

    for response in (
        someone.http.post(uploads_of(someone), headers={"Upload-Length": "10", **version}),
        someone.http.patch(where, content=b"x", headers={**body, **version}),
    ):
        assert (response.status_code, response.headers["Tus-Version"]) == (412, "1.0.0")


@pytest.mark.parametrize(
    ("headers", "message"),
    [
        ({}, "Upload-Length: expected a number of bytes, found ''"),
        ({"Upload_Defer_Length": "1"}, "Upload-Length: expected a number of bytes, found ''"),
        ({"Upload_Length": "ten"}, "expected a number of bytes, found 'ten'"),
        ({"Upload_Length": "10", "Upload_Metadata": "filename ?"}, "is not Base64"),
        ({"Upload_Length": "10", "Upload_Metadata": "sha256 YQ=="}, "64 hexadecimal digits"),
        ({"Upload_Length": "10", "Upload_Concat": "partial"}, "does not support the extension concatenation"),
        ({"Upload_Concat": "final;/uploads/a /uploads/b"}, "does not support the extension concatenation"),
    ],
)
def test_a_malformed_creation_is_a_bad_request(
    someone: Client, headers: dict[str, str], message: str
) -> None:
    response = someone.http.post(uploads_of(someone), headers=tus_headers(**headers))

    assert (response.status_code, response.json()["code"]) == (400, "bad-request")
    assert message in response.json()["detail"]
    assert response.headers["Tus-Resumable"] == "1.0.0"


@pytest.mark.parametrize("numbers", ["99", "3,99", "5", "0"])
def test_creating_an_upload_for_an_unknown_competition_is_refused(someone: Client, numbers: str) -> None:
    before = len(good(someone.http.get("/api/v1/uploads"))["uploads"])
    metadata = format_metadata({"filename": "results.tar.gz", "competitions": numbers})

    by_tus = someone.http.post(
        uploads_of(someone), headers=tus_headers(Upload_Length="10", Upload_Metadata=metadata)
    )
    raw = someone.http.put(
        uploads_of(someone), params={"filename": "x.zip", "competition": numbers.split(",")}, content=b"x"
    )

    for response in (by_tus, raw):
        assert (response.status_code, response.json()["code"]) == (422, "malformed")
        unknown = numbers.rpartition(",")[2]
        assert response.json()["detail"].startswith(
            f"there is no competition {unknown} in tus test; expected some of 1, 2, 3, 4"
        )
    assert len(good(someone.http.get("/api/v1/uploads"))["uploads"]) == before


def test_bytes_with_another_content_type_are_refused(someone: Client) -> None:
    where = someone.create(PHASE, 10)

    response = someone.append(where, b"x", 0, Content_Type="text/plain")

    assert response.status_code == 415


def test_deleting_an_upload_deletes_its_bytes(site: SharedSite, someone: Client) -> None:
    part = someone.create(PHASE, 100)
    someone.append(part, b"x", 0)
    upload = someone.upload(PHASE, results(cat=2))
    whole = f"/api/v1/uploads/{upload}"
    key = content_key(good(someone.http.get(whole))["sha256"], uuid.UUID(upload))
    store = site.installation.platform.archives
    assert store.exists(key)

    for where in (part, whole):
        assert someone.http.delete(where, headers=tus_headers()).status_code == 204
        assert someone.http.head(where, headers=tus_headers()).status_code == 404

    assert not store.exists(key)


def test_deleting_one_of_two_equal_uploads_keeps_the_other(site: SharedSite, someone: Client) -> None:
    archive = results(cat=3)
    one, other = someone.upload(PHASE, archive), someone.upload(PHASE, archive)

    assert someone.http.delete(f"/api/v1/uploads/{one}").status_code == 204

    assert someone.http.get(f"/api/v1/uploads/{other}/archive").content == archive
    assert someone.http.delete(f"/api/v1/uploads/{other}").status_code == 204
    assert someone.upload(PHASE, archive)


def test_a_confirmed_archive_cannot_be_deleted(someone: Client) -> None:
    upload = someone.upload(PHASE, GOOD)
    submission_id = good(someone.confirm(upload, "Kept"))["id"]

    response = someone.http.delete(f"/api/v1/uploads/{upload}")

    assert response.status_code == 409
    assert f"submission {submission_id}" in response.json()["detail"]
    assert someone.http.get(f"/api/v1/uploads/{upload}/archive").content == GOOD


def tus_headers(**headers: str) -> dict[str, str]:
    return {"Tus-Resumable": "1.0.0", **{name.replace("_", "-"): value for name, value in headers.items()}}
