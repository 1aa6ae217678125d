"""Mail about events: what is in it, to whom, how often, and what happens when it cannot be sent."""

import re
import ssl
from collections.abc import Callable, Iterator
from email.message import EmailMessage
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from sqlalchemy import delete, func, select, text, update
from starlette.testclient import TestClient

from app.jobs import events, mail
from app.models import (
    Announcement,
    Challenge,
    ChallengePage,
    ClassScore,
    Disclosure,
    Event,
    EventKind,
    Job,
    MailChoice,
    NotificationMail,
    Queue,
    User,
)
from app.notifications import choosing, mailing, reading
from app.notifications.choosing import NewChoices, Subscription
from app.notifications.mailing import MOST_ATTEMPTS, MOST_LINES, pause_after
from app.operations import administration
from app.platform import Platform
from tests.certificates import certificate_for_localhost
from tests.mail_servers import MailServer, mail_server, subject_and_bodies
from tests.pages.people_told import CONTACT, Scene, make_due, scene
from tests.working import do_all

AT = "2026-11-30T12:00:00+00:00"


@pytest.fixture(scope="module")
def challenge(platform: Platform) -> Scene:
    return scene(platform)


@pytest.fixture
def people(challenge: Scene) -> Scene:
    """The people of a challenge, to whom nothing was mailed and nothing has happened."""
    empty(challenge.platform)
    return challenge


def empty(platform: Platform) -> None:
    with platform.transaction() as session:
        for table in (Event, NotificationMail, Job, MailChoice):
            session.execute(delete(table))


@pytest.fixture(scope="module")
def running(platform: Platform) -> Iterator[tuple[MailServer, Platform]]:
    with mail_server(platform) as found:
        yield found


@pytest.fixture
def sent(running: tuple[MailServer, Platform]) -> tuple[MailServer, Platform]:
    """A mail server that has taken nothing yet and takes everything, and a platform that sends through it."""
    running[0].reset()
    return running


def send(platform: Platform, *, is_due: bool = True) -> None:
    """Send what is due; by default everything is."""
    if is_due:
        make_due(platform)
    mailing.queue_due(platform)
    do_all(platform, Queue.MAIL)


def pass_gap(platform: Platform) -> None:
    """Let ten minutes pass since everything that was sent."""
    with platform.transaction() as session:
        sent = update(NotificationMail).where(NotificationMail.sent_at.is_not(None))
        session.execute(sent.values(sent_at=NotificationMail.sent_at - mailing.GAP))


def test_what_happens_within_a_minute_is_one_mail_and_what_comes_later_waits_ten(
    people: Scene, sent: tuple[MailServer, Platform]
) -> None:
    server, connected = sent
    address = people.addresses["member"]
    for day in (28, 29, 30):
        people.record(EventKind.OPENED, at=f"2026-11-{day}T12:00:00+00:00")
    people.record(EventKind.TERMS_CHANGED, version=2, has_text=True)
    send(connected, is_due=False)
    assert server.received == []

    send(connected)
    people.record(EventKind.OPENED, at=AT)
    send(connected)

    assert sorted(message["Subject"] for message in server.to(address)) == [
        "A phase opened (3)",
        f"The terms of {title(people)} changed; accept version 2 before you submit",
    ]
    assert len(server.to(people.addresses["other team"])) == 2
    assert server.to(people.addresses["visitor"]) == []
    pass_gap(connected)
    send(connected)
    last = str(server.to(address)[-1]["Subject"])
    assert last.startswith(f"{title(people)}, test opened on Mon 30 Nov 2026 12:00 UTC")


@pytest.mark.sampled
def test_events_that_say_the_same_are_counted_and_do_not_hide_the_others(
    people: Scene, sent: tuple[MailServer, Platform]
) -> None:
    server, connected = sent
    read = {"intake": "00000000-0000-4000-8000-000000000007", "problems": 0, "warnings": 0}
    for _ in range(39):
        people.record(EventKind.DATA_SET_READ, **read)
    people.record(EventKind.TEAM_WAITS)
    people.record(EventKind.TEAM_WAITS)
    people.record(EventKind.DATA_SET_READ, **read | {"problems": 3})

    send(connected)

    mails = {str(message["Subject"]): message for message in server.to(people.addresses["organiser"])}
    assert len(mails) == 2
    assert [
        each.startswith("The team ") for each in mails if each.endswith(f" in {title(people)} (2 times)")
    ] == [True]
    _, body, html = subject_and_bodies(mails["A data set was read (40)"])
    for part in (body, html):
        said = [f"of {title(people)} was read: {what}" for what in ("3 problems", "no problems (39 times)")]
        assert [part.count(each) for each in said] == [1, 1]
        assert part.index(said[0]) < part.index(said[1])
        assert part.count(f"{connected.settings.address}/organise/data-sets/{read['intake']}") == 2


