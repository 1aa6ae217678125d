import hashlib
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import httpx2
import pytest

from tests.people import confirm_address
from tests.system.conftest import SharedSite
from tests.system.holds import away, in_a_pipe
from tests.system.installations import DESCRIPTION, Client, awaited, good, stored_file
from tests.system.kits import BOXES, IMAGES, line, packed, results, small_kit
from tests.system.process_trees import bytes_of, has_open, kill_all, stopped, working_children
from tests.system.servers import eventually

pytestmark = pytest.mark.system

PHASE = "pieces/test"
GOOD = results(cat=5, dog=5)
LIMIT = 100_000
MiB = 1 << 20


@pytest.fixture(scope="module", autouse=True)
def challenge(site: SharedSite, tmp_path_factory: pytest.TempPathFactory) -> None:
    site.installation.load(small_kit(tmp_path_factory.mktemp("pieces")), "pieces", quota=1)


@pytest.fixture(scope="module")
def oak(site: SharedSite) -> Client:
    return site.participant("oak")


@pytest.fixture(scope="module")
def small_web(site: SharedSite) -> str:
    """A web server that accepts only small archives."""
    return site.installation.start_web("small web", max_upload=LIMIT)


@pytest.fixture(scope="module")
def limited(site: SharedSite, small_web: str) -> Client:
    return site.installation.participant(small_web, "elm")


@pytest.mark.parametrize("size", [LIMIT + 1, 10 * LIMIT])
def test_an_archive_declared_as_too_large_is_refused_with_the_limit(limited: Client, size: int) -> None:
    response = limited.send(PHASE, bytes(size))

    assert response.status_code == 413
    assert f"at most {LIMIT} bytes" in response.json()["detail"]


def test_a_stream_of_unknown_length_is_refused_without_creating_an_upload(limited: Client) -> None:
    response = limited.http.put(
        f"/api/v1/challenges/{PHASE}/uploads", params={"filename": "results.tar"}, content=iter([b"bytes"])
    )

    assert (response.status_code, response.json()["code"]) == (411, "length-required")
    assert good(limited.http.get("/api/v1/uploads"))["uploads"] == []


def test_an_upload_in_pieces_with_too_large_a_total_is_refused_at_creation(limited: Client) -> None:
    headers = {"Tus-Resumable": "1.0.0", "Upload-Length": str(LIMIT + 1)}

    response = limited.http.post(f"/api/v1/challenges/{PHASE}/uploads", headers=headers)

    assert response.status_code == 413
    assert f"at most {LIMIT} bytes" in response.json()["detail"]


def test_more_bytes_than_declared_are_refused(oak: Client) -> None:
    where = oak.create(PHASE, 1000)

    response = oak.append(where, bytes(1001), 0)

    assert response.status_code == 413
    assert response.json()["detail"] == "1000 bytes were declared, but more arrived"


def test_a_form_that_is_too_large_is_refused_with_the_limit(small_web: str, limited: Client) -> None:
    archive = {"archive": ("results.tar.gz", bytes(10 * LIMIT))}
    for has_content_length in (True, False):
        request = limited.http.build_request("POST", f"/challenges/{PHASE}/submit", files=archive)
        body = request.read()
        content = (
            body
            if has_content_length
            else (body[start : start + 1000] for start in range(0, len(body), 1000))
        )
        kind = {"Content-Type": request.headers["Content-Type"], "Accept": "text/html"}

        response = limited.http.post(f"/challenges/{PHASE}/submit", content=content, headers=kind)

        assert response.status_code == 413
        assert f"at most {LIMIT} bytes" in response.text


def test_an_upload_in_pieces_continues_at_its_offset(oak: Client) -> None:
    where = oak.create(PHASE, len(GOOD), sha256=hashlib.sha256(GOOD).hexdigest())
    middle = len(GOOD) // 2

    assert oak.append(where, GOOD[:middle], 0).headers["Upload-Offset"] == str(middle)
    for wrong in (0, middle - 1, middle + 1, len(GOOD)):
        refused = oak.append(where, GOOD[wrong:], wrong)
        assert (refused.status_code, refused.headers["Upload-Offset"]) == (409, str(middle))
        assert refused.json()["detail"] == f"the upload has {middle} bytes; continue at that offset"
    assert oak.offset(where) == middle
    assert oak.append(where, GOOD[middle:], middle).status_code == 204
    finished = good(oak.http.get(where))

    assert (finished["state"], finished["valid"]) == ("checked", True)
    assert finished["sha256"] == hashlib.sha256(GOOD).hexdigest()
    assert oak.append(where, b"x", len(GOOD)).status_code == 409


