"""How people join and leave teams, in the browser and through the API."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert, select, text
from starlette.testclient import TestClient

from app.models import AuditRecord, Challenge, ChallengeOrganiser, Member, Method, Phase, Team, Upload, User
from app.people.teams import leave_every_team
from app.platform import Platform
from tests.pages.conftest import Browser
from tests.pages.test_accounts import registered
from tests.system.rows import described

NUMBERS = count(1)


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody with a browser whose session also serves the API."""

    http: TestClient
    id: int

    def page(self, address: str, status: int = 200) -> str:
        response = self.http.get(address)
        assert response.status_code == status, response.text
        return response.text

    def send(self, address: str, **form: Any) -> tuple[int, str]:
        response = self.http.post(address, data=form)
        return response.status_code, response.headers.get("location", response.text)

    def call(self, method: str, address: str, status: int = 200, **body: Any) -> Any:
        response = self.http.request(
            method, f"/api/v1{address}", json=body or None, headers={"Accept": "application/json"}
        )
        assert response.status_code == status, response.text
        return response.json() if response.content else None

    def refused(self, method: str, address: str, **body: Any) -> tuple[int, str]:
        response = self.http.request(method, f"/api/v1{address}", json=body or None)
        return response.status_code, str(response.json()["code"])

    def team(self, challenge: str, name: str) -> int:
        return int(self.call("POST", f"/challenges/{challenge}/teams", 201, name=name)["id"])

    def invite(self, team: int, uses: int = 1) -> str:
        return str(self.call("POST", f"/teams/{team}/invitations", 201, uses=uses)["token"])

    def accept(self, token: str) -> int:
        return int(self.call("POST", "/invitations/accept", token=token)["id"])


@pytest.fixture
def challenge(platform: Platform) -> str:
    return new_challenge(platform)


def new_challenge(platform: Platform) -> str:
    code = f"teams{next(NUMBERS)}"
    with platform.transaction() as session:
        session.add(Challenge(code=code, title=f"Teams of {code}", dataset="VOC2012"))
    return code


@pytest.fixture
def people(browser: Browser, platform: Platform) -> Iterator[Person]:
    def register() -> Iterator[Person]:
        while True:
            email = f"member{next(NUMBERS)}@example.org"
            http = registered(browser(), email)
            with platform.transaction() as session:
                user = session.scalars(select(User.id).where(User.email == email)).one()
            yield Person(http, user)

    return register()


def organise(platform: Platform, person: Person, challenge: str) -> None:
    with platform.transaction() as session:
        challenge_id = session.scalars(select(Challenge.id).where(Challenge.code == challenge)).one()
        session.execute(insert(ChallengeOrganiser).values(challenge_id=challenge_id, user_id=person.id))


def audited(platform: Platform, team: int) -> list[str]:
    with platform.transaction() as session:
        statement = text("SELECT action FROM audit WHERE subject = :team ORDER BY id")
        return list(session.scalars(statement, {"team": f"team {team}"}))


def test_an_owner_invites_somebody_who_joins_by_the_link(
    people: Iterator[Person], challenge: str, platform: Platform
) -> None:
    ada, bob = next(people), next(people)
    status, where = ada.send("/teams", challenge=challenge, name="Oak", affiliation="Somewhere")
    assert (status, "Somewhere" in ada.page(where)) == (303, True)

    _, page = ada.send(f"{where}/invitations", uses="1", days="3")
    [link] = [
        word
        for word in page.replace("<", " ").replace(">", " ").split()
        if "/invitations/" in word and "http" in word
    ]
    address = link[link.index("/invitations/") :]

    offer = bob.page(address)
    assert "What joining means" in offer
    assert "invites you to the team" in " ".join(offer.split())
    assert bob.send(address) == (303, where)
    assert [row["name"] for row in bob.call("GET", "/teams")] == ["Oak"]
    team = int(where.rsplit("/", 1)[-1])
    members = bob.call("GET", f"/teams/{team}")["members"]
    assert [each["is_owner"] for each in members] == [True, False]
    assert bob.call("GET", f"/teams/{team}")["invitations"] == []  # only owners see them
    assert "was used up or revoked" in next(people).page(address, 410)
    assert audited(platform, team) == ["team.create", "team.invite", "team.join"]


