"""Organisers decide who can see their challenge; people redeem codes."""

import re
from collections.abc import Iterator

import pytest
from sqlalchemy import delete, select
from starlette.testclient import TestClient

from app.challenges.visibility import open_challenge
from app.core.access import Actor
from app.core.errors import ConflictError, RefusedError, TermsNotAccepted
from app.intake.importing import TreeImport, import_tree
from app.models import (
    AuditRecord,
    Challenge,
    ChallengeInvitation,
    ChallengeVisibility,
    Disclosure,
    InvitedPerson,
)
from app.platform import Platform
from tests.pages.conftest import Browser
from tests.pages.test_accounts import registered
from tests.pages.test_terms import organiser
from tests.system.kits import small_kit

HERE = "/organise/challenges/yew"


@pytest.fixture(scope="module", autouse=True)
def _challenge(platform: Platform, tmp_path_factory: pytest.TempPathFactory) -> None:
    tree = small_kit(tmp_path_factory.mktemp("kit"))
    import_tree(platform, TreeImport(tree, "yew", "test", disclosure=Disclosure.FULL))


@pytest.fixture(scope="module")
def olga(app: object, platform: Platform) -> Iterator[TestClient]:
    with TestClient(app, follow_redirects=False) as client:  # type: ignore[arg-type]
        yield organiser(lambda: client, platform, "olga@example.org", "yew")


def set_visibility(platform: Platform, visibility: ChallengeVisibility) -> None:
    with platform.transaction() as session:
        session.scalars(select(Challenge)).one().visibility = visibility
    platform.cache.expire_versions()


@pytest.mark.sampled
def test_an_organiser_hides_a_challenge_and_invites_people(
    browser: Browser, platform: Platform, olga: TestClient
) -> None:
    set_visibility(platform, ChallengeVisibility.LISTED)
    ash, elm = registered(browser(), "ash@lab.example.org"), registered(browser(), "elm@example.org")

    hidden = olga.post(f"{HERE}/visibility", data={"visibility": "invited"})
    invited = olga.post(f"{HERE}/invitations", data={"people": "@lab.example.org\n\nbirch@example.org"})
    wrong = olga.post(f"{HERE}/invitations", data={"people": "nobody\n@-\nelm@example.org"})
    page = olga.get(f"{HERE}/visibility").text

    assert (hidden.status_code, invited.status_code, wrong.status_code) == (303, 303, 422)
    assert "nobody" in wrong.text
    assert "@-" in wrong.text
    assert "elm@example.org" in wrong.text  # what was typed
    assert "@lab.example.org" in page
    assert "birch@example.org" in page
    assert [each.get("/challenges/yew").status_code for each in (ash, elm, browser())] == [200, 404, 404]
    with platform.transaction() as session:
        records = session.scalars(
            select(AuditRecord).where(AuditRecord.action.startswith("challenge."))
        ).all()
        added = session.scalars(select(AuditRecord).where(AuditRecord.action == "invitation.add")).one()
    assert records[-1].before == {"visibility": "listed"}
    assert records[-1].after == {"visibility": "invited"}
    assert added.details == {"addresses": 1, "domains": ["@lab.example.org"]}


def test_a_code_lets_as_many_people_in_as_it_says(
    browser: Browser, platform: Platform, olga: TestClient
) -> None:
    set_visibility(platform, ChallengeVisibility.INVITED)
    created = olga.post(f"{HERE}/invitations/codes", data={"note": "A course", "uses": "1"})
    [path] = re.findall(r"/invited/[\w-]+", created.text)
    oak, fir = registered(browser(), "oak@example.org"), registered(browser(), "fir@example.org")

    shown = browser().get(path)
    responses = [oak.post(path), oak.post(path), fir.post(path), browser().get(f"{path}x")]

    assert shown.status_code == 200
    assert f"/login?next={path}" in shown.text
    assert "Ash Grove invites you to <strong>" in shown.text
    assert [each.status_code for each in responses] == [303, 303, 410, 410]
    assert responses[0].headers["location"] == "/challenges/yew"
    assert [each.get("/challenges/yew").status_code for each in (oak, fir)] == [200, 404]
    assert "oak@example.org" in olga.get(f"{HERE}/visibility").text
    assert path.rpartition("/")[2] not in olga.get(f"{HERE}/visibility").text

    found = olga.get(f"/api/v1{HERE}/visibility").json()
    [code] = [each for each in found["invitations"] if each["who"] == "A course"]
    assert (code["uses_left"], code["redeemed"]) == (0, 1)
    assert olga.post(f"{HERE}/invitations/{code['id']}/revoke").status_code == 303
    assert oak.get("/challenges/yew").status_code == 200  # who has redeemed it stays invited
    assert olga.delete(f"/api/v1{HERE}/invited/{found['people'][0]['id']}").status_code == 204
    assert oak.get("/challenges/yew").status_code == 404
    with platform.transaction() as session:
        assert session.scalars(select(InvitedPerson)).all() == []


