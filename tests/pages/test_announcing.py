"""Organisers announce something to teams: who receives it, that it arrives once, and that nobody else reads it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from sqlalchemy import func, select, text

from app.challenges import announcing
from app.models import (
    AuditRecord,
    Challenge,
    Event,
    EventKind,
    MailChoice,
    MailedNotification,
    MessageAudience,
    Notification,
    NotificationMail,
    Phase,
    ReceivedMessage,
    Team,
    TeamMessage,
    Upload,
)
from app.platform import Platform
from tests.pages.conftest import Browser
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
    """The people who were notified of an announcement to teams."""
    do_all(platform)
    with platform.reading() as session:
        of_message = Event.details["message"].as_integer() == message
        statement = (
            select(Notification.user_id).join(Event).where(Event.kind == EventKind.MESSAGE, of_message)
        )
        return sorted(session.scalars(statement))


def place(challenge: str) -> str:
    return f"/organise/challenges/{challenge}/news"


def announce(olga: Person, challenge: str, **facts: Any) -> dict[str, Any]:
    sent: dict[str, Any] = olga.call("POST", place(challenge), 201, **(LATE | facts))
    return sent


@pytest.mark.sampled
def test_an_announcement_is_previewed_and_sent_once_to_the_members_of_each_team(
    platform: Platform, people: Iterator[Person]
) -> None:
    code = new_challenge(platform)
    olga, ada, bob, eve = organiser_of(platform, people, code), next(people), next(people), next(people)
    fern, moss = ada.team(code, "Fern"), eve.team(code, "Moss")
    bob.accept(ada.invite(fern))
    bob.team(new_challenge(platform), "Elsewhere")

    preview = olga.http.post(place(code), data=LATE | {"preview": "1"}).text

    assert "now 2 teams with 3 members" in preview
    assert "Fern, Moss" in preview
    assert "The deadline <strong>moves</strong>" in preview
    assert 'src="https://evil.example' not in preview
    assert "Images of other sites are not shown" in preview
    assert "Nothing was sent yet" in preview
    assert "One day more" not in ada.page(f"/challenges/{code}/news")

    answers = {olga.send(place(code), **LATE) for _ in range(2)}  # a double click
    [(status, where)] = answers
    listed = olga.call("GET", place(code))["announcements"]
    [sent] = [each for each in listed if not each["is_public"]]
    message = sent["id"]

    assert (status, where) == (303, f"{place(code)}?sent=true")
    assert "<strong>Sent</strong> to 2 teams with 3 members" in olga.page(where)
    assert (sent["to"], sent["teams"], sent["people"]) == ("All teams", 2, 3)
    assert told(platform, message) == sorted([ada.id, bob.id, eve.id])
    newest = ada.call("GET", "/notifications")["notifications"][0]
    assert newest["sentence"] == f"The organisers of Teams of {code} wrote: One day more"
    assert newest["path"] == f"/challenges/{code}/news#message-{message}"
    for person, team in ((ada, fern), (bob, fern), (eve, moss)):
        page = person.page(f"/challenges/{code}/news")
        assert page.count("The deadline <strong>moves</strong>") == 1
        assert f'id="message-{message}"' in page
        assert "2 teams" not in page
        assert person.http.get(f"/teams/{team}/messages").headers["location"] == f"/challenges/{code}/news"
        [received] = person.call("GET", f"/challenges/{code}/news")["received"]
        assert (received["id"], received["title"]) == (message, "One day more")
    eve.page(f"/teams/{fern}/messages", 404)
    with platform.transaction() as session:
        events = select(Event.team_id).where(Event.kind == EventKind.MESSAGE, Event.team_id.in_([fern, moss]))
        assert sorted(filter(None, session.scalars(events))) == sorted([fern, moss])  # one for each team
        [record] = session.scalars(select(AuditRecord).where(AuditRecord.subject == f"message {message}"))
        assert (record.action, record.details["teams"], record.details["people"]) == ("message.send", 2, 3)


def test_nobody_else_reads_what_is_announced_to_teams(
    platform: Platform, people: Iterator[Person], browser: Browser
) -> None:
    code = new_challenge(platform)
    olga, ada, eve = organiser_of(platform, people, code), next(people), next(people)
    ada.team(code, "Fern")
    eve.team(code, "Moss")
    page = f"/challenges/{code}/news"
    announce(olga, code, audience="one team", team="Fern")
    assert "One day more" in ada.page(page)

    visitor = browser()
    for reader in (visitor, eve.http, olga.http, next(people).http):
        for address in (page, f"/api/v1{page}", f"{page}.atom", "/news.atom", "/", f"/find?q={code}"):
            assert "One day more" not in reader.get(address).text, address
    assert "One day more" not in visitor.get(f"{page}?received_before=999999").text


def test_what_the_release_before_has_sent_and_drafted_stays_readable(
    platform: Platform, people: Iterator[Person]
) -> None:
    code = new_challenge(platform)
    olga, ada = organiser_of(platform, people, code), next(people)
    fern = ada.team(code, "Fern")
    with platform.transaction() as session:
        challenge = session.scalars(select(Challenge.id).where(Challenge.code == code)).one()
        facts = {"challenge_id": challenge, "audience": MessageAudience.ALL, "created_by": olga.id}
        sent = TeamMessage(title="Sent", text="Once", sent_at=func.now(), teams=1, people=1, **facts)
        session.add_all((sent, TeamMessage(title="Drafted", text="Twice", **facts)))
        session.flush()
        session.add(ReceivedMessage(message_id=sent.id, team_id=fern))

    page, list_ = ada.page(f"/challenges/{code}/news"), olga.page(place(code))

    assert ("Once" in page, "Twice" in page) == (True, False)
    assert ("Once" in list_, "Twice" in list_) == (True, True)
    assert "draft, sent to nobody" in list_


def test_one_choice_of_mail_holds_for_announcements_to_everybody_and_to_teams(
    platform: Platform, people: Iterator[Person]
) -> None:
    code = new_challenge(platform)
    olga, ada, bob, eve = organiser_of(platform, people, code), next(people), next(people), next(people)
    for person, name in ((ada, "Fern"), (bob, "Moss"), (eve, "Oak")):
        person.team(code, name)
    ada.call("PUT", "/account/notifications", 204, by_mail={"announcement": False})
    with platform.transaction() as session:
        session.add(
            MailChoice(user_id=bob.id, kind=EventKind.MESSAGE, by_mail=False)
        )  # of the release before

    announce(olga, code)
    olga.call("POST", place(code), 201, title="To everybody", text="So")
    do_all(platform)

    def mailed(person: Person) -> list[tuple[EventKind, int]]:
        with platform.reading() as session:
            statement = (
                select(NotificationMail.kind, func.count())
                .join(MailedNotification)
                .where(NotificationMail.user_id == person.id, NotificationMail.kind == EventKind.ANNOUNCEMENT)
                .group_by(NotificationMail.id, NotificationMail.kind)
            )
            return [(kind, count) for kind, count in session.execute(statement)]

    assert mailed(ada) == []
    assert mailed(bob) == [(EventKind.ANNOUNCEMENT, 1)]
    assert mailed(eve) == [(EventKind.ANNOUNCEMENT, 2)], "one mail has both"
    bob.call("PUT", "/account/notifications", 204, by_mail={"announcement": True})
    with platform.reading() as session:
        assert session.scalar(select(func.count()).where(MailChoice.user_id == bob.id)) == 0


def test_the_list_of_organisers_has_both_in_order_page_by_page(
    platform: Platform, people: Iterator[Person], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(announcing, "PAGE", 2)
    code = new_challenge(platform)
    olga = organiser_of(platform, people, code)
    next(people).team(code, "Fern")
    for number in range(5):
        to = {"audience": "all teams"} if number in (1, 2) else {"audience": None}
        announce(olga, code, title=f"Number {number}", **to)

    found, query = [], ""
    while True:
        page = olga.call("GET", f"{place(code)}{query}")
        found += [each["title"] for each in page["announcements"]]
        cursors = {"before": page["next"], "to_teams_before": page["next_to_teams"]}
        query = "?" + "&".join(f"{name}={value}" for name, value in cursors.items() if value)
        if not page["has_more"]:
            break

    assert found == [f"Number {number}" for number in (4, 3, 2, 1, 0)]


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


def test_an_audience_has_the_teams_that_it_says(platform: Platform, audience: Audience) -> None:
    scored = audience.scored
    where = place(audience.code)
    for chosen, expected in (
        ({"audience": "all teams"}, ["Ash", "Beech", scored]),
        ({"audience": "uploaded only", "image_set": "test"}, ["Beech"]),
        ({"audience": "have a result", "image_set": "test", "competition": 3}, [scored]),
        ({"audience": "one team", "team": "Ash"}, ["Ash"]),
    ):
        sent = audience.organiser.call("POST", where, 201, **(LATE | chosen))
        assert (sent["teams"], sent["people"]) == (len(expected), len(expected))
        with platform.reading() as session:
            received = select(Team.name).join(ReceivedMessage).where(ReceivedMessage.message_id == sent["id"])
            assert sorted(session.scalars(received)) == sorted(expected)
    nobody = LATE | {"audience": "have a result", "image_set": "test", "competition": 4}
    before = audience.organiser.call("GET", where)["announcements"]

    assert audience.organiser.refused("POST", where, **nobody) == (409, "no-receiver")
    page = audience.organiser.http.post(where, data=nobody)
    assert (page.status_code, "team with members matches now" in page.text) == (409, True)
    assert "One day more" in page.text
    assert audience.organiser.call("GET", where)["announcements"] == before


def test_problems_of_an_announcement_are_named_together_and_what_was_typed_stays(audience: Audience) -> None:
    olga, where = audience.organiser, place(audience.code)

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


def test_ten_announcements_a_day_are_sent_to_the_teams_of_a_challenge(
    platform: Platform, people: Iterator[Person], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(announcing, "A_DAY", 2)
    code = new_challenge(platform)
    olga = organiser_of(platform, people, code)
    next(people).team(code, "Fern")

    for number in range(2):
        announce(olga, code, title=f"Number {number}")
    late = LATE | {"title": "One too many"}
    preview, refused = (olga.http.post(place(code), data=late | more) for more in ({"preview": "1"}, {}))

    words = "2 announcements were sent to teams within 24 hours; the next is possible on"
    assert (preview.status_code, words in preview.text) == (200, True)
    assert (refused.status_code, words in refused.text) == (409, True)
    assert olga.refused("POST", place(code), **late) == (429, "message-limit")
    olga.call("POST", place(code), 201, title="To everybody", text="So")  # has no such limit


def test_ten_thousand_teams_receive_an_announcement_in_a_few_statements(
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

    with asked(platform) as statements:
        sent = announce(olga, code)

    assert (sent["teams"], sent["people"]) == (10_000, 10_000)
    assert len(statements) < 30
    with platform.reading() as session:
        of_message = Event.details["message"].as_integer() == sent["id"]
        count = select(func.count()).select_from(Event).where(Event.kind == EventKind.MESSAGE, of_message)
        assert session.scalar(count) == 10_000
