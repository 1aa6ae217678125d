import hashlib
from collections.abc import Iterator

import httpx2
import pytest

from tests.system.conftest import Peaceful
from tests.system.installations import Client, good
from tests.system.kits import BOXES, IMAGES, line, packed, results, small_kit
from tests.system.process_trees import bytes_of, stopped
from tests.system.servers import eventually

pytestmark = pytest.mark.system

PHASE = "uploads/test"
GOOD = results(cat=5, dog=5)
LIMIT = 100_000
MiB = 1 << 20


@pytest.fixture(scope="module", autouse=True)
def edition(peaceful: Peaceful, tmp_path_factory: pytest.TempPathFactory) -> None:
    peaceful.installation.load(small_kit(tmp_path_factory.mktemp("uploads")), "uploads", quota=1)


@pytest.fixture(scope="module")
def oak(peaceful: Peaceful) -> Client:
    return peaceful.participant("oak")


@pytest.fixture(scope="module")
def small_web(peaceful: Peaceful) -> str:
    """A web server that takes small archives only."""
    return peaceful.installation.start_web("small web", max_upload=LIMIT)


@pytest.fixture(scope="module")
def limited(peaceful: Peaceful, small_web: str) -> Client:
    return peaceful.installation.participant(small_web, "elm")


def begun(someone: Client, size: int, **told: str) -> str:
    """The address of an upload that was announced."""
    new = {"filename": "results.tar.gz", "size": size, **told}
    answer = someone.http.post(f"/api/editions/{PHASE}/uploads", json=new)
    assert answer.status_code == 201, answer.text
    return str(answer.headers["Location"])


def piece(someone: Client, where: str, content: bytes, offset: int) -> httpx2.Response:
    return someone.http.patch(where, content=content, headers={"Upload-Offset": str(offset)})


@pytest.mark.parametrize("size", [LIMIT + 1, 10 * LIMIT])
def test_an_announced_archive_that_is_too_large_is_refused_with_the_limit(limited: Client, size: int) -> None:
    answer = limited.send(PHASE, bytes(size))

    assert answer.status_code == 413
    assert f"at most {LIMIT} bytes" in answer.json()["title"]


@pytest.mark.parametrize("size", [LIMIT + 1, 10 * LIMIT])
def test_a_stream_of_unknown_length_is_cut_off_at_the_limit(limited: Client, size: int) -> None:
    def stream() -> Iterator[bytes]:
        for start in range(0, size, 1000):
            yield bytes(min(1000, size - start))

    answer = limited.http.put(
        f"/api/editions/{PHASE}/uploads", params={"filename": "results.tar"}, content=stream()
    )

    assert answer.status_code == 413
    assert f"at most {LIMIT} bytes" in answer.json()["title"]


def test_pieces_that_would_be_too_large_together_are_refused_before_the_first(limited: Client) -> None:
    new = {"filename": "results.tar.gz", "size": LIMIT + 1}

    answer = limited.http.post(f"/api/editions/{PHASE}/uploads", json=new)

    assert answer.status_code == 413
    assert f"at most {LIMIT} bytes" in answer.json()["title"]


def test_more_than_was_announced_is_refused(oak: Client) -> None:
    where = begun(oak, 1000)

    answer = piece(oak, where, bytes(1001), 0)

    assert answer.status_code == 413
    assert answer.json()["title"] == "1000 bytes were announced, and more came"


def test_a_form_that_is_too_large_is_refused_with_the_limit(small_web: str, limited: Client) -> None:
    archive = {"archive": ("results.tar.gz", bytes(10 * LIMIT))}
    for size_is_told in (True, False):
        request = limited.http.build_request("POST", f"/editions/{PHASE}/submit", files=archive)
        body = request.read()
        content = (
            body if size_is_told else (body[start : start + 1000] for start in range(0, len(body), 1000))
        )
        kind = {"Content-Type": request.headers["Content-Type"], "Accept": "text/html"}

        answer = limited.http.post(f"/editions/{PHASE}/submit", content=content, headers=kind)

        assert answer.status_code == 413
        assert f"at most {LIMIT} bytes" in answer.text


def test_an_upload_comes_in_pieces_and_goes_on_where_it_stands(oak: Client) -> None:
    where = begun(oak, len(GOOD), sha256=hashlib.sha256(GOOD).hexdigest())
    middle = len(GOOD) // 2

    assert good(piece(oak, where, GOOD[:middle], 0))["state"] == "receiving"
    for wrong in (0, middle - 1, middle + 1, len(GOOD)):
        refused = piece(oak, where, GOOD[wrong:], wrong)
        assert (refused.status_code, refused.headers["Upload-Offset"]) == (409, str(middle))
        assert refused.json()["title"] == f"the upload stands at byte {middle}; go on from there"
    assert oak.http.head(where).headers["Upload-Offset"] == str(middle)
    finished = good(piece(oak, where, GOOD[middle:], middle))

    assert (finished["state"], finished["valid"]) == ("checked", True)
    assert finished["sha256"] == hashlib.sha256(GOOD).hexdigest()
    assert piece(oak, where, b"x", len(GOOD)).status_code == 409


def test_bytes_with_another_hash_than_announced_are_refused(oak: Client) -> None:
    announced = hashlib.sha256(b"something else").hexdigest()
    where = begun(oak, len(GOOD), sha256=announced)

    answer = piece(oak, where, GOOD, 0)

    assert answer.status_code == 422
    arrived = hashlib.sha256(GOOD).hexdigest()
    assert answer.json()["title"] == (
        f"the bytes that arrived have sha256 {arrived}, announced was {announced}; send the archive again"
    )
    assert oak.http.get(where).status_code == 404


