import csv
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from fastapi.routing import APIRoute

from app.main import API, PAGES
from app.models import Disclosure
from app.results.leaders import COUNTS_FRESH
from tests.patience import LIMIT
from tests.system.conftest import SharedSite
from tests.system.installations import Client, awaited, good
from tests.system.kits import results, small_kit
from tests.system.process_trees import tree_of
from tests.system.servers import eventually

pytestmark = pytest.mark.system

PHASE = "hidden/test"
HALF_AT_ELEVEN_LEVELS = 6 / 11  # recall reaches 0.5, so six of the eleven levels have a precision of 1
ADDRESSES = sorted(
    {
        route.path
        for router in (*API, *PAGES)
        for route in router.routes
        if isinstance(route, APIRoute) and "GET" in (route.methods or ())
    }
)


@pytest.fixture(scope="module")
def oak(site: SharedSite) -> Client:
    return site.participant("oak")


@pytest.fixture(scope="module")
def submission(site: SharedSite, oak: Client, tmp_path_factory: pytest.TempPathFactory) -> int:
    """A scored submission on a held-out phase."""
    tree = small_kit(tmp_path_factory.mktemp("hidden"))
    site.installation.load(tree, "hidden", protocol="voc2007")
    number = oak.submit(PHASE, results(cat=5, dog=5), "Acorn")
    oak.final(number)
    return number


def private_folder(site: SharedSite) -> str:
    return str(site.installation.settings.private_storage)


@pytest.mark.sampled
def test_no_web_process_has_the_private_storage_in_its_environment(site: SharedSite) -> None:
    running = site.installation
    private = private_folder(site).encode()

    with running.started_as_installed() as processes:
        for pid in tree_of(processes.pid("web")):
            variables = Path(f"/proc/{pid}/environ").read_bytes()
            assert private not in variables
            assert b"HELDOUT_PRIVATE_STORAGE" not in variables
            assert private not in Path(f"/proc/{pid}/cmdline").read_bytes()
        assert private in Path(f"/proc/{processes.pid('worker')}/environ").read_bytes()


def test_no_web_process_has_a_file_of_the_private_storage_open(site: SharedSite, submission: int) -> None:
    private = private_folder(site)
    pids = tree_of(site.installation.pid("web 1"))

    for pid in pids:
        assert [name for name in open_files(pid) if name.startswith(private)] == []
        assert private not in Path(f"/proc/{pid}/maps").read_text()
    assert [name for pid in pids for name in open_files(pid)]


def open_files(pid: int) -> Iterator[str]:
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            yield str(descriptor.readlink())


@pytest.mark.sampled
def test_no_route_serves_a_file_of_the_private_storage(
    site: SharedSite, oak: Client, submission: int
) -> None:
    truth = site.installation.truth(PHASE)
    beginning = truth.read_bytes()[:32]
    words = (
        truth.name,
        f"..%2F..%2Fprivate%2Fcontent%2F{truth.name[:2]}%2F{truth.name}",
        str(submission),
    )
    asked = sorted({filled(address, word) for address in ADDRESSES for word in words})
    wrong = []
    for address in asked:
        for client in (site.organiser, oak):
            response = client.http.get(address, follow_redirects=False)
            if response.status_code >= 500 or beginning in response.content:
                wrong.append((address, response.status_code, response.text[:200]))

    assert beginning.startswith(b"heldout truth")
    assert len(asked) > len(ADDRESSES) > 200
    assert wrong == []


def filled(address: str, word: str) -> str:
    """An address with a word in place of each parameter."""
    parts = address.split("/")
    return "/".join(word if part.startswith("{") else part for part in parts)


@pytest.mark.parametrize("way", ["..", "%2e%2e", "..%2f..", "%5c..", "//"])
def test_path_traversal_below_static_is_refused(way: str, site: SharedSite, submission: int) -> None:
    truth = site.installation.truth(PHASE)

    for depth in range(1, 8):
        address = "/static/" + f"{way}/" * depth + str(truth).lstrip("/").replace(" ", "%20")
        response = site.organiser.http.get(address)
        assert response.status_code in (404, 405), address
        assert b"heldout truth" not in response.content


