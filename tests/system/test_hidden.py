import math
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from fastapi.routing import APIRoute

from app.main import API, PAGES
from tests.system.conftest import Peaceful
from tests.system.installations import Client, good
from tests.system.kits import results, small_kit
from tests.system.process_trees import tree_of

pytestmark = pytest.mark.system

PHASE = "hidden/test"
HALF_AT_ELEVEN_LEVELS = 6 / 11  # recall reaches 0.5, so that six of the eleven levels have a precision of 1
ADDRESSES = sorted(
    {
        route.path
        for router in (*API, *PAGES)
        for route in router.routes
        if isinstance(route, APIRoute) and "GET" in (route.methods or ())
    }
)


@pytest.fixture(scope="module")
def oak(peaceful: Peaceful) -> Client:
    return peaceful.participant("oak")


@pytest.fixture(scope="module")
def submission(peaceful: Peaceful, oak: Client, tmp_path_factory: pytest.TempPathFactory) -> int:
    """A scored submission on a held-out phase."""
    tree = small_kit(tmp_path_factory.mktemp("hidden"))
    peaceful.installation.load(tree, "hidden", protocol="voc2007")
    number = oak.submit(PHASE, results(cat=5, dog=5), "Acorn")
    oak.final(number)
    return number


def private_folder(peaceful: Peaceful) -> str:
    return str(peaceful.installation.settings.private_storage)


def test_the_environment_of_no_process_of_the_web_server_names_the_private_storage(
    peaceful: Peaceful, submission: int
) -> None:
    running = peaceful.installation
    private = private_folder(peaceful).encode()

    for pid in tree_of(running.pid("web 1")):
        variables = Path(f"/proc/{pid}/environ").read_bytes()
        assert private not in variables
        assert b"HELDOUT_PRIVATE_STORAGE" not in variables
        assert private not in Path(f"/proc/{pid}/cmdline").read_bytes()
    assert private in Path(f"/proc/{running.pid('worker')}/environ").read_bytes()


def test_no_process_of_the_web_server_has_a_file_of_the_private_storage_open(
    peaceful: Peaceful, submission: int
) -> None:
    private = private_folder(peaceful)
    pids = tree_of(peaceful.installation.pid("web 1"))

    for pid in pids:
        assert [name for name in open_files(pid) if name.startswith(private)] == []
        assert private not in Path(f"/proc/{pid}/maps").read_text()
    assert [name for pid in pids for name in open_files(pid)]


def open_files(pid: int) -> Iterator[str]:
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed in the meantime
            yield str(descriptor.readlink())


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_address_serves_a_file_of_the_private_storage(
    address: str, peaceful: Peaceful, oak: Client, submission: int
) -> None:
    truth = peaceful.installation.truth(PHASE)
    beginning = truth.read_bytes()[:32]
    assert beginning.startswith(b"heldout truth")

    for word in (
        truth.name,
        f"..%2F..%2Fprivate%2Fcontent%2F{truth.name[:2]}%2F{truth.name}",
        str(submission),
    ):
        for client in (peaceful.organiser, oak):
            answer = client.http.get(filled(address, word), follow_redirects=False)
            assert answer.status_code < 500, answer.text
            assert beginning not in answer.content


def filled(address: str, word: str) -> str:
    """An address with a word in the place of everything that varies."""
    parts = address.split("/")
    return "/".join(word if part.startswith("{") else part for part in parts)


@pytest.mark.parametrize("way", ["..", "%2e%2e", "..%2f..", "%5c..", "//"])
def test_nothing_beside_the_style_sheets_and_scripts_is_served_from_below_static(
    way: str, peaceful: Peaceful, submission: int
) -> None:
    truth = peaceful.installation.truth(PHASE)

    for depth in range(1, 8):
        address = "/static/" + f"{way}/" * depth + str(truth).lstrip("/").replace(" ", "%20")
        answer = peaceful.organiser.http.get(address)
        assert answer.status_code in (404, 405), address
        assert b"heldout truth" not in answer.content