def title(people: Scene) -> str:
    with people.platform.transaction() as session:
        return session.get_one(Challenge, people.challenge_id).title


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("role", "kind", "is_mailed"),
    [
        ("member", EventKind.OPENED, True),
        ("member", EventKind.CLOSED, False),
        ("organiser", EventKind.RUNS_FAILED, True),
        ("admin", EventKind.STORAGE_LOW, True),
        ("admin", EventKind.MAIL_FAILS, False),
    ],
)
def test_a_person_chooses_what_is_mailed(
    people: Scene, sent: tuple[MailServer, Platform], role: str, kind: EventKind, *, is_mailed: bool
) -> None:
    server, connected = sent
    details = {"at": AT, "error": "x", "host": "h", "place": "p", "free": 1, "total": 9}

    people.record(kind, **details)
    send(connected)
    by_default = len(server.to(people.addresses[role]))
    choosing.choose(people.platform, people.actor(role), NewChoices(by_mail={kind: not is_mailed}))
    with connected.transaction() as session:
        session.execute(delete(NotificationMail))
    people.record(kind, **details)
    send(connected)

    assert (by_default, len(server.to(people.addresses[role])) - by_default) == (is_mailed, not is_mailed)


def test_nothing_is_mailed_to_unconfirmed_suspended_or_deleted_people_or_about_what_was_read(
    platform: Platform, sent: tuple[MailServer, Platform]
) -> None:
    empty(platform)
    people = scene(platform)
    server, connected = sent
    with connected.transaction() as session:
        session.get_one(User, people.people["co-organiser"]).password_hash = None  # a program
    people.record(EventKind.OPENED, user_id=people.people["co-organiser"], at=AT)
    states = ("verified_at = NULL", "suspended_at = now()", "deleted_at = now()")
    for role, state in zip(("member", "other team", "organiser"), states, strict=True):
        people.record(EventKind.OPENED, user_id=people.people[role], at=AT)
        with connected.transaction() as session:
            session.execute(text(f"UPDATE user_account SET {state} WHERE id = {people.people[role]}"))
        people.record(EventKind.OPENED, user_id=people.people[role], at=AT)
    people.record(EventKind.OPENED, user_id=people.people["admin"], at=AT)
    reading.mark_all_read(connected, people.actor("admin"))

    send(connected)

    assert server.received == []
    with connected.transaction() as session:
        assert session.scalar(select(func.count()).select_from(NotificationMail)) == 0


def test_a_mail_has_the_same_in_text_and_html_links_to_stop_it_and_the_organisers_as_reply_to(
    people: Scene, sent: tuple[MailServer, Platform]
) -> None:
    server, connected = sent
    with connected.transaction() as session:
        session.add(ChallengePage(challenge_id=people.challenge_id, contact=CONTACT))
        row = Announcement(
            challenge_id=people.challenge_id,
            title="Café <b>\r\nBcc: x@example.org",
            text="## More *time*\n\n[Rules](/challenges/x/rules) <script>alert('x')</script>",
        )
        session.add(row)
        session.flush()
        number = row.id
    people.record(EventKind.ANNOUNCEMENT, announcement=number)

    send(connected)

    [message] = server.to(people.addresses["member"])
    subject, body, html = subject_and_bodies(message)
    address = connected.settings.address
    assert subject == f"{title(people)}: Café <b> Bcc: x@example.org"
    assert (message["Bcc"], message["Reply-To"], message["Auto-Submitted"]) == (
        None,
        CONTACT,
        "auto-generated",
    )
    assert message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert "## More *time*" in body
    assert "<h2>More <em>time</em></h2>" in html
    assert f'href="{address}/challenges/x/rules"' in html
    assert "<script" not in html
    assert " style=" not in html
    assert not re.search(r'(src|href)="(?!http://127\.0\.0\.1)', html)
    for part in (body, html):
        assert f"{address}/challenges/{title(people)}/news#news-{number}" in part
        assert f"{address}/account/notifications" in part
        assert message["List-Unsubscribe"].strip("<>") in part