def test_bytes_that_do_not_match_the_declared_hash_are_refused(oak: Client) -> None:
    declared = hashlib.sha256(b"something else").hexdigest()
    where = oak.create(PHASE, len(GOOD), sha256=declared)

    response = oak.append(where, GOOD, 0)

    assert response.status_code == 422
    arrived = hashlib.sha256(GOOD).hexdigest()
    assert response.json()["detail"] == (
        f"the received bytes have sha256 {arrived}, expected {declared}; send the archive again"
    )
    assert good(oak.http.get(where))["state"] == "rejected"


def test_one_of_two_simultaneous_writers_to_an_upload_is_refused(site: SharedSite, oak: Client) -> None:
    content = bytes(3 * MiB)
    where = oak.create(PHASE, len(content))
    upload = uuid.UUID(where.rpartition("/")[2])
    arrived = partial(site.installation.platform.archives.length, upload)
    token = oak.http.headers["Authorization"].removeprefix("Bearer ")
    second = site.installation.client(site.addresses[1], token)
    refused: list[httpx2.Response] = []

    def slow() -> Iterator[bytes]:
        yield content[: 2 * MiB]
        assert eventually(lambda: arrived() > 0)
        refused.append(second.append(where, content, 0))
        yield content[2 * MiB :]

    assert oak.append(where, slow(), 0).status_code == 204

    assert good(oak.http.get(where))["received"] == len(content)
    assert good(oak.http.get(where))["sha256"] == hashlib.sha256(content).hexdigest()
    assert [one.status_code for one in refused] == [409]
    assert 0 < int(refused[0].headers["Upload-Offset"]) <= 2 * MiB


@pytest.mark.slow
def test_a_gigabyte_does_not_fill_the_memory_of_the_web_server(site: SharedSite, oak: Client) -> None:
    running = site.installation
    block = bytes(MiB)
    pid = running.pid("web 1")
    before = bytes_of(pid, "VmRSS")

    response = oak.http.put(
        f"/api/v1/challenges/{PHASE}/uploads",
        params={"filename": "results.tar"},
        content=(block for _ in range(1024)),
        headers={"Content-Length": str(1024 * MiB)},
    )
    view = good(response)
    deleted = oak.http.delete(f"/api/v1/uploads/{view['id']}")

    assert view["received"] == 1024 * MiB
    assert not view["valid"]
    assert deleted.status_code == 204
    assert bytes_of(pid, "VmHWM") - before <= 80 * MiB


def test_an_archive_is_submitted_and_scored_with_plain_forms(site: SharedSite) -> None:
    person = {"email": "form@example.org", "name": "Form", "password": "a long password"}
    with httpx2.Client(base_url=site.addresses[0], headers={"Accept": "text/html"}) as browser:
        assert browser.post("/register", data=person).status_code == 303
        confirm_address(site.installation.platform, person["email"])

        sent = browser.post(f"/challenges/{PHASE}/submit", files={"archive": ("results.tar.gz", GOOD)})
        assert sent.status_code == 303
        report = browser.get(sent.headers["Location"])
        assert "results.tar.gz" in report.text
        confirmed = browser.post(
            sent.headers["Location"],
            data={
                "method": "By form",
                "description": DESCRIPTION,
                "competition": "3",
                "given_data_only": "true",
                "make_public": "true",
            },
        )
        assert confirmed.status_code == 303

        page = confirmed.headers["Location"]
        assert eventually(lambda: "50.0" in browser.get(page).text)
    assert site.anybody.means(PHASE)["By form"] == 0.5


@pytest.mark.parametrize("field", ["other", "archive"])
def test_a_form_without_an_archive_says_what_is_missing(site: SharedSite, oak: Client, field: str) -> None:
    words = {field: (None, b"not a file")}
    response = oak.http.post(f"/challenges/{PHASE}/submit", files=words, headers={"Accept": "text/html"})

    assert response.status_code == 422
    assert "Choose an archive first" in response.text


def test_a_report_lists_all_problems_of_an_archive_and_costs_no_quota(site: SharedSite) -> None:
    ash = site.participant("ash")
    folder = "results/VOC2012/Main"
    cat, dog = line(IMAGES[0], 0.9, BOXES["cat"]), line(IMAGES[0], 0.9, BOXES["dog"])
    bad = packed(
        {
            f"{folder}/comp3_det_test_cat.txt": f"{cat}{IMAGES[1]} 0.5 1 2 3\n999999 0.5 1 1 9 9\n".encode(),
            f"{folder}/comp3_det_test_dog.txt": f"{dog}{dog}{IMAGES[1]} high 1 1 9 9\n".encode(),
        }
    )

    upload = good(ash.send(PHASE, bad))

    problems = upload["report"]["problems"]
    places = [(problem["file"].rpartition("/")[2], problem["line"]) for problem in problems]
    assert places == [
        ("comp3_det_test_cat.txt", 2),
        ("comp3_det_test_cat.txt", 3),
        ("comp3_det_test_dog.txt", 3),
    ]
    assert (problems[0]["code"], problems[0]["found"]) == ("field-count", f"{IMAGES[1]} 0.5 1 2 3")
    assert ash.confirm(upload["id"], "Crooked").status_code == 422
    assert good(ash.http.get("/api/v1/submissions")) == []
    assert ash.final(ash.submit(PHASE, GOOD, "Straight"))["results"][0]["state"] == "scored"
    over = ash.confirm(ash.upload(PHASE, GOOD), "One too many")
    assert (over.status_code, over.json()["problems"][0]["code"]) == (429, "quota")