def test_on_a_held_out_phase_only_organisers_see_more_than_three_decimals(
    site: SharedSite, oak: Client, submission: int
) -> None:
    stranger = site.participant("elm")

    assert site.organiser.means(PHASE)["Acorn"] == pytest.approx(HALF_AT_ELEVEN_LEVELS, abs=1e-12)
    for reader in (oak, stranger, site.anybody):
        for address in (
            f"/api/v1/leaderboards/{PHASE}/3",
            f"/api/v1/submissions/{submission}",
            "/api/v1/challenges/hidden",
        ):
            body = good(reader.http.get(address))
            assert all(value == round(value, 3) for value in fractions(body)), address
        assert reader.means(PHASE)["Acorn"] == 0.545
    assert {row["mean"] for row in good(oak.http.get("/api/v1/submissions"))} == {0.545}


def test_on_a_held_out_phase_only_organisers_see_seconds(
    site: SharedSite, oak: Client, submission: int
) -> None:
    addresses = {
        f"/api/v1/leaderboards/{PHASE}/3": 2,
        f"/api/v1/submissions/{submission}": 7,
        "/api/v1/submissions": 1,
    }
    for reader in (oak, site.anybody):
        for address, fewest in addresses.items():
            response = reader.http.get(address)
            if reader is site.anybody and response.status_code == 401:
                continue
            moments = list(times(good(response)))
            assert len(moments) >= fewest
            assert {(moment.second, moment.microsecond) for moment in moments} == {(0, 0)}, address
        page = reader.http.get(f"/submissions/{submission}", headers={"Accept": "text/html"}).text
        assert set(re.findall(r'datetime="[^"]*:(\d\d)Z"', page)) == {"00"}
    for address in list(addresses)[:2]:
        assert any(moment.microsecond for moment in times(good(site.organiser.http.get(address)))), address


@pytest.mark.parametrize(
    "page",
    [f"/leaderboards/{PHASE}/3", "/submissions/{}", "/submissions/{}/status", "/challenges/hidden", "/"],
)
def test_no_page_shows_more_digits_than_the_board(
    page: str, site: SharedSite, oak: Client, submission: int
) -> None:
    for reader in (oak, site.anybody):
        response = reader.http.get(page.format(submission), headers={"Accept": "text/html"})
        assert response.status_code == 200
        assert "54.54" not in response.text
        assert "0.5454" not in response.text


def test_only_organisers_see_curves_intervals_and_counts_of_held_out_runs(
    site: SharedSite, oak: Client, submission: int
) -> None:
    run = shown_run(site.organiser, submission)
    for reader in (oak, site.anybody):
        [result] = reader.submission(submission)["results"]
        shown = result["shown"]
        assert {(one["positives"], one["predictions"]) for one in shown["classes"]} == {(None, None)}
        assert {(one["low"], one["high"]) for one in [shown, *shown["classes"]]} == {(None, None)}
        for what in ("curves", "curves.csv", "tables"):
            response = reader.http.get(f"/api/v1/runs/{run}/{what}")
            assert response.status_code == 403
            assert "held out" in response.text
        page = reader.http.get(f"/submissions/{submission}", headers={"Accept": "text/html"}).text
        assert "hidden because the annotation of test is held out" in page
        assert not re.search("polyline|Precision-recall curve|ROC curve|95% interval|With difficult", page)

    [result] = site.organiser.submission(submission)["results"]
    assert {(one["positives"], one["predictions"]) for one in result["shown"]["classes"]} == {(10, 5)}
    curves = good(site.organiser.http.get(f"/api/v1/runs/{run}/curves"))
    assert [len(curve["recall"]) for curve in curves] == [5, 5]
    download = site.organiser.http.get(f"/api/v1/runs/{run}/curves.csv")
    assert download.headers["content-type"] == "text/csv; charset=utf-8"
    assert f'filename="curves-of-run-{run}.csv"' in download.headers["content-disposition"]
    assert list(csv.reader(download.text.splitlines())) == [
        ["class", "recall", "precision"],
        *(
            [curve["name"], *("" if value is None else str(value) for value in point)]
            for curve in curves
            for point in zip(curve["recall"], curve["precision"], strict=True)
        ),
    ]
    one_class = site.organiser.http.get(f"/api/v1/runs/{run}/curves.csv", params={"class_name": "dog"})
    assert {row["class"] for row in csv.DictReader(one_class.text.splitlines())} == {"dog"}
    [table] = good(site.organiser.http.get(f"/api/v1/runs/{run}/tables"))
    assert table["title"].endswith("difficult objects included")
    page = site.organiser.http.get(f"/submissions/{submission}", headers={"Accept": "text/html"}).text
    assert "polyline" in page
    assert "With difficult" in page