def test_a_revoked_or_expired_invitation_cannot_be_accepted(
    people: Iterator[Person], challenge: str, platform: Platform
) -> None:
    ada, bob = next(people), next(people)
    team = ada.team(challenge, "Oak")
    revoked, expired = ada.invite(team), ada.invite(team)
    invitations = ada.call("GET", f"/teams/{team}")["invitations"]
    oldest = min(each["id"] for each in invitations)

    ada.call("DELETE", f"/teams/{team}/invitations/{oldest}", 204)
    ada.call("DELETE", f"/teams/{team}/invitations/{oldest}", 204)
    with platform.transaction() as session:
        session.execute(text("UPDATE invitation SET expires_at = now() WHERE revoked_at IS NULL"))

    for token in (revoked, expired, "nonsense"):
        assert bob.refused("POST", "/invitations/accept", token=token) == (410, "invitation-ended")
    assert bob.send(f"/invitations/{revoked}")[0] == 410
    assert ada.refused("DELETE", f"/teams/{team}/invitations/999") == (404, "not-found")
    assert ada.call("GET", f"/teams/{team}")["invitations"] == []


def test_a_team_has_a_limited_number_of_invitations(people: Iterator[Person], challenge: str) -> None:
    ada = next(people)
    team = ada.team(challenge, "Oak")
    for _ in range(20):
        ada.invite(team)

    assert ada.refused("POST", f"/teams/{team}/invitations", uses=1) == (409, "conflict")
    assert ada.refused("POST", f"/teams/{team}/invitations", uses=21) == (422, "malformed")
    assert ada.send(f"/teams/{team}/invitations", uses="0", days="x")[0] == 422


def test_a_person_can_be_in_only_one_team_of_a_challenge(people: Iterator[Person], challenge: str) -> None:
    ada, bob, eve = next(people), next(people), next(people)
    oak, elm = ada.team(challenge, "Oak"), bob.team(challenge, "Elm")
    eve.accept(bob.invite(elm))

    assert bob.refused("POST", f"/challenges/{challenge}/teams", name="Ash") == (409, "in-team")
    status, page = eve.send("/teams", challenge=challenge, name="Ash")
    assert (status, "you can be in only one team of a challenge" in page) == (409, True)
    token = ada.invite(oak, uses=5)
    assert eve.refused("POST", "/invitations/accept", token=token) == (409, "in-team")
    assert "leave it first" in eve.page(f"/invitations/{token}")
    assert eve.send(f"/invitations/{token}")[0] == 409
    assert ada.refused("POST", "/invitations/accept", token=token) == (409, "in-team")


def test_a_sole_member_leaves_a_team_by_joining_another(people: Iterator[Person], challenge: str) -> None:
    ada, bob = next(people), next(people)
    oak, elm = ada.team(challenge, "Oak"), bob.team(challenge, "Elm")
    token = ada.invite(oak)

    assert "You leave your own team Elm" in bob.page(f"/invitations/{token}")
    assert bob.accept(token) == oak
    assert bob.refused("GET", f"/teams/{elm}") == (404, "not-found")
    assert next(people).team(challenge, "ELM")  # the name is free again


def test_a_lookalike_of_a_taken_team_name_is_refused(people: Iterator[Person], challenge: str) -> None:
    ada, bob = next(people), next(people)
    ada.team(challenge, "Oak")

    assert bob.refused("POST", f"/challenges/{challenge}/teams", name="\u041e\u0430k") == (409, "name-taken")
    status, page = bob.send("/teams", challenge=challenge, name="0AK")
    assert (status, "looks the same" in page, 'value="0AK"' in page) == (409, True, True)
    assert bob.send("/teams", challenge=challenge, name="\u202egro")[0] == 422
    assert bob.refused("POST", "/challenges/nowhere/teams", name="Elm") == (404, "not-found")
    elm = bob.team(challenge, "Elm")
    assert bob.refused("PATCH", f"/teams/{elm}", name="oak") == (409, "name-taken")
    status, page = bob.send(f"/teams/{elm}/edit", name="oak")
    assert (status, "looks the same" in page) == (409, True)