def test_a_held_out_phase_shows_three_decimals_to_all_but_organisers(
    peaceful: Peaceful, oak: Client, submission: int
) -> None:
    stranger = peaceful.participant("elm")

    assert peaceful.organiser.means(PHASE)["Acorn"] == pytest.approx(HALF_AT_ELEVEN_LEVELS, abs=1e-12)
    for reader in (oak, stranger, peaceful.anybody):
        for address in (
            f"/api/leaderboards/{PHASE}/3",
            f"/api/submissions/{submission}",
            "/api/editions/hidden",
            f"/api/runs/{shown_run(reader, submission)}/tables",
        ):
            told = good(reader.http.get(address))
            assert all(value == round(value, 3) for value in fractions(told)), address
        assert reader.means(PHASE)["Acorn"] == 0.545
    assert [row["mean"] for row in good(oak.http.get("/api/submissions"))] == [0.545]


@pytest.mark.parametrize(
    "page", [f"/leaderboards/{PHASE}/3", "/submissions/{}", "/submissions/{}/status", "/editions/hidden", "/"]
)
def test_no_page_shows_more_digits_than_the_board(
    page: str, peaceful: Peaceful, oak: Client, submission: int
) -> None:
    for reader in (oak, peaceful.anybody):
        answer = reader.http.get(page.format(submission), headers={"Accept": "text/html"})
        assert answer.status_code == 200
        assert "54.54" not in answer.text
        assert "0.5454" not in answer.text


def test_a_held_out_run_shows_no_counts_and_curves_of_41_points_with_two_decimals(
    peaceful: Peaceful, oak: Client, submission: int
) -> None:
    for reader in (oak, peaceful.anybody):
        [entry] = reader.submission(submission)["entries"]
        assert {(one["positives"], one["answers"]) for one in entry["shown"]["classes"]} == {(None, None)}
        curves = good(reader.http.get(f"/api/runs/{entry['shown']['id']}/curves"))
        assert [curve["name"] for curve in curves] == ["cat", "dog"]
        for curve in curves:
            assert curve["coarse"]
            assert len(curve["precision"]) == len(curve["recall"]) == 41
            assert curve["precision"] == [round(value, 2) for value in curve["precision"]]

    [entry] = peaceful.organiser.submission(submission)["entries"]
    assert {(one["positives"], one["answers"]) for one in entry["shown"]["classes"]} == {(10, 5)}
    curves = good(peaceful.organiser.http.get(f"/api/runs/{entry['shown']['id']}/curves"))
    assert [len(curve["recall"]) for curve in curves] == [5, 5]


def test_every_score_stands_with_the_interval_that_other_images_would_leave_it_in(
    peaceful: Peaceful, oak: Client, submission: int
) -> None:
    [exact], [rounded] = (reader.submission(submission)["entries"] for reader in (peaceful.organiser, oak))
    exact, rounded = exact["shown"], rounded["shown"]

    assert exact["low"] < exact["headline"] < exact["high"]
    assert (rounded["low"], rounded["high"]) == outwards(exact)
    for one, shown in zip(exact["classes"], rounded["classes"], strict=True):
        assert 0 <= one["low"] < one["value"] < one["high"] <= 1
        assert (shown["low"], shown["high"]) == outwards(one)


def outwards(interval: dict[str, float]) -> tuple[float, float]:
    """The bounds as a held-out phase shows them: two decimals, never inside the interval."""
    return math.floor(interval["low"] * 100) / 100, math.ceil(interval["high"] * 100) / 100


def test_beside_the_official_number_stands_the_one_with_difficult_objects_included(
    peaceful: Peaceful, submission: int
) -> None:
    run = shown_run(peaceful.anybody, submission)

    [table] = good(peaceful.anybody.http.get(f"/api/runs/{run}/tables"))

    assert table["title"].endswith("difficult objects included")
    assert [row["name"] for row in table["rows"]] == ["cat", "dog"]
    assert table["total"] == 0.545


def shown_run(reader: Client, submission: int) -> int:
    [entry] = reader.submission(submission)["entries"]
    number: int = entry["shown"]["id"]
    return number


def test_the_public_description_holds_no_boxes_and_no_labels(peaceful: Peaceful, submission: int) -> None:
    told = good(peaceful.anybody.http.get(f"/api/editions/{PHASE}/description"))

    assert set(told) == {
        "dataset", "image_set", "classes", "actions", "images", "segmentation", "persons", "acting", "further",
        "limits",
    }  # fmt: skip
    assert len(told["images"]) == 10
    assert told["images"][0] == ["000001", 50, 40]


def fractions(told: Any) -> Iterator[float]:
    """Every number with a point in an answer, wherever it stands."""
    if isinstance(told, float):
        yield told
    elif isinstance(told, dict | list):
        for part in told.values() if isinstance(told, dict) else told:
            yield from fractions(part)