@pytest.mark.sampled
@pytest.mark.parametrize("is_over", [False, True])
@pytest.mark.parametrize("disclosure", Disclosure)
def test_no_score_that_a_phase_hides_is_in_a_notification_or_a_mail(
    people: Scene,
    sent: tuple[MailServer, Platform],
    browser: Callable[[], TestClient],
    disclosure: Disclosure,
    *,
    is_over: bool,
) -> None:
    server, connected = sent
    people.disclose(disclosure, is_over=is_over)
    result_id = people.rows.result(mean=0.47318)
    with connected.transaction() as session:
        run = people.rows.run_of(result_id)
        session.add(
            ClassScore(run_id=run, position=1, class_name="cat", value=0.86243, held_out_value=0.86243)
        )
    do_all(connected, Queue.MAIL)
    send(connected)

    reader = people.log_in("member", browser)
    page, json = reader.get("/notifications").text, reader.get("/api/v1/notifications").text
    [message] = server.to(people.addresses["member"])
    for found in (page, json, *subject_and_bodies(message)):
        assert ("47.3%" in found) == (is_over or disclosure is not Disclosure.AT_CLOSE)
        assert not re.search(r"4731|47\.31|86[.,]?2|8624", found)
    assert [people.told(EventKind.SCORED), len(server.received)] == [{"member"}, 1]


def test_a_long_list_is_cut_and_says_so(people: Scene, sent: tuple[MailServer, Platform]) -> None:
    server, connected = sent
    where = {"challenge_id": people.challenge_id, "team_id": people.rows.team_id}
    with connected.transaction() as session:
        for number in range(MOST_LINES + 1):
            title = f"Question {number}"
            events.record(session, EventKind.ANSWER, **where, title=title, path=f"/threads/{number}")
    do_all(connected, Queue.MAIL)

    send(connected)

    subject, body, _ = subject_and_bodies(server.to(people.addresses["member"])[0])
    assert subject == f"An answer to a question of the team ({MOST_LINES}+)"
    assert body.count("answered: Question") == MOST_LINES
    assert "There is more at" in body


# what goes wrong