def test_only_owners_can_rename_a_team(people: Iterator[Person], challenge: str) -> None:
    ada, bob, stranger = next(people), next(people), next(people)
    team = ada.team(challenge, "Oak")
    bob.accept(ada.invite(team))

    assert ada.send(f"/teams/{team}/edit", name="Oak Tree", affiliation="Forest") == (303, f"/teams/{team}")
    assert bob.call("GET", f"/teams/{team}")["name"] == "Oak Tree"
    assert bob.refused("PATCH", f"/teams/{team}", name="Bob") == (403, "forbidden")
    assert stranger.refused("PATCH", f"/teams/{team}", name="Eve") == (404, "not-found")
    assert ada.send(f"/teams/{team}/edit", name="x")[0] == 422
    assert ada.call("PATCH", f"/teams/{team}", name="Oak Tree", affiliation="")["affiliation"] == ""


def test_an_organiser_can_change_a_team_with_a_reason(
    people: Iterator[Person], challenge: str, platform: Platform
) -> None:
    ada, bob, organiser = next(people), next(people), next(people)
    team = ada.team(challenge, "Oak")
    bob.accept(ada.invite(team))
    organise(platform, organiser, challenge)

    assert organiser.refused("PATCH", f"/teams/{team}", name="Elm") == (422, "malformed")
    assert organiser.call("PATCH", f"/teams/{team}", name="Elm", reason="offensive")["name"] == "Elm"
    organiser.call("PUT", f"/teams/{team}/members/{bob.id}/owner", 204, is_owner=True, reason="Ada is gone")
    assert "Reason" in organiser.page(f"/teams/{team}")
    organiser.send(f"/teams/{team}/members/{ada.id}/remove", reason="an account that was shared")
    assert [each["id"] for each in bob.call("GET", f"/teams/{team}")["members"]] == [bob.id]
    with platform.transaction() as session:
        of_organiser = (AuditRecord.user_id == organiser.id, AuditRecord.subject == f"team {team}")
        records = select(AuditRecord.action, AuditRecord.reason).where(*of_organiser).order_by(AuditRecord.id)
        assert session.execute(records).all() == [
            ("team.change", "offensive"),
            ("team.set_owner", "Ada is gone"),
            ("team.remove_member", "an account that was shared"),
        ]


def test_the_last_owner_can_leave_only_after_handing_over_the_team(
    people: Iterator[Person], challenge: str, platform: Platform
) -> None:
    ada, bob = next(people), next(people)
    team = ada.team(challenge, "Oak")
    bob.accept(ada.invite(team))

    assert ada.refused("POST", f"/teams/{team}/leave") == (409, "last-owner")
    assert ada.refused("PUT", f"/teams/{team}/members/{ada.id}/owner", is_owner=False) == (409, "last-owner")
    assert bob.refused("POST", f"/teams/{team}/hand-over", person=bob.id) == (403, "forbidden")
    assert ada.refused("POST", f"/teams/{team}/hand-over", person=ada.id) == (409, "conflict")
    assert ada.refused("POST", f"/teams/{team}/hand-over", person=10**6) == (404, "not-found")
    assert ada.send(f"/teams/{team}/hand-over", person=bob.id)[0] == 303
    assert ada.refused("POST", f"/teams/{team}/invitations", uses=1) == (403, "forbidden")
    assert ada.send(f"/teams/{team}/leave") == (303, "/teams")
    bob.call("POST", f"/teams/{team}/leave", 204)
    assert bob.refused("GET", f"/teams/{team}") == (404, "not-found")
    assert audited(platform, team)[-3:] == ["team.hand_over", "team.leave", "team.leave"]


def test_a_removed_member_cannot_rejoin_by_an_old_link(people: Iterator[Person], challenge: str) -> None:
    ada, bob, eve = next(people), next(people), next(people)
    team = ada.team(challenge, "Oak")
    token = ada.invite(team, uses=5)
    bob.accept(token)
    eve.accept(token)

    assert bob.refused("DELETE", f"/teams/{team}/members/{eve.id}") == (403, "forbidden")
    assert ada.refused("DELETE", f"/teams/{team}/members/{ada.id}") == (409, "conflict")
    ada.call("DELETE", f"/teams/{team}/members/{eve.id}", 204)

    assert ada.refused("DELETE", f"/teams/{team}/members/{eve.id}") == (404, "not-found")
    assert eve.refused("POST", "/invitations/accept", token=token) == (410, "invitation-ended")
    assert eve.refused("POST", f"/teams/{team}/leave") == (404, "not-found")
    ada.send(f"/teams/{team}/members/{bob.id}/owner")
    ada.call("POST", f"/teams/{team}/leave", 204)
    assert bob.call("GET", f"/teams/{team}")["is_owner"]


