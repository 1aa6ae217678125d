"""Cancelling a submission that waits, and giving quota back, as people and programs meet them; no worker runs here."""

from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.main import create_app
from tests.pages.provoking import Scene, scene
from tests.second_factors import token_of_admin
from tests.system.installations import good
from tests.system.kits import results

__all__ = ["scene"]

QUOTA = "/api/v1/challenges/open/test/quota"


@pytest.fixture
def page(scene: Scene) -> Iterator[TestClient]:
    """The pages as the person sees them whose program the scene has."""
    headers = {**scene.program.headers, "Accept": "text/html"}
    with TestClient(create_app(scene.platform), headers=headers, follow_redirects=False) as client:
        yield client


@pytest.fixture(autouse=True)
def _nothing_submitted(scene: Scene) -> Iterator[None]:
    yield
    scene.run_sql("UPDATE result SET refunded_at = now() WHERE refunded_at IS NULL")


def submitted(scene: Scene, method: str) -> Any:
    return good(scene.confirm(scene.upload("open"), method))


def left(scene: Scene) -> int:
    return next(int(each["left"]) for each in good(scene.program.get(QUOTA)) if each["task"] == "detection")


def admin(scene: Scene) -> dict[str, str]:
    return {"Authorization": f"Bearer {token_of_admin(scene.platform, 'admin@localhost', 'Admin')}"}


def test_a_cancelled_submission_costs_nothing_and_its_name_stays_free(scene: Scene) -> None:
    number = submitted(scene, "Alder")["id"]
    assert left(scene) == 0

    cancelled = good(scene.program.post(f"/api/v1/submissions/{number}/cancel"))

    [result] = cancelled["results"]
    assert (result["state"], result["can_cancel"], left(scene)) == ("withdrawn", False, 1)
    assert result["cancelled_at"] is not None
    assert scene.program.post(f"/api/v1/submissions/{number}/cancel").status_code == 409
    again = good(scene.confirm(scene.upload("open"), "Alder"))
    assert again["results"][0]["can_cancel"]
    [action] = scene.one(f"SELECT action FROM audit WHERE subject = 'result {result['id']}'")
    assert action == "result.cancel"


def test_the_page_cancels_and_says_that_it_cost_nothing(scene: Scene, page: TestClient) -> None:
    number = submitted(scene, "Birch")["id"]
    assert "Cancel the submission" in page.get(f"/submissions/{number}").text
    assert f'action="/submissions/{number}/cancel"' in page.get("/submissions").text

    answer = page.post(f"/submissions/{number}/cancel")

    assert answer.headers["location"] == f"/submissions/{number}"
    shown = " ".join(page.get(f"/submissions/{number}").text.split())
    assert "before it was started. It cost nothing" in shown
    assert "Cancel the submission" not in shown
    rows = good(scene.program.get("/api/v1/submissions"))
    row = next(each for each in rows if each["submission"] == number)
    assert (row["quota"], row["is_waiting"], row["is_public"]) == ("cancelled", False, False)


def test_an_organiser_gives_quota_back_and_the_team_reads_why(scene: Scene, page: TestClient) -> None:
    [result] = submitted(scene, "Cedar")["results"]
    number = good(scene.program.get("/api/v1/submissions"))[0]["submission"]
    assert left(scene) == 0
    refund = f"/api/v1/organise/results/{result['id']}/refund"

    assert scene.program.post(refund, json={"reason": "for me"}).status_code in (403, 404)
    assert scene.stranger.post(refund, json={"reason": " "}, headers=admin(scene)).status_code == 422
    given = good(scene.stranger.post(refund, json={"reason": "the worker was wrong"}, headers=admin(scene)))

    assert (given["results"][0]["can_refund"], left(scene)) == (False, 1)
    assert "The organisers gave the quota of this result back" in page.get(f"/submissions/{number}").text
    assert "the worker was wrong" in page.get(f"/submissions/{number}").text
    assert good(scene.program.get("/api/v1/submissions"))[0]["quota"] == "given back"
    again = scene.stranger.post(refund, json={"reason": "twice"}, headers=admin(scene))
    assert again.status_code == 409
    [reason] = scene.one(
        f"SELECT reason FROM audit WHERE action = 'quota.refund' AND subject = 'result {result['id']}'"
    )
    assert reason == "the worker was wrong"


def test_a_reason_that_is_too_long_is_said_on_the_page_of_the_submission(
    scene: Scene, page: TestClient
) -> None:
    [result] = submitted(scene, "Yew")["results"]

    answer = page.post(f"/results/{result['id']}/withdraw", data={"reason": "z" * 1001})

    assert (answer.status_code, "must have at most 1000 characters" in answer.text) == (422, True)
    [state] = scene.one(f"SELECT state FROM result WHERE id = {result['id']}")
    assert state == "pending"


@pytest.mark.sampled
def test_an_extra_slot_that_is_given_back_can_be_used_again(scene: Scene) -> None:
    submitted(scene, "Elder")
    [phase_id, team] = scene.one(
        "SELECT p.id, t.name FROM phase p JOIN challenge c ON c.id = p.challenge_id JOIN team t ON t.challenge_id = c.id WHERE c.code = 'open'"
    )
    slot = {"team": team, "task": "detection", "reason": "a failed upload"}
    assert (
        scene.stranger.post(
            f"/api/v1/organise/phases/{phase_id}/slots", json=slot, headers=admin(scene)
        ).status_code
        < 300
    )
    upload = scene.upload("open", results(cat=4, dog=5))
    [extra] = good(scene.confirm(upload, "Fir"))["results"]
    assert scene.confirm(upload, "Gean").status_code == 429

    good(
        scene.stranger.post(
            f"/api/v1/organise/results/{extra['id']}/refund", json={"reason": "a test"}, headers=admin(scene)
        )
    )

    assert scene.confirm(upload, "Gean").status_code == 201
