"""Webhooks: who has them, what they are told, and that nothing is lost, repeated under another id, or out of order."""

import json
import re
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, NoReturn

import pytest
from sqlalchemy import func, select, text, update
from sqlalchemy.orm import Session
from starlette.testclient import TestClient

from app.jobs import attempts, events
from app.models import (
    Announcement,
    AuditRecord,
    Challenge,
    ChallengeOrganiser,
    Event,
    EventKind,
    Job,
    JobKind,
    Member,
    Phase,
    Queue,
    User,
    Webhook,
    WebhookDelivery,
)
from app.notifications import webhook_deliveries, webhook_messages
from app.platform import Platform
from tests.documents import blocks
from tests.pages.conftest import Browser
from tests.pages.test_accounts import registered
from tests.shared import ROOT
from tests.system.rows import Rows, made
from tests.webhook_receiver import HERE, Receiver, receiving
from tests.working import do_all
from worker.handlers import HANDLERS

DOCUMENT = ROOT / "docs" / "webhooks.md"
BEFORE, AFTER = datetime(2027, 3, 25, 11, 59, tzinfo=UTC), datetime(2027, 4, 1, 11, 59, tzinfo=UTC)


@pytest.fixture(scope="module")
def platform(platform: Platform) -> Platform:
    """The same platform, whose webhooks may reach this machine by plain HTTP."""
    chosen = {"webhook_http": True, "webhook_networks": f"{HERE}/32", "retry_seconds": 600}
    return replace(platform, settings=platform.settings.model_copy(update=chosen))


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as running:
        yield running


@dataclass
class Site:
    """A challenge with a team of two: an owner and a member; and an organiser."""

    platform: Platform
    rows: Rows
    code: str
    challenge_id: int
    organiser_id: int
    owner: TestClient
    member: TestClient
    organiser: TestClient

    @property
    def path(self) -> str:
        return f"/organise/challenges/{self.code}/webhooks"

    def tell(self, kind: EventKind, **facts: Any) -> None:
        """Record an event of the team, or of the challenge, and dispatch it."""
        about = {"challenge_id": self.challenge_id} | facts
        with self.platform.transaction() as session:
            events.record(session, kind, **about)
        do_all(self.platform)

    def record_announcement(self, title: str, challenge_id: int | None = None) -> None:
        """Publish an announcement of the challenge, or of another one."""
        of_challenge = challenge_id or self.challenge_id
        with self.platform.transaction() as session:
            row = Announcement(challenge_id=of_challenge, title=title, text="Soon.")
            session.add(row)
            session.flush()
            events.record(session, EventKind.ANNOUNCEMENT, challenge_id=of_challenge, announcement=row.id)

    def announce(self, title: str, challenge_id: int | None = None) -> None:
        """Publish an announcement and dispatch it."""
        self.record_announcement(title, challenge_id)
        do_all(self.platform)

    def ask(self, statement: str, **values: object) -> list[Any]:
        with self.platform.transaction() as session:
            found = session.execute(text(statement), values)
            return list(found) if statement.startswith("SELECT") else []

    def send_all(self) -> None:
        """Send what waits without its pauses, until nothing does or a receiver fails."""
        for _ in range(20):
            with self.platform.transaction() as session:
                waiting = update(Job).where(Job.kind == JobKind.WEBHOOK, Job.dead_at.is_(None))
                session.execute(waiting.values(not_before=None))
            if not attempts.do_next(self.platform, Queue.WEBHOOKS, HANDLERS) or self.is_failing():
                return

    def is_failing(self) -> bool:
        with self.platform.transaction() as session:
            return bool(session.scalar(select(func.count()).where(Webhook.failing_since.is_not(None))))

    def deliveries(self) -> list[WebhookDelivery]:
        with self.platform.transaction() as session:
            return list(session.scalars(select(WebhookDelivery).order_by(WebhookDelivery.id)))


@pytest.fixture
def site(platform: Platform, browser: Browser) -> Iterator[Site]:
    rows = made(platform)
    with platform.transaction() as session:
        challenge = session.get_one(Challenge, session.get_one(Phase, rows.phase_id).challenge_id)
        code, challenge_id = challenge.code, challenge.id
    emails = [f"{name}.{code}@example.org" for name in ("owner", "member", "organiser")]
    people = [registered(browser(), email) for email in emails]
    with platform.transaction() as session:
        ids = [session.scalars(select(User.id).where(User.email == email)).one() for email in emails]
        for user_id, is_owner in zip(ids[:2], (True, False), strict=True):
            session.add(
                Member(team_id=rows.team_id, user_id=user_id, challenge_id=challenge_id, is_owner=is_owner)
            )
        session.add(ChallengeOrganiser(challenge_id=challenge_id, user_id=ids[2]))
    yield Site(platform, rows, code, challenge_id, ids[2], *people)
    with platform.transaction() as session:
        for statement in ("DELETE FROM webhook", "DELETE FROM job"):
            session.execute(text(statement))