def test_organisers_see_the_interval_of_every_score(site: SharedSite, submission: int) -> None:
    def shown_once_computed() -> Any:
        [result] = site.organiser.submission(submission)["results"]
        return result["shown"] if result["shown"]["low"] is not None else None

    shown = awaited(shown_once_computed)

    assert shown["low"] < shown["headline"] < shown["high"]
    for one in shown["classes"]:
        assert 0 <= one["low"] < one["value"] < one["high"] <= 1


@pytest.mark.parametrize(("chosen", "status"), [("true", 200), ("false", 403)])
def test_a_closed_phase_shows_curves_only_if_its_organiser_chose_to(
    chosen: str, status: int, site: SharedSite, oak: Client, submission: int
) -> None:
    run = shown_run(oak, submission)
    over = "closes_at = now() - interval '1 hour', opens_at = now() - interval '1 day', grace = interval '0'"
    of_phase = "FROM challenge e WHERE e.id = p.challenge_id AND e.code = 'hidden'"
    try:
        site.installation.ask(f"UPDATE phase p SET {over}, details_at_close = {chosen} {of_phase}")

        assert oak.http.get(f"/api/v1/runs/{run}/curves").status_code == status
    finally:
        site.installation.ask(f"UPDATE phase p SET closes_at = NULL, details_at_close = false {of_phase}")


def test_classes_of_an_incomplete_result_are_hidden_if_the_phase_says_so(
    site: SharedSite, oak: Client, tmp_path: Path
) -> None:
    site.installation.load(small_kit(tmp_path), "strict", protocol="voc2007", only_complete=True)
    number = oak.submit("strict/test", results(cat=5, dog=5), "Acorn")
    [result] = oak.final(number)["results"]
    [organisers] = site.organiser.submission(number)["results"]

    assert (result["shown"]["headline"], result["shown"]["classes"]) == (0.545, [])
    assert [each["value"] for each in oak.board("strict/test")["rows"][0]["cells"]] == [None, None]
    assert (result["is_complete"], organisers["is_complete"]) == (None, False)
    assert len(organisers["shown"]["classes"]) == 2
    assert site.organiser.board("strict/test")["rows"][0]["is_complete"] is False
    [[phase]] = site.installation.ask(
        "SELECT p.id FROM phase p JOIN challenge e ON p.challenge_id = e.id WHERE e.code = 'strict'"
    )
    [exposed] = good(site.organiser.http.get(f"/api/v1/organise/phases/{phase}/exposure"))
    assert (exposed["archives"], exposed["contents"], exposed["incomplete"]) == (1, 1, 1)
    assert exposed["use"] == {"results": 1, "values": 2, "steps": 0}
    assert exposed["lists"] == {"constant": 0, "partial": 2, "classes": 2}
    wanted = {
        "disclosure": "classes",
        "only_complete": True,
        "shows_exposure": True,
        "reason": "so that people know",
    }
    good(site.organiser.http.put(f"/api/v1/organise/phases/{phase}/disclosure", json=wanted))
    page = site.anybody.http.get("/challenges/strict", headers={"Accept": "text/html"}).text
    assert "At most 21 bits of the hidden labels can have been disclosed to any team" in page
    good(
        site.organiser.http.put(
            f"/api/v1/organise/phases/{phase}/disclosure", json=wanted | {"disclosure": "mean"}
        )
    )
    [stricter] = good(site.organiser.http.get(f"/api/v1/organise/phases/{phase}/exposure"))
    assert stricter["bits"] == exposed["bits"]  # the classes were disclosed before
    page = site.anybody.http.get("/challenges/strict", headers={"Accept": "text/html"}).text
    assert "At most 21 bits of the hidden labels can have been disclosed to any team" in page