def test_strangers_cannot_see_a_team_without_public_results(people: Iterator[Person], challenge: str) -> None:
    ada, bob = next(people), next(people)
    team = ada.team(challenge, "Oak")

    theirs, nothing = bob.http.get(f"/api/v1/teams/{team}"), bob.http.get("/api/v1/teams/999999")
    assert theirs.status_code == nothing.status_code == 404
    assert theirs.json()["detail"].replace(str(team), "999999") == nothing.json()["detail"]
    assert bob.refused("PUT", f"/teams/{team}/named", is_named=True) == (404, "not-found")
    ada.call("PUT", f"/teams/{team}/named", 204, is_named=True)
    assert ada.call("GET", "/teams")[0]["is_named"]
    ada.send(f"/teams/{team}/named")
    assert not ada.call("GET", "/teams")[0]["is_named"]


def test_teams_of_a_deleted_account_pass_to_their_longest_members(
    people: Iterator[Person], challenge: str, platform: Platform
) -> None:
    ada, bob, eve = next(people), next(people), next(people)
    team = ada.team(challenge, "Oak")
    bob.accept(ada.invite(team))
    eve.accept(ada.invite(team))

    for person in (ada, eve):
        with platform.transaction() as session:
            leave_every_team(session, person.id)

    members = bob.call("GET", f"/teams/{team}")["members"]
    assert [(each["id"], each["is_owner"]) for each in members] == [(bob.id, True)]
    with platform.transaction() as session:
        leave_every_team(session, bob.id)
        assert session.scalars(select(Member.user_id).where(Member.team_id == team)).all() == []


def test_a_team_that_a_first_upload_made_gives_way_to_a_founded_one_with_the_uploads(
    platform: Platform, people: Iterator[Person], tmp_path: Path
) -> None:
    rows = described(platform, tmp_path)
    with platform.transaction() as session:
        phase = session.get_one(Phase, rows.phase_id)
        challenge = session.get_one(Challenge, phase.challenge_id)
        code, image_set = challenge.code, phase.image_set
    ash = next(people)
    sent = ash.http.put(
        f"/api/v1/challenges/{code}/{image_set}/uploads?filename=a.tar",
        content=b"no archive",
        headers={"Accept": "*/*"},
    )
    upload = sent.json()["id"]
    with platform.transaction() as session:
        first = session.scalars(select(Member.team_id).where(Member.user_id == ash.id)).one()

    report, offered = ash.page(f"/uploads/{upload}"), ash.page(f"/teams?challenge={code}")
    status, where = ash.send("/teams", challenge=code, name=f"Oaks of {code}")
    founded = int(where.rpartition("/")[2])

    assert 'id="first-team"' in report
    assert f'<option value="{code}" selected>' in offered
    assert (status, founded != first) == (303, True)
    with platform.transaction() as session:
        assert session.get_one(Upload, uuid.UUID(upload)).team_id == founded
        assert session.get(Team, first) is None
        assert session.scalars(select(Member.team_id).where(Member.user_id == ash.id)).all() == [founded]
    assert audited(platform, first) == audited(platform, founded) == ["team.create"]
    assert f"/teams/{founded}" in ash.page(f"/uploads/{upload}")


def test_a_team_with_a_method_or_another_member_stands_in_the_way_of_a_new_one(
    platform: Platform, challenge: str, people: Iterator[Person]
) -> None:
    ash, birch, cedar = next(people), next(people), next(people)
    shared, used = ash.team(challenge, "Shared"), cedar.team(challenge, "Used")
    birch.accept(ash.invite(shared))
    with platform.transaction() as session:
        found = session.scalars(select(Challenge).where(Challenge.code == challenge)).one()
        session.add(Method(challenge_id=found.id, team_id=used, name="M", name_key="m"))

    answers = [person.send("/teams", challenge=challenge, name="Another") for person in (ash, birch, cedar)]
    offered = [
        challenge in person.page("/teams").partition('id="create"')[2] for person in (ash, birch, cedar)
    ]

    assert [status for status, _ in answers] == [409] * 3
    assert all("leave or rename it" in page for _, page in answers)
    assert offered == [False] * 3
    with platform.transaction() as session:
        members = session.execute(
            select(Member.user_id, Member.team_id).where(Member.team_id.in_([shared, used]))
        ).all()
    assert {tuple(each) for each in members} == {(ash.id, shared), (birch.id, shared), (cedar.id, used)}
