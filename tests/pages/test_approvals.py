"""Organisers approve, refuse and suspend teams of their challenges."""

from collections.abc import Iterator

from app.platform import Platform
from tests.pages.test_teams import Person, challenge, new_challenge, organise, people

__all__ = ["challenge", "people"]


def test_new_teams_wait_until_an_organiser_approves_or_refuses_them(
    people: Iterator[Person], challenge: str, platform: Platform
) -> None:
    organiser, early, ada, bob = (next(people) for _ in range(4))
    organise(platform, organiser, challenge)
    early.team(challenge, "Early")
    organiser.call("PUT", f"/organise/challenges/{challenge}/approvals", 204, approves_teams=True)
    oak, elm = ada.team(challenge, "Oak"), bob.team(challenge, "Elm")
    listed = f"/organise/challenges/{challenge}/teams"

    found = organiser.call("GET", listed)
    states = {row["name"]: row["approval"] for row in found["teams"]}
    assert states == {"Elm": "waiting", "Oak": "waiting", "Early": "approved"}
    assert found["waiting"] == 2
    assert "has to approve" in ada.page(f"/teams/{oak}")
    assert "waiting for approval" in ada.page("/teams")

    assert organiser.send(f"/organise/teams/{oak}/approve") == (303, listed)
    for reason, problem in (("", "must not be empty"), ("x" * 1001, "must have at most 1000 characters")):
        status, page = organiser.send(f"/organise/teams/{elm}/refuse", reason=reason)
        assert (status, problem in page, f'value="{reason}"' in page) == (422, True, True)
    status, page = organiser.send(f"/organise/challenges/{challenge}/approvals", most_members="1001")
    assert (status, "must be at most 1000" in page, 'value="1001"' in page) == (422, True, True)
    assert organiser.send(f"/organise/teams/{elm}/refuse", reason="write from your university") == (
        303,
        listed,
    )

    assert "has to approve" not in ada.page(f"/teams/{oak}")
    assert "did not approve the team Elm: write from your university" in bob.page(f"/teams/{elm}")
    names = [row["name"] for row in organiser.call("GET", f"{listed}?state=refused")["teams"]]
    assert names == ["Elm"]
    assert "waits" not in organiser.page(f"{listed}?state=waiting&text=o")
    organiser.send(f"/organise/challenges/{challenge}/approvals")
    assert not organiser.call("GET", listed)["approves_teams"]
    organiser.call("POST", f"/organise/teams/{elm}/approve", 204)


def test_organisers_limit_how_many_members_a_team_has(
    people: Iterator[Person], challenge: str, platform: Platform
) -> None:
    organiser, ada, bob, eve = (next(people) for _ in range(4))
    organise(platform, organiser, challenge)
    rule, listed = f"/organise/challenges/{challenge}/approvals", f"/organise/challenges/{challenge}/teams"
    team = ada.team(challenge, "Oak")
    link = ada.invite(team, uses=2)
    assert organiser.send(rule, most_members="2") == (303, listed)
    assert "A team has at most 2 members." in organiser.page(listed)
    for wrong in ("0", "two", "1001"):
        assert organiser.send(rule, most_members=wrong)[0] == 422

    bob.accept(link)

    assert eve.refused("POST", "/invitations/accept", token=link) == (409, "team-full")
    assert "the organisers allow at most 2 in a team" in eve.page(f"/invitations/{link}")
    assert organiser.send(rule) == (303, listed)
    eve.accept(link)


def test_only_organisers_of_the_challenge_can_decide(
    people: Iterator[Person], challenge: str, platform: Platform
) -> None:
    ada, other = next(people), next(people)
    team = ada.team(challenge, "Oak")

    assert ada.refused("GET", f"/organise/challenges/{challenge}/teams") == (403, "forbidden")
    organise(platform, other, new_challenge(platform))
    assert other.refused("GET", f"/organise/challenges/{challenge}/teams") == (403, "forbidden")
    assert other.refused("POST", f"/organise/teams/{team}/approve") == (404, "not-found")
    body = {"reason": "because"}
    for what in ("refuse", "suspend", "lift-suspension"):
        assert other.refused("POST", f"/organise/teams/{team}/{what}", **body) == (404, "not-found")
    assert other.refused("PUT", f"/organise/challenges/{challenge}/approvals", approves_teams=True)[0] == 403


def test_a_suspended_team_is_frozen_until_the_suspension_is_lifted(
    people: Iterator[Person], challenge: str, platform: Platform
) -> None:
    organiser, ada, bob = (next(people) for _ in range(3))
    organise(platform, organiser, challenge)
    team = ada.team(challenge, "Oak")
    token = ada.invite(team)

    organiser.send(
        f"/organise/teams/{team}/suspend", reason="two accounts of one person", hides_results="yes"
    )

    [row] = organiser.call("GET", f"/organise/challenges/{challenge}/teams?state=suspended")["teams"]
    assert (row["suspension_reason"], row["hides_results"]) == ("two accounts of one person", True)
    assert "is suspended: two accounts of one person" in ada.page(f"/teams/{team}")
    assert ada.refused("POST", f"/teams/{team}/leave") == (403, "team-suspended")
    assert bob.refused("POST", "/invitations/accept", token=token) == (403, "team-suspended")
    organiser.call("POST", f"/organise/teams/{team}/suspend", 204, reason="still", hides_results=False)

    assert organiser.send(f"/organise/teams/{team}/lift-suspension", reason="explained")[0] == 303
    assert organiser.refused("POST", f"/organise/teams/{team}/lift-suspension", reason="again") == (
        409,
        "conflict",
    )
    assert bob.accept(token) == team


def test_the_list_of_teams_offers_to_approve_and_the_page_of_a_team_everything_else(
    people: Iterator[Person], challenge: str, platform: Platform
) -> None:
    organiser, ada = next(people), next(people)
    organise(platform, organiser, challenge)
    organiser.call("PUT", f"/organise/challenges/{challenge}/approvals", 204, approves_teams=True)
    team = ada.team(challenge, "Oak")
    listed = f"/organise/challenges/{challenge}/teams"
    act = f'action="/organise/teams/{team}/'

    assert organiser.page(listed).count(act) == organiser.page(listed).count(f"{act}approve") == 1
    for what in ("approve", "refuse", "suspend"):
        assert f"{act}{what}" in organiser.page(f"/organise/teams/{team}")
    organiser.send(f"/organise/teams/{team}/approve")
    assert act not in organiser.page(listed)


def test_a_page_lists_fifty_teams_and_links_to_the_next(
    people: Iterator[Person], challenge: str, platform: Platform
) -> None:
    organiser = next(people)
    organise(platform, organiser, challenge)
    with platform.transaction() as session:
        session.connection().exec_driver_sql(
            "INSERT INTO team (challenge_id, name, name_key, affiliation, approval, approval_reason, suspension_reason, hides_results)"
            " SELECT id, 'Team ' || n, 'team ' || n, '', 'approved', '', '', false FROM challenge, generate_series(1, 51) n"
            " WHERE code = %s",
            (challenge,),
        )
    listed = f"/organise/challenges/{challenge}/teams"

    first = organiser.call("GET", listed)
    assert len(first["teams"]) == 50
    assert "Older teams" in organiser.page(listed)
    assert len(organiser.call("GET", f"{listed}?after={first['next']}")["teams"]) == 1
    assert len(organiser.call("GET", f"{listed}?text=team 5")["teams"]) == 3
