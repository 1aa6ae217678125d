"""Anonymous links: what reviewers see, and what happens to a link that is revoked or revealed."""

import json
from typing import Any

import pytest

from tests.system.conftest import SharedSite
from tests.system.installations import LONGEST, Client, good
from tests.system.kits import results, small_kit
from tests.system.servers import eventually

pytestmark = pytest.mark.system

HTML = {"Accept": "text/html"}


@pytest.fixture(scope="module")
def phase(site: SharedSite, tmp_path_factory: pytest.TempPathFactory) -> str:
    site.installation.load(small_kit(tmp_path_factory.mktemp("reviewed")), "reviewed", quota=100)
    return "reviewed/test"


@pytest.fixture(scope="module")
def oak(site: SharedSite) -> Client:
    return site.participant("quercus")


@pytest.fixture(scope="module")
def submission(phase: str, oak: Client) -> Any:
    upload = oak.upload(phase, results(cat=5, dog=5))
    return oak.final(int(good(oak.confirm(upload, "Acorn_net", make_public=False))["id"]))


def new_link(someone: Client, submission: Any) -> tuple[int, str]:
    """The id and the path of a new link."""
    made = good(someone.http.post(f"/api/v1/results/{submission['results'][0]['id']}/links"))
    return made["id"], made["path"]


def test_a_reviewer_reads_the_scores_and_nothing_else(site: SharedSite, oak: Client, submission: Any) -> None:
    _, address = new_link(oak, submission)

    page = site.anybody.http.get(address, headers=HTML)
    result = good(site.anybody.http.get(f"/api/v1{address}"))

    shown = submission["results"][0]["shown"]
    assert (result["headline"], result["classes"]) == (shown["headline"], shown["classes"])
    for secret in ("Acorn", "quercus", submission["sha256"], submission["created_at"][:10], shown["receipt"]):
        assert secret not in page.text
        assert secret not in json.dumps(result)
    for response in (page, site.anybody.http.get(f"/api/v1{address}")):
        assert response.headers["X-Robots-Tag"] == "noindex, nofollow"
        assert response.headers["Referrer-Policy"] == "no-referrer"
        assert response.headers["Cache-Control"] == "no-store"


def test_only_the_team_makes_and_sees_links_of_a_result(
    site: SharedSite, oak: Client, submission: Any
) -> None:
    number, _ = new_link(oak, submission)
    result = f"/api/v1/results/{submission['results'][0]['id']}/links"

    for other in (site.participant("elm"), site.organiser):
        assert other.http.get(result).status_code == 404
        assert other.http.post(result).status_code == 404
        assert other.http.post(f"/api/v1/links/{number}/revoke").status_code == 404
        assert other.http.post(f"/api/v1/links/{number}/reveal").status_code == 404


def test_a_revoked_link_looks_as_if_it_never_existed(site: SharedSite, oak: Client, submission: Any) -> None:
    number, address = new_link(oak, submission)
    never = site.anybody.http.get("/api/v1/anonymous/" + "x" * 32).json()

    assert oak.http.post(f"/links/{number}/revoke").status_code == 303

    revoked = site.anybody.http.get(f"/api/v1{address}")
    assert revoked.status_code == 404
    assert {**revoked.json(), "reference": ""} == {**never, "reference": ""}
    page = oak.http.get(f"/results/{submission['results'][0]['id']}/links", headers=HTML).text
    assert "nothing, revoked" in page


@pytest.mark.sampled
def test_a_link_shows_the_same_run_until_the_result_is_withdrawn(
    site: SharedSite, phase: str, oak: Client
) -> None:
    upload = oak.upload(phase, results(cat=5, dog=5))
    made = oak.final(int(good(oak.confirm(upload, "Frozen_net", make_public=False))["id"]))
    _, address = new_link(oak, made)
    result = made["results"][0]["id"]
    before = good(site.anybody.http.get(f"/api/v1{address}"))
    shown = made["results"][0]["shown"]["id"]

    good(site.organiser.http.post(f"/api/v1/organise/results/{result}/rescore"))
    assert eventually(lambda: oak.submission(made["id"])["results"][0]["shown"]["id"] != shown)
    # intervals are written into the same rows
    due = "SELECT FROM job WHERE dead_at IS NULL AND coalesce(not_before, now()) <= now()"
    assert eventually(lambda: not site.installation.ask(due), LONGEST)
    site.installation.ask(
        "UPDATE class_score SET value = 0.25, held_out_value = 0.25 FROM run WHERE run.id = run_id AND result_id = %s"
        " AND run.id <> %s RETURNING 1",
        result,
        shown,
    )
    assert good(site.anybody.http.get(f"/api/v1{address}")) == before
    assert before["headline"] == 0.5

    assert oak.http.post(f"/api/v1/results/{result}/withdraw", json={}).status_code == 200
    after = good(site.anybody.http.get(f"/api/v1{address}"))
    assert (after["headline"], after["classes"], after["is_withdrawn"]) == (None, [], True)


@pytest.mark.sampled
def test_a_revealed_link_redirects_to_the_page_with_names(site: SharedSite, phase: str, oak: Client) -> None:
    upload = oak.upload(phase, results(cat=5, dog=5))
    made = oak.final(int(good(oak.confirm(upload, "Later_named", make_public=False))["id"]))
    number, address = new_link(oak, made)

    too_early = oak.http.post(f"/api/v1/links/{number}/reveal")
    assert (too_early.status_code, too_early.json()["code"]) == (409, "no-link")
    assert oak.http.post(f"/methods/{made['method']['id']}/public").status_code == 303
    assert site.anybody.http.get(address, headers=HTML).status_code == 200
    assert oak.http.post(f"/links/{number}/reveal").status_code == 303

    named = site.anybody.http.get(address, headers=HTML)
    assert (named.status_code, named.headers["Location"]) == (302, f"/submissions/{made['id']}")
    assert good(site.anybody.http.get(f"/api/v1/submissions/{made['id']}"))["method"]["name"] == "Later_named"


@pytest.mark.sampled
def test_a_link_shows_nothing_while_results_are_embargoed_or_hidden(
    site: SharedSite, oak: Client, submission: Any
) -> None:
    _, address = new_link(oak, submission)
    ask = site.installation.ask
    phase = f"(SELECT phase_id FROM submission WHERE id = {submission['id']})"

    for hide, show in (
        (
            f"UPDATE phase SET embargo = true, closes_at = now() + interval '1 d' WHERE id = {phase} RETURNING 1",
            f"UPDATE phase SET embargo = false, closes_at = NULL WHERE id = {phase} RETURNING 1",
        ),
        (
            "UPDATE team SET suspended_at = now(), hides_results = true WHERE name = 'quercus' RETURNING 1",
            "UPDATE team SET suspended_at = NULL, hides_results = false WHERE name = 'quercus' RETURNING 1",
        ),
    ):
        assert ask(hide)
        assert site.anybody.http.get(address, headers=HTML).status_code == 404
        assert ask(show)
        assert site.anybody.http.get(address, headers=HTML).status_code == 200