def create(client: TestClient, path: str, url: str, name: str = "Lab chat") -> str:
    """Create a webhook and return its secret."""
    page = client.post(path, data={"name": name, "url": url})
    assert page.status_code == 200, page.text
    return new_secret(page.text)


def new_secret(page: str) -> str:
    """The secret that a page shows once."""
    [secret] = re.findall(r"<code>(whsec_[^<]+)</code>", page)
    return str(secret)


def documented() -> Callable[[str, dict[str, str], bytes], bool]:
    """The function that the documentation gives to receivers."""
    [block] = [each for each in blocks("docs/webhooks.md") if each.language == "python"]
    names: dict[str, Any] = {}
    exec(block.text, names)
    verify: Callable[[str, dict[str, str], bytes], bool] = names["is_genuine"]
    return verify


def test_organisers_are_told_in_a_message_that_the_documented_code_verifies(
    site: Site, receiver: Receiver
) -> None:
    secret, verify = create(site.organiser, site.path, receiver.url), documented()

    site.announce("Late")
    site.send_all()

    [sent] = receiver.sent
    body = json.loads(sent.body)
    assert body["challenge"]["code"] == site.code
    assert body["event"]["kind"] == "announcement"
    assert (body["event"]["title"], body["event"]["text"]) == (f"{site.code}: Late", "Soon.")
    assert f"/challenges/{site.code}/news#" in body["event"]["address"]
    assert body["text"] == f"{site.code}: Late: {body['event']['address']}"
    assert body["event"]["at"].endswith(":00Z"), "to the minute"
    assert body["delivery"] == sent.headers["webhook-id"]
    assert verify(secret, sent.headers, sent.body)
    assert not verify(secret, sent.headers, sent.body + b" ")
    assert not verify("whsec_AAAA", sent.headers, sent.body)
    assert not verify(secret, sent.headers | {"webhook-timestamp": "1000000000"}, sent.body)


def test_the_documented_body_is_what_is_sent(site: Site, receiver: Receiver) -> None:
    create(site.organiser, site.path, receiver.url)
    with site.platform.transaction() as session:
        phase = session.get_one(Phase, site.rows.phase_id)
        phase.opens_at, phase.closes_at = datetime(2027, 1, 1, tzinfo=UTC), AFTER
    site.tell(
        EventKind.EXTENDED,
        phase_id=site.rows.phase_id,
        before=BEFORE.isoformat(),
        after=AFTER.isoformat(),
    )
    site.send_all()
    [example] = [json.loads(each.text) for each in blocks("docs/webhooks.md") if each.language == "json"]

    def shape(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: shape(each) for name, each in value.items()}
        return [shape(each) for each in value[:1]] if isinstance(value, list) else type(value)

    body = json.loads(receiver.sent[0].body)
    assert shape(body) == shape(example)
    assert body["event"]["kind"] == example["event"]["kind"]
    assert (
        body["event"]["title"].partition(" is now ")[2] == example["event"]["title"].partition(" is now ")[2]
    )


def test_of_a_team_organisers_are_told_the_documented_facts(site: Site, receiver: Receiver) -> None:
    create(site.organiser, site.path, receiver.url)

    site.tell(EventKind.TEAM_WAITS, team_id=site.rows.team_id)
    site.send_all()

    [body] = [json.loads(each.body) for each in receiver.sent]
    described = re.search(r"a team has (.+?)\. What", " ".join(DOCUMENT.read_text().split()))
    assert described is not None
    assert set(re.findall(r"`(\w+)`", described[1])) == set(body["team"])
    assert body["team"]["id"] == site.rows.team_id
    assert body["phase"] is None


def test_organisers_are_told_what_concerns_them_and_everybody_and_never_a_score(
    site: Site, receiver: Receiver
) -> None:
    create(site.organiser, site.path, receiver.url)
    of_team = {"team_id": site.rows.team_id, "phase_id": site.rows.phase_id}

    site.tell(EventKind.SCORED, submission=1, runs=[], **of_team)
    site.tell(EventKind.RUNS_FAILED, submission=1, phase_id=site.rows.phase_id)
    site.announce("Late")
    site.announce("Elsewhere", made(site.platform).team_id)
    site.tell(EventKind.INVITATION, user_id=site.rows.user_id)
    site.tell(EventKind.STORAGE_LOW)
    site.send_all()

    bodies = [json.loads(each.body) for each in receiver.sent]
    assert [body["event"]["kind"] for body in bodies] == ["runs failed", "announcement"]
    assert all("submission" not in body for body in bodies)


