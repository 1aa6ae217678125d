"""Terms of a challenge: organisers set them, participants accept the newest version before submitting."""

import re

import httpx2
import pytest
from sqlalchemy import select, text
from starlette.testclient import TestClient

from app.intake.importing import TreeImport, import_tree
from app.models import AuditRecord, Challenge
from app.organising import roles
from app.platform import Platform
from tests.pages.conftest import Browser
from tests.pages.test_accounts import registered
from tests.system.installations import STATEMENT
from tests.system.kits import results, small_kit

RULES = "Train on the given data only.\nDo not look at the test images."


@pytest.fixture(scope="module", autouse=True)
def _challenge(platform: Platform, tmp_path_factory: pytest.TempPathFactory) -> None:
    import_tree(platform, TreeImport(small_kit(tmp_path_factory.mktemp("terms")), "oak", "test"))
    import_tree(platform, TreeImport(small_kit(tmp_path_factory.mktemp("terms")), "elm", "test"))


def organiser(browser: Browser, platform: Platform, email: str, challenge: str = "oak") -> TestClient:
    client = registered(browser(), email)
    client.post(f"/role-links/{roles.create_organiser_link(platform, challenge)}")
    return client


def submit(client: TestClient, method: str) -> httpx2.Response:
    path = "/api/v1/challenges/oak/test/uploads?filename=results.tar.gz"
    upload = client.put(path, content=results(cat=5, dog=5)).json()["id"]
    body = {"upload": upload, "method": {"name": method}, "training": STATEMENT}
    response = client.post("/api/v1/submissions", json=body, headers={"Accept": "application/json"})
    assert isinstance(response, httpx2.Response)
    return response


@pytest.mark.sampled
def test_each_new_version_must_be_accepted_before_the_next_submission(
    browser: Browser, platform: Platform
) -> None:
    olga, ash = organiser(browser, platform, "olga@example.org"), registered(browser(), "ash@example.org")
    page = "/organise/challenges/oak/terms"
    assert ash.get("/api/v1/challenges/oak/terms").status_code == 404
    assert ash.get("/challenges/oak/terms").status_code == 404

    assert olga.post(page, data={"text": RULES}).status_code == 303
    refused = submit(ash, "Acorn")
    assert (refused.status_code, refused.json()["code"]) == (403, "terms-not-accepted")
    assert "/challenges/oak/terms" in refused.json()["detail"]
    assert "Accept the terms</a>" in ash.get("/challenges/oak/test/submit").text
    assert "Accept version 1" in ash.get("/challenges/oak/terms").text
    came_from = "/challenges/oak/test/submit"
    assert f'value="{came_from}"' in ash.get("/challenges/oak/terms", params={"next": came_from}).text
    outside = ash.post("/challenges/oak/terms", data={"version": "1", "next": "//evil.example"})
    assert outside.headers["location"] == "/"
    assert (
        ash.post("/challenges/oak/terms", data={"version": "1", "next": came_from}).headers["location"]
        == came_from
    )
    assert (
        ash.post("/challenges/oak/terms", data={"version": "1"}).headers["location"]
        == "/challenges/oak/terms"
    )
    assert submit(ash, "Acorn").status_code == 201

    assert olga.post(page, data={"text": RULES}).status_code == 303  # the same again
    assert ash.get("/api/v1/challenges/oak/terms").json()["accepted_at"]
    assert olga.post(page, data={"text": RULES + "\nCite us."}).status_code == 303
    terms = ash.get("/api/v1/challenges/oak/terms").json()
    assert (terms["version"], terms["accepted_at"]) == (2, None)
    assert terms["accept_at"].endswith("/challenges/oak/terms")
    assert submit(ash, "Bough").json()["code"] == "terms-not-accepted"
    assert ash.post("/challenges/oak/terms", data={"version": "1"}).status_code == 409
    ash.post("/challenges/oak/terms", data={"version": "2"})
    ash.post("/challenges/oak/terms", data={"version": "2"})
    assert submit(ash, "Bough").status_code == 201
    of_oak = AuditRecord.challenge_id == select(Challenge.id).where(Challenge.code == "oak").scalar_subquery()
    with platform.transaction() as session:
        recorded = session.scalars(
            select(AuditRecord.after).where(AuditRecord.action == "terms.set", of_oak)
        ).all()
        accepted = session.execute(text("SELECT count(*) FROM terms_acceptance")).scalar()
    assert recorded == [{"version": 1}, {"version": 2}]
    assert accepted == 2

    ended = olga.post(page, data={"text": " "})
    assert (ended.status_code, ended.headers["location"]) == (303, page)
    assert "There are none now" in olga.get(page).text
    assert ash.get("/challenges/oak/terms").status_code == 404
    assert ash.post("/challenges/oak/terms", data={"version": "3"}).status_code == 409
    assert submit(registered(browser(), "birch@example.org"), "Bark").status_code == 201
    assert olga.post(page, data={"text": ""}).status_code == 303  # the same again
    olga.post(page, data={"text": RULES})
    assert ash.get("/api/v1/challenges/oak/terms").json()["version"] == 4


def test_only_organisers_of_the_challenge_can_set_its_terms(browser: Browser, platform: Platform) -> None:
    olga = organiser(browser, platform, "orga@example.org")
    beech = registered(browser(), "beech@example.org")

    codes = [
        client.post(f"/organise/challenges/{challenge}/terms", data={"text": RULES}).status_code
        for client, challenge in ((beech, "oak"), (olga, "elm"), (olga, "fir"))
    ]
    short = olga.post("/organise/challenges/oak/terms", data={"text": "Be fair"})

    assert codes == [403, 403, 404]
    assert short.status_code == 422
    assert "must have at least 20 characters" in short.text
    assert olga.get("/organise/challenges/oak/terms").status_code == 200


def test_terms_are_shown_as_plain_text(browser: Browser, platform: Platform) -> None:
    olga = organiser(browser, platform, "holly@example.org", "elm")

    olga.post("/organise/challenges/elm/terms", data={"text": "<script>alert(1)</script> & <b>more</b>"})

    page = browser().get("/challenges/elm/terms").text
    assert "&lt;script&gt;alert(1)" in page
    assert re.search(r'href="/login\?next=', page)