def shown_run(reader: Client, submission: int) -> int:
    [result] = reader.submission(submission)["results"]
    number: int = result["shown"]["id"]
    return number


def test_the_public_description_contains_no_boxes_or_labels(site: SharedSite, submission: int) -> None:
    body = good(site.anybody.http.get(f"/api/v1/challenges/{PHASE}/description"))

    assert set(body) == {
        "dataset", "image_set", "classes", "actions", "images", "segmentation", "persons", "acting", "further", "not_offered",
        "limits",
    }  # fmt: skip
    assert len(body["images"]) == 10
    assert body["images"][0] == ["000001", 50, 40]


def times(body: Any) -> Iterator[datetime]:
    """Every time anywhere in a response."""
    if isinstance(body, str) and re.match(r"\d{4}-\d\d-\d\dT", body):
        yield datetime.fromisoformat(body)
    elif isinstance(body, dict | list):
        for part in body.values() if isinstance(body, dict) else body:
            yield from times(part)


def fractions(body: Any) -> Iterator[float]:
    """Every decimal number anywhere in a response."""
    if isinstance(body, float):
        yield body
    elif isinstance(body, dict | list):
        for part in body.values() if isinstance(body, dict) else body:
            yield from fractions(part)


NAMELESS = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b[0-9a-f]{12,}\b|\d+")
"""Ids, digests, moments and other numbers, which differ between two phases whatever their annotation is."""


@pytest.mark.sampled
def test_a_phase_that_discloses_nothing_looks_the_same_for_any_annotation(
    site: SharedSite, tmp_path: Path
) -> None:
    readers = {"oak": site.participant("holm oak"), "elm": site.participant("wych elm"), "": site.anybody}
    pages: dict[str, list[str]] = {}
    better = []
    for code, without in (
        ("blind", 0),
        ("bleak", 8),
    ):  # without these dogs the other method is better
        tree = small_kit(tmp_path / code, without=without)
        rules = {"disclosure": Disclosure.AT_CLOSE, "closes_in": timedelta(days=3)}
        site.installation.load(tree, code, **rules)
        archives = {"oak": results(cat=5, dog=5), "elm": results(cat=4, dog=10)}
        sent = [
            readers[who].final(readers[who].submit(f"{code}/test", archive, f"Of {who}"))
            for who, archive in archives.items()
        ]
        means = site.organiser.means(f"{code}/test")
        better.append(max(means, key=lambda method: means[method] or 0.0))
        pages[code] = [
            f"/challenges/{code}",
            f"/teams/{sent[0]['team_id']}",
            f"/api/v1/challenges/{code}",
            *(f"/leaderboards/{code}/test/3{end}" for end in ("", "?sort=dog&order=asc", "?format=csv")),
            f"/compare/{code}/test/3",
            f"/leaderboards/{code}/test/3/figures",
            *(f"/leaderboards/{code}/test/3/figures/{name}" for name in ("by-class", "progress", "curves-1")),
            *(f"/submissions/{each['id']}" for each in sent),
            *(f"/methods/{each['method']['id']}" for each in sent),
            f"/api/v1/runs/{sent[0]['results'][0]['shown']['id']}/tables",
        ]

    def read(code: str) -> dict[str, tuple[int, str]]:
        return {
            f"{who} {place}": said(reader, page, code)
            for who, reader in readers.items()
            for place, page in enumerate(pages[code])
        }

    for reader in readers.values():  # overviews count methods once a minute
        for code in pages:
            overview = f"/api/v1/challenges/{code}"
            assert eventually(lambda: '"methods":2' in reader.http.get(overview).text, COUNTS_FRESH + LIMIT)  # noqa: B023 - asked at once
    assert better == ["Of elm", "Of oak"]
    assert read("blind") == read("bleak")


def said(reader: Client, page: str, code: str) -> tuple[int, str]:
    """The status and the text of a page, without the challenge's name and without numbers."""
    response = reader.http.get(page, headers={"Accept": "text/html"})
    return response.status_code, NAMELESS.sub("#", response.text.replace(code, "challenge"))
