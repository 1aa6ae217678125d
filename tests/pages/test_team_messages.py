"""Organisers write to teams: who receives a message, that it arrives once, and that nobody sees who else received it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from sqlalchemy import func, select, text

from app.models import AuditRecord, Challenge, Event, EventKind, Notification, Phase, Team, Upload
from app.notifications import team_messages
from app.platform import Platform
from tests.pages.statements import asked
from tests.pages.test_teams import Person, new_challenge, organise, people
from tests.system.rows import made
from tests.working import do_all

__all__ = ["people"]

LATE = {
    "title": "One day more",
    "text": "The deadline **moves**. ![x](https://evil.example/x.png)",
    "audience": "all teams",
}


def organiser_of(platform: Platform, people: Iterator[Person], challenge: str) -> Person:
    olga = next(people)
    organise(platform, olga, challenge)
    return olga


def told(platform: Platform, message: int) -> list[int]:
    """The people who were notified of a message."""
    do_all(platform)
    with platform.reading() as session:
        of_message = Event.details["message"].as_integer() == message
        statement = (
            select(Notification.user_id).join(Event).where(Event.kind == EventKind.MESSAGE, of_message)
        )
        return sorted(session.scalars(statement))


def draft(olga: Person, challenge: str, **facts: Any) -> int:
    sheet = olga.call("POST", f"/organise/challenges/{challenge}/messages", 201, **(LATE | facts))
    return int(sheet["message"]["id"])


def test_a_message_is_previewed_tested_and_sent_once_to_the_members_of_each_team(
    platform: Platform, people: Iterator[Person]
) -> None:
    code = new_challenge(platform)
    olga, ada, bob, eve = organiser_of(platform, people, code), next(people), next(people), next(people)
    fern, moss = ada.team(code, "Fern"), eve.team(code, "Moss")
    bob.accept(ada.invite(fern))
    bob_alone = bob.team(new_challenge(platform), "Elsewhere")

    places = {olga.send(f"/organise/challenges/{code}/messages", **LATE) for _ in range(2)}  # a double click
    [(status, where)] = places
    preview = olga.page(where)

    assert status == 303
    assert "2 teams with 3 members" in preview
    assert "Fern, Moss" in preview
    assert "The deadline <strong>moves</strong>" in preview
    assert 'src="https://evil.example' not in preview
    assert "Images of other sites are not shown" in preview
    assert "<code>https://evil.example/x.png</code>" in preview
    assert "nothing was sent yet" in preview
    message = int(where.rpartition("/")[2])
    assert "A test is on its way" in olga.page(olga.send(f"{where}/test")[1])
    assert told(platform, message) == [olga.id]
    assert "One day more" not in ada.page(f"/teams/{fern}/messages")

    assert [olga.send(f"{where}/send", version=1)[0] for _ in range(2)] == [303, 303]
    assert told(platform, message) == sorted([olga.id, ada.id, bob.id, eve.id])
    newest = ada.call("GET", "/notifications")["notifications"][0]
    assert newest["sentence"] == f"The organisers of Teams of {code} wrote: One day more"
    assert newest["path"] == f"/teams/{fern}/messages#message-{message}"
    for person, team in ((ada, fern), (bob, fern), (eve, moss)):
        page = person.page(f"/teams/{team}/messages")
        assert page.count("The deadline <strong>moves</strong>") == 1
        assert "Moss" not in page or team == moss
        assert "2 teams" not in page
    eve.page(f"/teams/{fern}/messages", 404)
    olga.page(f"/teams/{fern}/messages", 404)
    assert "will be here" in bob.page(f"/teams/{bob_alone}/messages")
    sent = olga.page(where)
    assert "2 teams with 3 members" in sent
    assert "Send to" not in sent
    assert olga.send(where, **LATE, version=1)[0] == 409
    with platform.transaction() as session:
        events = select(Event.team_id).where(Event.kind == EventKind.MESSAGE, Event.team_id.in_([fern, moss]))
        assert sorted(filter(None, session.scalars(events))) == sorted(
            [fern, moss]
        )  # one event for each team
        [record] = session.scalars(select(AuditRecord).where(AuditRecord.subject == f"message {message}"))
        assert (record.action, record.details["teams"], record.details["people"]) == ("message.send", 2, 3)


@dataclass(frozen=True, slots=True)
class Audience:
    """A challenge with a team that has a result, one that has an upload, and two with neither, one of them without members."""

    organiser: Person
    code: str
    scored: str  # the name of the team with a result


@pytest.fixture
def audience(platform: Platform, people: Iterator[Person]) -> Audience:
    rows = made(platform)
    rows.result()
    with platform.transaction() as session:
        challenge = session.scalars(select(Challenge).join(Phase).where(Phase.id == rows.phase_id)).one()
        name = session.get_one(Team, rows.team_id).name
        phase = session.get_one(Phase, rows.phase_id)
        phase.not_offered = {number: why for number, why in phase.not_offered.items() if number != "4"}
    ash, beech = next(people), next(people)
    ash.team(challenge.code, "Ash")
    team = beech.team(challenge.code, "Beech")
    rows.other_team()
    with platform.transaction() as session:
        session.add(Upload(phase_id=rows.phase_id, team_id=team, user_id=beech.id, filename="x.zip", size=1))
    return Audience(organiser_of(platform, people, challenge.code), challenge.code, name)


def test_an_audience_has_the_teams_that_it_says(audience: Audience) -> None:
    scored = audience.scored
    for chosen, expected in (
        ({"audience": "all teams"}, ["Ash", "Beech", scored]),
        ({"audience": "uploaded only", "image_set": "test"}, ["Beech"]),
        ({"audience": "have a result", "image_set": "test", "competition": 3}, [scored]),
        ({"audience": "have a result", "image_set": "test", "competition": 4}, []),
        ({"audience": "one team", "team": "Ash"}, ["Ash"]),
    ):
        where = f"/organise/challenges/{audience.code}/messages"
        sheet = audience.organiser.call("POST", where, 201, **(LATE | chosen))
        assert (sheet["names"], sheet["teams"], sheet["people"]) == (expected, len(expected), len(expected))
        if not expected:
            sending = f"/organise/messages/{sheet['message']['id']}/send"
            assert audience.organiser.refused("POST", sending, version=1) == (409, "no-receiver")


def test_problems_of_a_message_are_named_together_and_what_was_typed_stays(audience: Audience) -> None:
    olga, where = audience.organiser, f"/organise/challenges/{audience.code}/messages"

    missing = olga.http.post(where, data={"title": "x", "text": "Typed", "audience": "have a result"})
    unknown = [
        olga.http.post(where, data=LATE | facts)
        for facts in (
            {"audience": "one team", "team": "Yew"},
            {"audience": "uploaded only", "image_set": "val"},
            {"audience": "have a result", "image_set": "test", "competition": "77"},
        )
    ]

    assert missing.status_code == 422
    assert "Fix 3 problems" in missing.text
    assert "Typed</textarea>" in missing.text
    assert [page.status_code for page in unknown] == [422] * 3
    assert "no team &#39;Yew&#39;" in unknown[0].text


def test_a_draft_is_sent_as_it_was_read_or_discarded(platform: Platform, people: Iterator[Person]) -> None:
    code = new_challenge(platform)
    olga, omar = organiser_of(platform, people, code), organiser_of(platform, people, code)
    next(people).team(code, "Fern")
    message = draft(olga, code)
    where = f"/organise/messages/{message}"

    assert omar.send(where, **(LATE | {"text": "Two days"}), version=1)[0] == 303
    late = olga.send(where, **(LATE | {"text": "Three days"}), version=1)
    unread = olga.send(f"{where}/send", version=1)

    assert (late[0], unread[0]) == (409, 409)
    assert "Another organiser has changed this draft" in late[1]
    assert "Three days</textarea>" in late[1]
    assert told(platform, message) == []
    assert olga.send(f"{where}/discard") == (303, f"/organise/challenges/{code}/messages")
    olga.page(where, 404)


def test_ten_messages_a_day_are_sent_to_the_teams_of_a_challenge(
    platform: Platform, people: Iterator[Person], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(team_messages, "A_DAY", 2)
    code = new_challenge(platform)
    olga = organiser_of(platform, people, code)
    next(people).team(code, "Fern")

    for number in range(2):
        message = draft(olga, code, title=f"Number {number}")
        assert olga.send(f"/organise/messages/{message}/send", version=1)[0] == 303
    message = draft(olga, code, title="One too many")
    refused = olga.send(f"/organise/messages/{message}/send", version=1)

    assert refused[0] == 409
    assert "2 messages were sent to teams within 24 hours; the next is possible on" in refused[1]
    assert olga.refused("POST", f"/organise/messages/{message}/send", version=1) == (429, "message-limit")


def test_ten_thousand_teams_receive_a_message_in_a_few_statements(
    platform: Platform, people: Iterator[Person]
) -> None:
    code = new_challenge(platform)
    olga = organiser_of(platform, people, code)
    with platform.transaction() as session:
        challenge = session.scalars(select(Challenge.id).where(Challenge.code == code)).one()
        add_teams = (
            "WITH made AS (INSERT INTO team (challenge_id, name, name_key, affiliation, approval, approval_reason,"
            " suspension_reason, hides_results) SELECT :challenge, 'T' || n, 't' || n, '', 'approved', '', '', false"
            " FROM generate_series(1, 10000) n RETURNING id), people AS (INSERT INTO user_account (email, name,"
            " affiliation, homepage, orcid, role) SELECT id || '@t.example', 'T', '', '', '', 'participant' FROM made"
            " RETURNING id, split_part(email, '@', 1)::bigint AS team) INSERT INTO member (team_id, user_id,"
            " challenge_id, is_owner, is_named) SELECT team, id, :challenge, true, false FROM people"
        )
        session.execute(text(add_teams), {"challenge": challenge})
    message = draft(olga, code)

    with asked(platform) as statements:
        sheet = olga.call("POST", f"/organise/messages/{message}/send", version=1)

    assert (sheet["message"]["teams"], sheet["message"]["people"]) == (10_000, 10_000)
    assert len(statements) < 30
    with platform.reading() as session:
        of_message = Event.details["message"].as_integer() == message
        count = select(func.count()).select_from(Event).where(Event.kind == EventKind.MESSAGE, of_message)
        assert session.scalar(count) == 10_000
