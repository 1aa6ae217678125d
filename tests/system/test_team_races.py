"""Races between people over teams at two web servers: exactly the allowed number succeed. Also which uploads move with a person."""

from collections import Counter
from collections.abc import Sequence
from itertools import count
from pathlib import Path

import httpx2
import pytest

from app.models import Challenge
from app.people.accounts import create_program_token
from tests.system.conftest import SharedSite
from tests.system.installations import Client, good
from tests.system.kits import results, small_kit
from tests.system.test_races import TIMES, at_once

pytestmark = [pytest.mark.slow, pytest.mark.system]

NUMBERS = count(1)


@pytest.fixture
def challenge(site: SharedSite) -> str:
    code = f"team-races-{next(NUMBERS)}"
    with site.installation.platform.transaction() as session:
        session.add(Challenge(code=code, title=code, dataset="VOC2012"))
    return code


def people(site: SharedSite, number: int) -> list[Client]:
    """Clients of different people, alternating between both web servers."""
    running = site.installation
    tokens = (
        create_program_token(running.platform, f"racer{next(NUMBERS)}@example.org", "Racer")
        for _ in range(number)
    )
    return [running.client(site.addresses[place % 2], token) for place, token in enumerate(tokens)]


def create(person: Client, challenge: str, name: str) -> httpx2.Response:
    return person.http.post(f"/api/v1/challenges/{challenge}/teams", json={"name": name})


def invite(owner: Client, team: int, uses: int = 1) -> str:
    return str(good(owner.http.post(f"/api/v1/teams/{team}/invitations", json={"uses": uses}))["token"])


def accept(person: Client, token: str) -> httpx2.Response:
    return person.http.post("/api/v1/invitations/accept", json={"token": token})


def codes(responses: Sequence[httpx2.Response]) -> Counter[str]:
    """How often each problem code was returned, with "" for a success."""
    return Counter("" if each.is_success else str(each.json()["code"]) for each in responses)


def test_one_of_30_people_joins_by_an_invitation_with_one_use_left(site: SharedSite, challenge: str) -> None:
    owner, *crowd = people(site, TIMES + 1)
    team = good(create(owner, challenge, "Oak"))["id"]
    token = invite(owner, team)

    responses = at_once(crowd, lambda person: accept(person, token))

    assert codes(responses) == {"": 1, "invitation-ended": TIMES - 1}
    assert len(good(owner.http.get(f"/api/v1/teams/{team}"))["members"]) == 2


def test_a_person_who_accepts_two_invitations_30_times_is_in_one_team(
    site: SharedSite, challenge: str
) -> None:
    ada, bob, eve = people(site, 3)
    owners = {ada: "Oak", bob: "Elm"}
    tokens = [
        invite(owner, good(create(owner, challenge, name))["id"], uses=20) for owner, name in owners.items()
    ]
    bearer = eve.http.headers["Authorization"].removeprefix("Bearer ")
    crowd = [site.installation.client(site.addresses[number % 2], bearer) for number in range(TIMES)]
    turns = count()

    responses = at_once(crowd, lambda person: accept(person, tokens[next(turns) // 2 % 2]))

    assert codes(responses) == {"": 1, "in-team": TIMES - 1}
    assert len(good(eve.http.get("/api/v1/teams"))) == 1


def test_one_of_30_teams_with_lookalike_names_is_created(site: SharedSite, challenge: str) -> None:
    spellings = iter(("Oak", "oak", "0AK", "O\u0430k", "OAK ") * 6)

    responses = at_once(people(site, TIMES), lambda person: create(person, challenge, next(spellings)))

    assert codes(responses) == {"": 1, "name-taken": TIMES - 1}


def test_30_teams_founded_at_once_by_one_person_leave_her_the_last_of_them(
    site: SharedSite, challenge: str
) -> None:
    [ada, bob] = people(site, 2)
    bearer = ada.http.headers["Authorization"].removeprefix("Bearer ")
    crowd = [site.installation.client(site.addresses[number % 2], bearer) for number in range(TIMES)]
    names = count(100)

    responses = at_once(crowd, lambda person: create(person, challenge, f"Oak {next(names)}"))

    assert codes(responses) == {"": TIMES}
    [left] = good(ada.http.get("/api/v1/teams"))
    found = Counter(ada.http.get(f"/api/v1/teams/{good(each)['id']}").status_code for each in responses)
    assert found == {200: 1, 404: TIMES - 1}
    assert codes([create(bob, challenge, left["name"])]) == {"name-taken": 1}


def test_the_last_of_several_owners_leaving_at_once_has_to_stay(site: SharedSite, challenge: str) -> None:
    owners = people(site, 20)
    [member] = people(site, 1)
    team = good(create(owners[0], challenge, "Oak"))["id"]
    token = invite(owners[0], team, uses=20)
    for each in (*owners[1:], member):
        good(accept(each, token))
    found = good(owners[0].http.get(f"/api/v1/teams/{team}"))
    last = max(each["id"] for each in found["members"])
    for each in found["members"]:
        if not each["is_owner"] and each["id"] != last:
            address = f"/api/v1/teams/{team}/members/{each['id']}/owner"
            assert owners[0].http.put(address, json={"is_owner": True}).status_code == 204

    responses = at_once(owners, lambda person: person.http.post(f"/api/v1/teams/{team}/leave"))

    assert codes(responses) == {"": len(owners) - 1, "last-owner": 1}
    left = good(member.http.get(f"/api/v1/teams/{team}"))["members"]
    assert [each["is_owner"] for each in left] == [True, False]


def test_unconfirmed_uploads_move_with_the_person_and_confirmed_ones_stay(
    site: SharedSite, tmp_path: Path
) -> None:
    site.installation.load(small_kit(tmp_path), "moving")
    phase = "moving/test"
    ada, bob = people(site, 2)
    archives = [results(cat=number, dog=5) for number in (3, 4, 5)]
    early = bob.upload(phase, archives[0])
    oak = good(create(ada, "moving", "Oak"))["id"]
    good(accept(bob, invite(ada, oak)))

    assert good(ada.http.get(f"/api/v1/uploads/{early}"))["id"] == early  # it moved along
    assert len(good(ada.http.get("/api/v1/teams"))) == 1
    confirmed = bob.upload(phase, archives[1])
    number = good(bob.confirm(confirmed, "Acorn"))["id"]
    open_still = bob.upload(phase, archives[2])
    assert bob.http.post(f"/api/v1/teams/{oak}/leave").status_code == 204

    assert bob.http.get(f"/api/v1/uploads/{confirmed}").status_code == 404
    assert ada.http.get(f"/api/v1/uploads/{confirmed}").status_code == 200
    assert good(ada.http.get(f"/api/v1/submissions/{number}"))["is_ours"]
    for upload in (early, open_still):
        assert good(bob.http.get(f"/api/v1/uploads/{upload}"))["id"] == upload
        assert ada.http.get(f"/api/v1/uploads/{upload}").status_code == 404
    assert [each["name"] for each in good(bob.http.get("/api/v1/teams"))] == ["Racer"]
