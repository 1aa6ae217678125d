"""Similar results are pointed out only to organisers."""

from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.system.conftest import SharedSite
from tests.system.installations import awaited, good
from tests.system.kits import results, small_kit

pytestmark = [pytest.mark.slow, pytest.mark.system]

CHALLENGES = count(1)
PATIENCE = 180  # seconds: follow-up jobs of other tests' results are done first


@pytest.fixture
def where(site: SharedSite, tmp_path: Path) -> str:
    """The address of the list of a challenge; two teams have entered the same predictions."""
    challenge = f"alike-{next(CHALLENGES)}"
    site.installation.load(small_kit(tmp_path), challenge)
    [[phase]] = site.installation.ask(
        "SELECT p.id FROM phase p JOIN challenge e ON p.challenge_id = e.id WHERE e.code = %s", challenge
    )
    for name, archive in (("pinus", results(3, cat=2, dog=5)), ("picea", results(3, cat=2, dog=5))):
        client = site.participant(name)
        client.final(client.submit(f"{challenge}/test", archive, f"Net_of_{name}"))
    return f"/api/v1/organise/phases/{phase}/alike"


def pairs(site: SharedSite, where: str, **asked: int) -> list[dict[str, Any]]:
    return list(good(site.organiser.http.get(where, params=asked))["pairs"])


def test_equal_predictions_of_two_teams_are_listed_once_both_are_scored(site: SharedSite, where: str) -> None:
    [pair] = awaited(lambda: pairs(site, where) or None, PATIENCE)

    assert (pair["newer"]["method"], pair["older"]["method"]) == ("Net_of_picea", "Net_of_pinus")
    assert pair["newer"]["team_id"] != pair["older"]["team_id"]
    assert pair["same_predictions"] is True
    assert (pair["rank_correlation"], pair["common_boxes"], pair["common_pixels"]) == (1.0, 1.0, None)
    assert site.participant("abies2").http.get(where).status_code == 403
    page = site.organiser.http.get(where.removeprefix("/api/v1"), headers={"Accept": "text/html"}).text
    assert "Net_of_picea" in page
    assert "same predictions" in page
    overview = site.organiser.http.get("/organise", headers={"Accept": "text/html"}).text
    assert "1 similar pair of methods" in overview


def test_a_pair_is_dismissed_with_a_reason_and_restored(site: SharedSite, where: str) -> None:
    [pair] = awaited(lambda: pairs(site, where) or None, PATIENCE)
    act = f"/api/v1/organise/alike/{pair['id']}"
    http = site.organiser.http

    assert http.post(f"{act}/restore").status_code == 409
    assert http.post(f"{act}/dismiss", json={"reason": " "}).status_code == 422
    assert http.post(f"{act}/dismiss", json={"reason": "one baseline"}).status_code == 204
    assert http.post(f"{act}/dismiss", json={"reason": "again"}).status_code == 409
    assert pairs(site, where) == []
    [dismissed] = pairs(site, where, dismissed=True)
    assert dismissed["dismiss_reason"] == "one baseline"
    assert pairs(site, where, dismissed=True, before=pair["id"]) == []
    assert http.post(f"{act}/restore").status_code == 204
    assert len(pairs(site, where)) == 1
    assert http.post("/api/v1/organise/alike/999999/restore").status_code == 404
    records = site.installation.ask(
        "SELECT action, reason FROM audit WHERE subject = %s ORDER BY id", f"pair {pair['id']}"
    )
    assert records == [("pair.dismiss", "one baseline"), ("pair.restore", "")]


def test_a_withdrawn_result_is_not_listed_and_its_sketch_is_deleted(site: SharedSite, where: str) -> None:
    [pair] = awaited(lambda: pairs(site, where) or None, PATIENCE)
    result = pair["newer"]["result_id"]

    good(
        site.organiser.http.post(
            f"/api/v1/results/{result}/withdraw", json={"reason": "sent under two names"}
        )
    )

    assert pairs(site, where) == []
    awaited(
        lambda: site.installation.ask(
            "SELECT 1 WHERE NOT EXISTS (SELECT FROM sketch WHERE result_id = %s)", result
        )
    )