def test_removing_somebody_with_a_team_says_that_the_team_stays_and_leads_to_its_suspension(
    browser: Browser, platform: Platform, olga: TestClient
) -> None:
    set_visibility(platform, ChallengeVisibility.INVITED)
    created = olga.post(f"{HERE}/invitations/codes", data={"note": "A lab", "uses": ""})
    [path] = re.findall(r"/invited/[\w-]+", created.text)
    alone, mate = registered(browser(), "alone@example.org"), registered(browser(), "mate@example.org")
    for each in (alone, mate):
        each.post(path)
    team = mate.post("/api/v1/challenges/yew/teams", json={"name": "Yew Lab"}).json()["id"]
    people = {each["email"]: each for each in olga.get(f"/api/v1{HERE}/visibility").json()["people"]}

    before = " ".join(olga.get(f"{HERE}/visibility").text.split())
    said = {}
    for email, person in people.items():
        removed = olga.post(f"{HERE}/invited/{person['id']}/remove")
        said[email] = " ".join(olga.get(removed.headers["location"]).text.split())

    assert before.count("The team stays with its results and uploads, and may go on.") == 1
    assert people["mate@example.org"]["team"]["name"] == "Yew Lab"
    assert (
        "still sees the challenge as a member of the team Yew Lab. The team stays" in said["mate@example.org"]
    )
    assert f'<a href="/organise/teams/{team}">Suspend Yew Lab</a>' in said["mate@example.org"]
    assert "is no longer invited" not in said["alone@example.org"]
    assert [each.get("/challenges/yew").status_code for each in (alone, mate)] == [404, 200]
    olga.post(f"/organise/teams/{team}/suspend", data={"reason": "removed"})
    assert mate.get("/challenges/yew").status_code == 200
    for each in olga.get(f"/api/v1{HERE}/visibility").json()["invitations"]:
        assert olga.delete(f"/api/v1{HERE}/invitations/{each['id']}").status_code == 204


def test_a_draft_is_opened_once_when_nothing_speaks_against_it(platform: Platform, olga: TestClient) -> None:
    set_visibility(platform, ChallengeVisibility.DRAFT)
    with platform.transaction() as session:
        session.execute(delete(InvitedPerson))
        session.execute(delete(ChallengeInvitation))
    refused = olga.put(f"/api/v1{HERE}/visibility", json={"visibility": "listed"})
    back = olga.put(f"/api/v1{HERE}/visibility", json={"visibility": "draft"})
    page = olga.get(f"{HERE}/visibility").text

    with platform.transaction() as session:
        challenge = session.scalars(select(Challenge)).one()
        with pytest.raises(RefusedError):
            open_challenge(
                session, Actor(), challenge, challenge.created_at, reasons=[TermsNotAccepted("none")]
            )
        with pytest.raises(ConflictError, match="nobody is invited"):
            open_challenge(session, Actor(), challenge, challenge.created_at, ChallengeVisibility.INVITED)
        assert challenge.visibility is ChallengeVisibility.DRAFT
        open_challenge(session, Actor(), challenge, challenge.created_at, ChallengeVisibility.LINK)
        with pytest.raises(ConflictError):
            open_challenge(session, Actor(), challenge, challenge.created_at)

    assert (refused.status_code, back.status_code) == (409, 422)
    assert "is a draft" in page
    assert (challenge.visibility, challenge.opened_at) == (ChallengeVisibility.LINK, challenge.created_at)