def test_of_two_who_write_to_one_upload_at_two_web_servers_one_is_refused(
    peaceful: Peaceful, oak: Client
) -> None:
    content = bytes(200_000)
    where = begun(oak, len(content))
    gathered = peaceful.installation.settings.archives / "incoming" / where.rpartition("/")[2]
    token = oak.http.headers["Authorization"].removeprefix("Bearer ")
    second = peaceful.installation.client(peaceful.addresses[1], token)
    refused: list[httpx2.Response] = []

    def slow() -> Iterator[bytes]:
        yield content[:100_000]
        assert eventually(lambda: gathered.exists() and gathered.stat().st_size > 0)
        refused.append(piece(second, where, content, 0))
        yield content[100_000:]

    answer = oak.http.patch(where, content=slow(), headers={"Upload-Offset": "0"})

    assert good(answer)["received"] == len(content)
    assert [one.status_code for one in refused] == [409]
    assert refused[0].json()["title"] == "another request is writing to this upload"


def test_a_gigabyte_does_not_fill_the_memory_of_the_web_server(peaceful: Peaceful, oak: Client) -> None:
    running = peaceful.installation
    block = bytes(MiB)
    pid = running.pid("web 1")
    before = bytes_of(pid, "VmRSS")

    answer = oak.http.put(
        f"/api/editions/{PHASE}/uploads",
        params={"filename": "results.tar"},
        content=(block for _ in range(1024)),
    )
    told = good(answer)
    running.platform.archives.path(told["sha256"]).unlink()

    assert told["received"] == 1024 * MiB
    assert not told["valid"]
    assert bytes_of(pid, "VmHWM") - before <= 80 * MiB


def test_a_form_without_script_takes_an_archive_to_its_score(peaceful: Peaceful) -> None:
    person = {"email": "form@example.org", "name": "Form", "password": "a long password"}
    with httpx2.Client(base_url=peaceful.addresses[0], headers={"Accept": "text/html"}) as browser:
        assert browser.post("/register", data=person).status_code == 303

        sent = browser.post(f"/editions/{PHASE}/submit", files={"archive": ("results.tar.gz", GOOD)})
        assert sent.status_code == 303
        report = browser.get(sent.headers["Location"])
        assert "results.tar.gz" in report.text
        confirmed = browser.post(
            f"{sent.headers['Location']}/confirm", data={"method": "By form", "competition": "3"}
        )
        assert confirmed.status_code == 303

        page = confirmed.headers["Location"]
        assert eventually(lambda: "50.0" in browser.get(page).text)
    assert peaceful.anybody.means(PHASE)["By form"] == 0.5


@pytest.mark.parametrize("field", ["other", "archive"])
def test_a_form_without_an_archive_says_what_is_missing(peaceful: Peaceful, oak: Client, field: str) -> None:
    words = {field: (None, b"not a file")}
    answer = oak.http.post(f"/editions/{PHASE}/submit", files=words, headers={"Accept": "text/html"})

    assert answer.status_code == 422
    assert "choose an archive first" in answer.text


def test_an_archive_with_problems_is_told_all_of_them_and_costs_nothing(peaceful: Peaceful) -> None:
    ash = peaceful.participant("ash")
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
    assert good(ash.http.get("/api/submissions")) == []
    assert ash.final(ash.submit(PHASE, GOOD, "Straight"))["entries"][0]["state"] == "scored"
    over = ash.confirm(ash.upload(PHASE, GOOD), "One too many")
    assert (over.status_code, over.json()["problems"][0]["code"]) == (429, "quota")


def test_another_team_s_upload_and_submission_are_not_there(peaceful: Peaceful, oak: Client) -> None:
    yew = peaceful.participant("yew")
    upload = yew.upload(PHASE, GOOD)
    with stopped(peaceful.installation.pool()):
        number = good(yew.confirm(upload, "Hidden"))["id"]
        run = yew.submission(number)["entries"][0]["shown"]["id"]

        for stranger in (oak, peaceful.anybody):
            expected = 404 if stranger is oak else 401
            assert stranger.http.get(f"/api/uploads/{upload}").status_code == expected
            assert stranger.http.head(f"/api/uploads/{upload}").status_code == expected
            assert stranger.http.post(f"/api/uploads/{upload}/check").status_code == expected
            assert piece(stranger, f"/api/uploads/{upload}", b"x", 0).status_code == expected
            assert stranger.confirm(upload, "Stolen").status_code == expected
            assert stranger.http.get(f"/api/submissions/{number}").status_code == 404
            assert stranger.http.get(f"/api/runs/{run}/curves").status_code == 404
    yew.final(number)
    assert oak.submission(number)["filename"] == ""


def test_what_a_page_of_another_site_sends_is_refused(peaceful: Peaceful) -> None:
    address = peaceful.addresses[0]
    person = {"email": "victim@example.org", "name": "Victim", "password": "a long password"}
    with httpx2.Client(base_url=address) as browser:
        browser.post("/register", data=person)
        own = browser.post("/account/tokens", data={"name": "mine"}, headers={"Origin": address})
        assert own.status_code == 200
        for forged in (
            {"Origin": "https://evil.example"},
            {"Sec-Fetch-Site": "cross-site"},
            {"Origin": "null"},
        ):
            for path in ("/account/tokens", f"/editions/{PHASE}/submit", "/logout", "/api/submissions"):
                answer = browser.post(path, headers=forged)
                assert answer.status_code == 403, (path, forged)
        assert browser.get("/account").status_code == 200