def test_mail_is_sent_after_starttls_and_login(
    people: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate, key = certificate_for_localhost(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    people.record(EventKind.OPENED, at=AT)

    with mail_server(people.platform, context=context) as (server, connected):
        with pytest.raises(mail.MailServerError, match=r"localhost cannot be used"):
            mailing.send_due(connected, {})
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        send(connected)

    assert server.users == ["heldout"] * 2
    assert {message["To"] for message in server.received} == {
        people.addresses[role] for role in ("member", "other team")
    }


def rows(platform: Platform) -> dict[str, NotificationMail]:
    """All mails by the address of their person."""
    statement = select(User.email, NotificationMail).join(User, User.id == NotificationMail.user_id)
    with platform.transaction() as session:
        return dict(session.execute(statement).all())


def test_an_address_that_is_rejected_is_given_up_at_once_and_listed_and_sent_again_on_request(
    people: Scene, sent: tuple[MailServer, Platform], browser: Callable[[], TestClient]
) -> None:
    server, connected = sent
    member, other = people.addresses["member"], people.addresses["other team"]
    server.answers[member] = "550 5.1.1 no such user"
    server.of_texts[other] = "554 5.7.1 looks like spam"
    people.record(EventKind.OPENED, at=AT)

    send(connected)
    send(connected)

    found = rows(connected)
    assert [found[each].attempts for each in (member, other)] == [1, 1]
    assert [found[each].failed_at is None for each in (member, other)] == [False, False]
    admin = people.log_in("admin", browser)
    listed = admin.get("/admin/mail").text
    assert all(each in listed for each in (member, other, "SMTPRecipientsRefused 550", "SMTPDataError 554"))
    assert "Mail could not be delivered to 2 addresses" in organised(people, browser)

    server.answers.clear()
    assert admin.post(f"/admin/mail/{found[member].id}/resend").status_code == 303
    send(connected)
    assert [len(server.to(each)) for each in (member, other)] == [1, 0]
    server.of_texts.clear()
    admin.post("/admin/mail/resend")
    send(connected)
    assert [len(server.to(each)) for each in (member, other)] == [1, 1]
    assert "What cannot be delivered is listed here" in admin.get("/admin/mail").text
    assert "could not be delivered" not in organised(people, browser)
    assert admin.post(f"/admin/mail/{found[member].id}/resend").status_code == 404


def organised(people: Scene, browser: Callable[[], TestClient]) -> str:
    """All that waits for an organiser; the list of challenges shows the first few."""
    return people.log_in("organiser", browser).get(f"/organise/challenges/{people.code}").text


def test_a_temporary_refusal_is_tried_again_with_growing_pauses_and_given_up_in_the_end(
    people: Scene, sent: tuple[MailServer, Platform]
) -> None:
    server, connected = sent
    member, other = people.addresses["member"], people.addresses["other team"]
    server.answers[member] = "451 4.7.1 greylisted"
    people.record(EventKind.OPENED, at=AT)

    send(connected)
    first = rows(connected)[member]
    assert (first.attempts, first.failed_at) == (1, None)
    assert first.due_at - first.created_at >= pause_after(1)
    assert len(server.to(other)) == 1  # others do not wait for it
    server.answers.clear()
    send(connected)
    assert len(server.to(member)) == 1

    server.answers[member] = "451 4.7.1 greylisted"
    people.record(EventKind.TERMS_CHANGED, version=1, has_text=True)
    for _ in range(MOST_ATTEMPTS + 1):
        send(connected)
    [failed] = mailing.failed_mails(connected).rows
    assert (failed.address, failed.attempts) == (member, MOST_ATTEMPTS)


def test_an_outage_of_the_mail_server_loses_nothing_sends_nothing_twice_and_is_shown_after_ten_minutes(
    people: Scene, browser: Callable[[], TestClient]
) -> None:
    people.record(EventKind.OPENED, at=AT)
    with mail_server(people.platform) as (_, gone):
        pass
    for _ in range(10):
        send(gone)
    with gone.transaction() as session:
        assert mailing.trouble(session) is None
        session.execute(text("UPDATE job SET queued_at = now() - interval '11 minutes'"))
        assert "cannot be used" in (mailing.trouble(session) or "")
    assert "No mail is sent" in organised(people, browser)
    assert {each.attempts for each in rows(gone).values()} == {0}
    assert administration.failed_jobs(gone).rows == ()

    with mail_server(people.platform) as (server, back):
        send(back)
        send(back)
    assert len(server.received) == 2


def test_a_server_that_takes_few_mails_in_a_connection_gets_the_others_in_new_ones(
    people: Scene, sent: tuple[MailServer, Platform]
) -> None:
    server, connected = sent
    server.most_in_session = 1
    for kind in (EventKind.OPENED, EventKind.TERMS_CHANGED):
        people.record(kind, at=AT, version=1, has_text=True)

    for _ in range(2):
        send(connected)

    assert len(server.received) == 4
    assert mailing.failed_mails(connected).rows == ()


def test_a_server_that_hangs_holds_up_one_mail_and_the_others_follow(
    people: Scene, sent: tuple[MailServer, Platform], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, connected = sent
    member, other = people.addresses["member"], people.addresses["other team"]
    monkeypatch.setattr(mail, "TIMEOUT", 0.3)
    server.hangs.add(member)
    people.record(EventKind.OPENED, at=AT)

    make_due(connected)
    for _ in range(2):
        mailing.queue_due(connected)
        do_all(connected, Queue.MAIL)
        with connected.transaction() as session:
            session.execute(text("UPDATE job SET not_before = NULL"))
    assert [len(server.to(each)) for each in (member, other)] == [0, 1]
    server.hangs.clear()
    send(connected)

    assert [len(server.to(each)) for each in (member, other)] == [1, 1]


def test_a_worker_killed_between_sending_and_recording_sends_one_mail_again_with_the_same_id(
    people: Scene, sent: tuple[MailServer, Platform], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, connected = sent
    people.record(EventKind.OPENED, user_id=people.people["member"], at=AT)
    make_due(connected)

    with monkeypatch.context() as killed:
        killed.setattr(mailing, "_settle", _killed)
        with pytest.raises(KeyboardInterrupt):
            mailing.send_due(connected, {})
    mailing.send_due(connected, {})
    assert len(server.received) == 1  # it may still be under way
    send(connected)
    send(connected)

    first, second = server.received
    assert first["Message-ID"] == second["Message-ID"]


def _killed(*_: object) -> None:
    raise KeyboardInterrupt


def test_what_comes_while_a_mail_is_sent_is_in_the_next_one(
    people: Scene, sent: tuple[MailServer, Platform]
) -> None:
    server, connected = sent
    member = people.addresses["member"]
    server.answers[member] = "451 4.7.1 greylisted"
    people.record(EventKind.TEAM_APPROVED)
    send(connected)
    people.record(EventKind.TEAM_APPROVED)
    server.answers.clear()

    send(connected)
    pass_gap(connected)
    send(connected)

    assert [subject_and_bodies(each)[1].count("was approved for") for each in server.to(member)] == [1, 1]


def test_no_more_mails_are_sent_in_a_minute_than_are_set_and_the_others_wait(
    people: Scene, sent: tuple[MailServer, Platform]
) -> None:
    server, connected = sent
    people.record(EventKind.OPENED, at=AT)
    people.record(EventKind.EXTENDED, before=None, after=AT)
    slow = connected.settings.model_copy(update={"mails_per_minute": 3})
    limited = Platform(
        **{name: getattr(connected, name) for name in connected.__slots__ if name != "autocommit"}
        | {"settings": slow}
    )

    send(limited)
    send(limited)
    assert len(server.received) == 3
    pass_gap(connected)
    send(limited)

    assert len(server.received) == 4


def test_a_mail_that_cannot_be_written_does_not_hold_up_the_others(
    platform: Platform, sent: tuple[MailServer, Platform]
) -> None:
    empty(platform)
    people = scene(platform)
    server, connected = sent
    with connected.transaction() as session:
        session.get_one(User, people.people["member"]).email = "a\nb@example.org"
    people.record(EventKind.OPENED, at=AT)

    send(connected)

    assert [message["To"] for message in server.received] == [people.addresses["other team"]]
    assert (rows(connected)["a\nb@example.org"].error, rows(connected)["a\nb@example.org"].attempts) == (
        "it could not be written: ValueError", 1,
    )  # fmt: skip


# the link that ends a subscription


def test_a_mail_program_unsubscribes_with_one_click_and_people_with_a_button_without_login(
    people: Scene, sent: tuple[MailServer, Platform], browser: Callable[[], TestClient]
) -> None:
    server, connected = sent
    for role in ("member", "other team"):
        people.record(EventKind.OPENED, user_id=people.people[role], at=AT)
    send(connected)
    by_program, by_person = (
        link_of(server.to(people.addresses[role])[0]) for role in ("member", "other team")
    )
    stranger = browser()

    assert "Stop this kind of mail" in stranger.get(by_program).text
    assert chosen(connected) == {}
    done = stranger.post(by_program, data={"List-Unsubscribe": "One-Click"}, headers={"Accept": "*/*"})
    assert (
        "is no longer mailed to you"
        in stranger.post(by_person, headers={"Sec-Fetch-Site": "same-origin"}).text
    )
    again = stranger.post(by_program, data={"List-Unsubscribe": "One-Click"})

    assert (done.status_code, again.status_code) == (200, 200)
    assert chosen(connected) == {
        (people.people[role], EventKind.OPENED): False for role in ("member", "other team")
    }
    assert "session" not in str(done.headers).lower()


def chosen(platform: Platform) -> dict[tuple[int, EventKind], bool]:
    with platform.transaction() as session:
        return {(each.user_id, each.kind): each.by_mail for each in session.scalars(select(MailChoice))}


def link_of(message: EmailMessage) -> str:
    return urlsplit(str(message["List-Unsubscribe"]).strip("<>")).path


def test_a_forged_or_changed_link_ends_nothing(people: Scene, browser: Callable[[], TestClient]) -> None:
    with people.platform.transaction() as session:
        token = choosing.token_of(session, Subscription(people.people["member"], EventKind.OPENED))
        other = choosing.token_of(session, Subscription(people.people["organiser"], EventKind.OPENED))
    what, _, signature = token.partition(".")
    forged = (
        f"{other.partition('.')[0]}.{signature}",
        f"{what}.{other.partition('.')[2]}",
        f"{what}.",
        f"{what}=.{signature}",
        what,
        f".{signature}",
        "\u00fc.x",
        f"{token[:-1]}{'A' if token[-1] != 'A' else 'B'}",
    )
    client = browser()

    assert [client.post(f"/unsubscribe/{each}").status_code for each in forged] == [404] * len(forged)
    assert [client.get(f"/unsubscribe/{each}").status_code for each in forged] == [404] * len(forged)
    assert chosen(people.platform) == {}
    assert client.get(f"/unsubscribe/{token}").status_code == 200