def test_a_failed_delivery_is_repeated_with_its_id_before_the_next_one_is_sent(
    site: Site, receiver: Receiver
) -> None:
    create(site.organiser, site.path, receiver.url)
    receiver.statuses += [500, 503]
    for title in ("first", "second", "third"):
        site.announce(title)

    for _ in range(3):
        site.send_all()

    titles = [json.loads(each.body)["event"]["title"].split()[-1] for each in receiver.sent]
    assert titles == ["first", "first", "first", "second", "third"]
    assert len(set(receiver.ids[:3])) == 1
    assert len(set(receiver.ids)) == 3
    assert [each.attempts for each in site.deliveries()] == [3, 1, 1]
    assert [each.status for each in site.deliveries()] == [200, 200, 200]
    assert not site.ask("SELECT 1 FROM job WHERE kind = 'webhook'")


def test_a_quick_receiver_gets_what_waits_at_once_up_to_a_number_a_minute(
    site: Site, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook_deliveries, "PER_MINUTE", 3)
    monkeypatch.setattr(webhook_deliveries, "QUICK", 5)
    create(site.organiser, site.path, receiver.url)
    for title in ("first", "second", "third", "fourth", "fifth"):
        site.record_announcement(title)

    do_all(site.platform)

    assert len(receiver.sent) == 3
    site.ask("UPDATE webhook_delivery SET tried_at = tried_at - interval '1 minute'")
    site.send_all()
    assert len(receiver.sent) == 5


def test_a_receiver_that_fails_is_left_alone_for_a_while(site: Site, receiver: Receiver) -> None:
    create(site.organiser, site.path, receiver.url)
    receiver.statuses += [500] * 9
    site.announce("first")

    site.announce("second")
    do_all(site.platform)

    assert len(receiver.sent) == 1
    [[jobs, pause]] = site.ask("SELECT count(*), max(not_before - now()) FROM job WHERE kind = 'webhook'")
    assert jobs == 1
    assert timedelta(minutes=9) < pause <= timedelta(minutes=10)


