"""Who sees a result: its team until it is published, everybody afterwards, nobody once it is withdrawn."""

from itertools import count
from typing import Any

import pytest

from tests.system.conftest import SharedSite
from tests.system.installations import Client, awaited, good
from tests.system.kits import results, small_kit
from tests.system.servers import eventually

pytestmark = pytest.mark.system

NAMES = count(1)


@pytest.fixture(scope="module")
def phase(site: SharedSite, tmp_path_factory: pytest.TempPathFactory) -> str:
    site.installation.load(small_kit(tmp_path_factory.mktemp("seen")), "seen", quota=100)
    return "seen/test"


@pytest.fixture(scope="module")
def oak(site: SharedSite) -> Client:
    return site.participant("oak")


@pytest.fixture(scope="module")
def elm(site: SharedSite) -> Client:
    return site.participant("elm")


def scored(someone: Client, phase: str, *, make_public: bool) -> Any:
    """A scored submission of a new method."""
    upload = someone.upload(phase, results(cat=5, dog=5))
    response = someone.confirm(upload, f"Method {next(NAMES)}", make_public=make_public)
    return someone.final(int(good(response)["id"]))


def withdraw(someone: Client, submission: Any, reason: str = "") -> Any:
    [result] = submission["results"]
    return someone.http.post(f"/api/v1/results/{result['id']}/withdraw", json={"reason": reason})


def test_a_result_is_private_until_its_team_makes_it_public(
    site: SharedSite, phase: str, oak: Client, elm: Client
) -> None:
    submission = scored(oak, phase, make_public=False)
    name, address = submission["method"]["name"], f"/api/v1/submissions/{submission['id']}"
    run = submission["results"][0]["shown"]["id"]

    assert submission["results"][0]["shown"]["headline"] == 0.5
    for other in (elm, site.anybody):
        assert name not in other.means(phase)
        assert other.http.get(address).status_code == 404
        assert other.http.get(f"/api/v1/runs/{run}/tables").status_code == 404
    assert name not in oak.means(phase)
    [row] = awaited(lambda: [row for row in site.organiser.board(phase)["rows"] if row["method"] == name])
    assert row["is_public"] is False

    method = submission["method"]["id"]
    assert elm.http.post(f"/api/v1/methods/{method}/public").status_code == 404
    assert oak.http.post(f"/api/v1/methods/{method}/public").status_code == 204
    assert oak.http.post(f"/api/v1/methods/{method}/public").status_code == 204

    for other in (elm, site.anybody):
        assert other.means(phase)[name] == 0.5
        assert other.http.get(address).status_code == 200


def test_private_results_do_not_change_the_version_seen_by_the_public(
    site: SharedSite, phase: str, oak: Client
) -> None:
    before = site.anybody.board(phase)

    scored(oak, phase, make_public=False)

    assert eventually(lambda: site.organiser.board(phase)["version"] > before["version"])
    assert site.anybody.board(phase) == before


def test_the_name_of_a_withdrawn_private_method_stays_retired(
    site: SharedSite, phase: str, oak: Client, elm: Client
) -> None:
    submission = scored(oak, phase, make_public=False)
    name = submission["method"]["name"]

    assert withdraw(elm, submission).status_code == 404
    withdrawn = good(withdraw(oak, submission, "trained on the wrong images"))

    [result] = withdrawn["results"]
    assert (result["state"], result["withdraw_reason"]) == ("withdrawn", "trained on the wrong images")
    assert name not in [row["method"] for row in site.organiser.board(phase)["rows"]]
    assert withdraw(oak, submission).status_code == 409
    again = oak.confirm(oak.upload(phase, results(cat=5, dog=5)), name)
    assert (again.status_code, again.json()["problems"][0]["code"]) == (409, "name-retired")


def test_only_an_organiser_can_withdraw_a_public_result_with_a_reason(
    site: SharedSite, phase: str, oak: Client
) -> None:
    submission = scored(oak, phase, make_public=True)
    name = submission["method"]["name"]

    assert eventually(lambda: name in site.anybody.means(phase))
    assert withdraw(oak, submission, "I changed my mind").status_code == 403
    assert withdraw(site.organiser, submission).status_code == 422
    assert withdraw(site.organiser, submission, "used the test images").status_code == 200

    assert name not in site.anybody.means(phase)
    assert site.anybody.http.get(f"/api/v1/submissions/{submission['id']}").status_code == 404
    [result] = oak.submission(submission["id"])["results"]
    assert (result["state"], result["withdraw_reason"]) == ("withdrawn", "used the test images")
    [[action, reason]] = site.installation.ask(
        "SELECT action, reason FROM audit WHERE subject = %s", f"result {result['id']}"
    )
    assert (action, reason) == ("result.withdraw", "used the test images")


def test_the_page_warns_before_a_method_becomes_public(site: SharedSite, phase: str, oak: Client) -> None:
    submission = scored(oak, phase, make_public=False)
    address = f"/submissions/{submission['id']}"
    page = oak.http.get(address, headers={"Accept": "text/html"}).text

    assert "Only your team and the organisers see this submission" in page
    assert "This cannot be undone" in page
    assert oak.http.post(f"{address}/public").status_code == 303
    page = site.anybody.http.get(address, headers={"Accept": "text/html"}).text
    assert "Make public" not in page
    assert "Withdraw" not in page


@pytest.mark.sampled
def test_a_method_page_lists_only_results_its_reader_may_see(
    site: SharedSite, phase: str, oak: Client
) -> None:
    shown = scored(oak, phase, make_public=True)
    method = shown["method"]
    upload = oak.upload(phase, results(3, cat=1, dog=2))
    taken = oak.final(int(good(oak.confirm(upload, "Unseen " + method["name"]))["id"]))
    assert withdraw(site.organiser, taken, "a mistake").status_code == 200
    address = f"/api/v1/methods/{taken['method']['id']}"

    assert good(oak.http.get(address))["submissions"] == [taken["id"]]
    assert good(site.organiser.http.get(address))["submissions"] == [taken["id"]]
    assert good(site.anybody.http.get(address))["submissions"] == []
    assert good(site.anybody.http.get(f"/api/v1/methods/{method['id']}"))["submissions"] == [shown["id"]]