def test_the_list_of_uploads_counts_problems_omitted_from_the_report(site: SharedSite) -> None:
    elder = site.participant("elder")
    lines = f"{IMAGES[1]} nan 1 1 9 9\n".encode() * 300

    upload = good(elder.send(PHASE, packed({"results/VOC2012/Main/comp3_det_test_cat.txt": lines})))

    [row] = good(elder.http.get("/api/v1/uploads"))["uploads"]
    listed = len(upload["report"]["problems"])
    assert listed < row["problems"] == listed + upload["report"]["unlisted"]["not-finite"]


def test_uploads_and_submissions_of_another_team_are_not_found(site: SharedSite, oak: Client) -> None:
    yew = site.participant("yew")
    upload = yew.upload(PHASE, GOOD)
    with stopped(site.installation.pool()):
        submission_id = good(yew.confirm(upload, "Hidden"))["id"]
        run = yew.submission(submission_id)["results"][0]["shown"]["id"]

        for stranger in (oak, site.anybody):
            expected = 404 if stranger is oak else 401
            assert stranger.http.get(f"/api/v1/uploads/{upload}").status_code == expected
            assert stranger.http.head(f"/api/v1/uploads/{upload}").status_code == expected
            assert stranger.http.post(f"/api/v1/uploads/{upload}/check").status_code == expected
            assert stranger.append(f"/api/v1/uploads/{upload}", b"x", 0).status_code == expected
            assert stranger.confirm(upload, "Stolen").status_code == expected
            assert stranger.http.get(f"/api/v1/submissions/{submission_id}").status_code == 404
            assert stranger.http.get(f"/api/v1/runs/{run}/curves").status_code == 404
    yew.final(submission_id)
    assert oak.submission(submission_id)["filename"] == ""


def test_requests_from_pages_of_another_site_are_refused(site: SharedSite) -> None:
    address = site.addresses[0]
    person = {"email": "victim@example.org", "name": "Victim", "password": "a long password"}
    with httpx2.Client(base_url=address) as browser:
        browser.post("/register", data=person)
        own = browser.post(
            "/account/tokens", data={"name": "mine", "scope": "read"}, headers={"Origin": address}
        )
        assert own.status_code == 200
        for forged in (
            {"Origin": "https://evil.example"},
            {"Sec-Fetch-Site": "cross-site"},
            {"Origin": "null"},
        ):
            for path in ("/account/tokens", f"/challenges/{PHASE}/submit", "/logout", "/api/v1/submissions"):
                response = browser.post(path, headers=forged)
                assert response.status_code == 403, (path, forged)
        assert browser.get("/account").status_code == 200


@pytest.fixture
def description(site: SharedSite) -> Path:
    """The description file by which archives of the phase are checked."""
    [[key]] = site.installation.ask(
        "SELECT description_key FROM phase p JOIN challenge e ON p.challenge_id = e.id WHERE e.code = 'pieces'"
    )
    return stored_file(site.installation.platform.descriptions, key)


def test_an_archive_whose_check_is_killed_is_checked_again(
    site: SharedSite, oak: Client, description: Path
) -> None:
    with in_a_pipe(description) as pipe, ThreadPoolExecutor(1) as sender:
        response = sender.submit(oak.send, PHASE, GOOD)
        child = awaited(lambda: next(iter(working_children(site.installation.pid("web 1"))), None))
        assert eventually(lambda: has_open(child, description))
        pipe.put_back()

        kill_all([child])

        assert good(response.result())["valid"]


def test_a_temporarily_unreadable_archive_is_checked_later(
    site: SharedSite, oak: Client, description: Path
) -> None:
    with away(description):
        description.mkdir()  # a file exists but cannot be read
        refused = oak.send(PHASE, GOOD)
        description.rmdir()

    assert (refused.status_code, refused.json()["code"]) == (503, "storage-unavailable")
    [[upload]] = site.installation.ask("SELECT id FROM upload ORDER BY started_at DESC LIMIT 1")
    assert good(oak.http.post(f"/api/v1/uploads/{upload}/check"))["valid"]