def test_a_delivery_is_sent_again_if_the_worker_dies_before_it_is_recorded(
    site: Site, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        """The process ends here."""

    def die(*_: object) -> NoReturn:
        raise Killed

    create(site.organiser, site.path, receiver.url)
    with site.platform.transaction() as session:
        events.record(session, EventKind.ANNOUNCEMENT, challenge_id=site.challenge_id, title="x", path="/")
    with monkeypatch.context() as patched:
        patched.setattr(webhook_deliveries, "_record_outcome", die)
        with pytest.raises(Killed):
            do_all(site.platform)
    assert len(receiver.sent) == 1

    site.ask("UPDATE job SET lease_until = now() - interval '1 second' WHERE kind = 'webhook'")
    attempts.recover_lost_jobs(site.platform, HANDLERS)
    site.send_all()
    site.send_all()

    assert len(receiver.sent) == 2
    assert len(set(receiver.ids)) == 1
    assert [each.status for each in site.deliveries()] == [200]


def test_a_webhook_is_turned_off_after_three_days_and_the_organisers_are_told(
    site: Site, receiver: Receiver
) -> None:
    create(site.organiser, site.path, receiver.url)
    views = "SELECT challenge_id, user_id, 'viewer' FROM member WHERE challenge_id = :id AND NOT is_owner"
    site.ask(f"INSERT INTO challenge_organiser (challenge_id, user_id, role) {views}", id=site.challenge_id)
    receiver.statuses += [500] * 4
    for title in ("first", "second"):
        site.announce(title)
    site.ask("UPDATE webhook SET failing_since = now() - interval '71 hours'")
    site.ask("UPDATE job SET not_before = NULL")
    do_all(site.platform)
    assert "failing" in site.organiser.get(site.path).text

    site.ask("UPDATE webhook SET failing_since = now() - interval '73 hours'")
    receiver.statuses += [500] * 4
    site.ask("UPDATE job SET not_before = NULL")
    do_all(site.platform)
    do_all(site.platform)  # what the end of the webhook has recorded

    page = site.organiser.get(site.path).text
    assert "nothing was delivered for 3 days" in page
    assert page.count("the webhook was turned off") == 2
    assert told_of(site) == {(site.organiser_id, site.path)}, "and not the viewer"
    assert "Lab chat, because nothing was delivered for 3 days" in site.organiser.get("/notifications").text
    before = len(receiver.sent)
    site.announce("third")
    site.send_all()
    assert len(receiver.sent) == before

    receiver.statuses.clear()
    [[hook]] = site.ask("SELECT id FROM webhook")
    assert site.organiser.post(f"/webhooks/{hook}/on").status_code == 303
    site.announce("fourth")
    site.send_all()
    assert [json.loads(each.body)["event"]["title"] for each in receiver.sent[before:]] == [
        f"{site.code}: fourth"
    ]


def told_of(site: Site) -> set[tuple[int, str]]:
    """Who was told that a webhook is off, with the page that they are led to."""
    told = site.ask(
        "SELECT n.user_id, e.details->>'path' FROM notification n JOIN event e ON e.id = n.event_id"
        " WHERE e.kind = 'webhook off' AND e.challenge_id = :id",
        id=site.challenge_id,
    )
    return {tuple(each) for each in told}


def test_a_webhook_of_a_team_is_turned_off_and_the_team_is_told_once(site: Site, receiver: Receiver) -> None:
    with site.platform.transaction() as session:
        hook = Webhook(team_id=site.rows.team_id, name="Lab chat", url=receiver.url, secret="whsec_AAAA")
        session.add(hook)
        session.flush()
        event = events_before(session, site)
        session.add(WebhookDelivery(webhook_id=hook.id, event_id=event, event_key=uuid.uuid4()))
    site.announce("nobody is told")

    webhook_deliveries.turn_off_those_of_teams(site.platform)
    do_all(site.platform)
    told = told_of(site)
    webhook_deliveries.turn_off_those_of_teams(site.platform)
    do_all(site.platform)

    assert receiver.sent == []
    assert [(each.problem, each.ended_at is None) for each in site.deliveries()] == [
        ("the webhook was turned off", False)
    ]
    assert told == told_of(site)
    assert {path for _, path in told} == {f"/teams/{site.rows.team_id}"}
    assert len(told) == 3, "all members"
    assert "webhooks of challenges only" in site.owner.get("/notifications").text
    assert "Webhooks" not in site.owner.get(f"/teams/{site.rows.team_id}").text
    assert site.owner.get(f"/teams/{site.rows.team_id}/webhooks").status_code == 404


def events_before(session: Session, site: Site) -> int:
    """An event of which everybody was told before."""
    event = Event(kind=EventKind.OPENED, challenge_id=site.challenge_id, dispatched_at=func.now())
    session.add(event)
    session.flush()
    return event.id


def test_a_waiting_delivery_of_a_team_is_dropped_by_the_sender(site: Site, receiver: Receiver) -> None:
    with site.platform.transaction() as session:
        hook = Webhook(team_id=site.rows.team_id, name="Lab chat", url=receiver.url, secret="whsec_AAAA")
        session.add(hook)
        session.flush()
        event = events_before(session, site)
        session.add(WebhookDelivery(webhook_id=hook.id, event_id=event, event_key=uuid.uuid4()))
        webhook_deliveries.queue_up(session, hook)

    site.send_all()

    assert receiver.sent == []
    assert [each.problem for each in site.deliveries()] == ["the webhook was turned off"]
    assert not site.ask("SELECT 1 FROM job WHERE kind = 'webhook'")


def test_a_webhook_is_off_once_the_person_who_made_it_has_left(site: Site, receiver: Receiver) -> None:
    create(site.organiser, site.path, receiver.url)
    site.ask("DELETE FROM challenge_organiser WHERE challenge_id = :id", id=site.challenge_id)

    site.announce("first")
    site.send_all()

    assert receiver.sent == []
    [[reason]] = site.ask("SELECT off_reason FROM webhook")
    assert reason == "the person who made it is no longer an organiser"
    assert site.organiser.get(site.path).status_code in (403, 404)


def test_a_test_is_sent_at_once_and_shows_its_status_but_nothing_of_the_answer(
    site: Site, receiver: Receiver
) -> None:
    secret = create(site.organiser, site.path, receiver.url)
    receiver.statuses += [500, 418]
    site.announce("first")
    [[hook]] = site.ask("SELECT id FROM webhook")

    assert site.organiser.post(f"/webhooks/{hook}/test").headers["location"] == f"{site.path}#webhook-{hook}"
    twice = site.organiser.post(f"/webhooks/{hook}/test")
    do_all(site.platform)

    assert (twice.status_code, "A test of this webhook waits already" in twice.text) == (409, True)
    assert [json.loads(each.body)["event"]["kind"] for each in receiver.sent] == ["announcement", "test"]
    page = site.organiser.get(site.path).text
    assert ">418<" in page
    assert "the receiver answered with an error" in page
    assert "I&#39;m a Teapot" not in page
    assert documented()(secret, receiver.sent[1].headers, receiver.sent[1].body)


def test_the_button_does_not_reach_what_the_operator_did_not_allow(site: Site, receiver: Receiver) -> None:
    strict = replace(
        site.platform, settings=site.platform.settings.model_copy(update={"webhook_networks": ""})
    )
    create(site.organiser, site.path, receiver.url.replace(HERE, "localhost"))
    [[hook]] = site.ask("SELECT id FROM webhook")

    site.organiser.post(f"/webhooks/{hook}/test")
    do_all(strict)

    assert receiver.sent == []
    assert "has no address that this server calls" in site.organiser.get(site.path).text


def test_organisers_alone_manage_webhooks_and_no_page_has_their_secrets(
    site: Site, receiver: Receiver
) -> None:
    url = receiver.url + "/T00/secret-path"
    secret = create(site.organiser, site.path, url)
    [[hook]] = site.ask("SELECT id FROM webhook")

    seen = [
        site.organiser.get(site.path).text,
        site.organiser.get(f"/api/v1{site.path}").text,
        site.organiser.get("/audit").text,
    ]
    rotated = site.organiser.post(f"/webhooks/{hook}/secret").text
    site.announce("first")
    site.send_all()

    assert all(f"127.0.0.1:{receiver.port}" in page for page in seen)
    assert not any("secret-path" in page or secret in page for page in seen)
    new = new_secret(rotated)
    assert new != secret
    assert documented()(new, receiver.sent[0].headers, receiver.sent[0].body)
    for act in ("test", "secret", "on", "delete"):
        assert site.owner.post(f"/webhooks/{hook}/{act}").status_code == 403
    assert site.owner.get(site.path).status_code == 403
    assert site.organiser.post(f"/webhooks/{hook}/delete").status_code == 303
    assert site.deliveries() == []
    with site.platform.transaction() as session:
        is_hooks = AuditRecord.subject == f"webhook {hook}"
        actions = session.scalars(select(AuditRecord.action).where(is_hooks).order_by(AuditRecord.id)).all()
    assert actions == ["webhook.create", "webhook.rotate", "webhook.delete"]


def test_invalid_webhooks_are_refused_with_all_problems(site: Site, receiver: Receiver) -> None:
    empty = site.organiser.post(site.path, data={"name": "", "url": ""})
    private = site.organiser.post(site.path, data={"name": "Mine", "url": "https://169.254.169.254/meta"})
    for number in range(5):
        create(site.organiser, site.path, f"{receiver.url}?{number}")
    many = site.organiser.post(site.path, data={"name": "Mine", "url": receiver.url})

    assert (empty.status_code, "Fix 2 problems" in empty.text) == (422, True)
    assert (private.status_code, "must be a public address" in private.text) == (422, True)
    assert 'value="Mine"' in private.text
    assert (many.status_code, "at most 5 webhooks" in many.text) == (409, True)


def test_only_the_last_deliveries_are_kept(
    site: Site, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook_deliveries, "KEPT", 2)
    create(site.organiser, site.path, receiver.url)
    for number in range(4):
        site.announce(str(number))
    site.send_all()

    with site.platform.transaction() as session:
        kept = session.scalars(
            select(Event.details["announcement"].as_integer())
            .join(WebhookDelivery)
            .order_by(WebhookDelivery.id)
        ).all()
        announced = session.scalars(select(Announcement.id).order_by(Announcement.id)).all()
    assert kept == announced[-2:]


def test_a_message_that_cannot_be_written_does_not_hold_up_the_next(
    site: Site, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(site.organiser, site.path, receiver.url)
    site.announce("first")
    site.send_all()
    with site.platform.transaction() as session:
        events.record(session, EventKind.ANNOUNCEMENT, challenge_id=site.challenge_id, title="bad", path="/")

    def fails(*_: object, **__: object) -> NoReturn:
        raise RuntimeError

    with monkeypatch.context() as patched:
        patched.setattr(webhook_messages, "of_event", fails)
        do_all(site.platform)
        for _ in range(attempts.MAX_FAILURES):
            site.send_all()
    site.announce("good")
    site.send_all()

    assert [json.loads(each.body)["event"]["title"].split()[-1] for each in receiver.sent] == [
        "first",
        "good",
    ]
    assert [each.problem for each in site.deliveries()] == ["", "an error on our side", ""]
