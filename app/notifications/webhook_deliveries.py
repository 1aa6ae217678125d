"""Deliveries of webhooks: each event is sent until the receiver has confirmed it, one after the other.

A webhook has at most one job, which sends the next delivery and stays until none waits. So events arrive in their order, and
a receiver that does not answer holds up nobody but itself.
"""

import base64
import hashlib
import hmac
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import structlog
from sqlalchemy import ColumnElement, delete, func, select, true, update
from sqlalchemy.orm import Session

from app.challenges import challenges
from app.jobs import attempts, events, queue
from app.jobs.attempts import Handler
from app.jobs.queue import Claim, pause_before_retry
from app.models import (
    Challenge,
    ChallengeOrganiser,
    ChallengeRole,
    Event,
    EventKind,
    Job,
    JobKind,
    Role,
    Team,
    User,
    Webhook,
    WebhookDelivery,
)
from app.notifications import calling, webhook_messages
from app.notifications.calling import Allowed, CallOutcome
from app.notifications.kinds import KINDS, Recipients
from app.notifications.webhook_messages import Message
from app.people import sessions
from app.platform import Platform

log = structlog.get_logger()

OFF_AFTER: Final = timedelta(days=3)  # of failures
PER_MINUTE: Final = 30  # deliveries of a webhook
QUICK: Final = 0.25  # seconds in which a receiver answers that gets the next delivery at once
PACE: Final = timedelta(seconds=2)  # between two deliveries to others
KEPT: Final = 100  # deliveries of a webhook that ended
PREFIX_OF_SECRETS: Final = "whsec_"
NO_TEAMS: Final = "this server has webhooks of challenges only, and none of teams any more"


def signed_headers(secret: str, delivery: uuid.UUID, timestamp: int, body: bytes) -> dict[str, str]:
    """Return the headers by which a receiver recognises a delivery, as Standard Webhooks says.

    >>> signed_headers("whsec_AAAA", uuid.UUID(int=7), 1_800_000_000, b"{}")["webhook-signature"]
    'v1,oeYv2qmthi/nTDsXJEFU2cfw45StO2Rhdg6cFwW5uqc='
    """
    key = base64.b64decode(secret.removeprefix(PREFIX_OF_SECRETS))
    signed = hmac.digest(key, f"{delivery}.{timestamp}.".encode() + body, hashlib.sha256)
    return {
        "webhook-id": str(delivery),
        "webhook-timestamp": str(timestamp),
        "webhook-signature": f"v1,{base64.b64encode(signed).decode()}",
        "content-type": "application/json",
        "user-agent": "heldout-webhook",
    }


def path_of(session: Session, hook: Webhook) -> str:
    """Return the address of the page of a webhook; of one that a team had, of the team."""
    if hook.team_id is not None:
        return f"/teams/{hook.team_id}"
    return f"/organise/challenges/{session.get_one(Challenge, hook.challenge_id).code}/webhooks"


def waits() -> ColumnElement[bool]:
    """The condition for deliveries that have not ended."""
    return WebhookDelivery.ended_at.is_(None)


def plan(session: Session, told: Sequence[Event]) -> None:
    """Add a delivery for each webhook that is told of an event, in the transaction that dispatches these."""
    concerned = Webhook.challenge_id.in_({event.challenge_id for event in told})
    statement = select(Webhook).where(Webhook.off_at.is_(None), concerned).order_by(Webhook.id)
    hooks = session.scalars(statement.with_for_update()).all()
    for event in told:
        key = uuid.uuid4()
        for hook in hooks:
            if is_told(event, hook):
                session.add(WebhookDelivery(webhook_id=hook.id, event_id=event.id, event_key=key))
                queue_up(session, hook)


def is_told(event: Event, hook: Webhook) -> bool:
    """Return whether a webhook is told of an event: of those of its challenge that everybody in it or its organisers are told of."""
    recipients = KINDS[event.kind].recipients
    return (
        event.user_id is None
        and event.challenge_id == hook.challenge_id
        and recipients in {Recipients.TEAMS, Recipients.ORGANISERS}
    )


def queue_up(session: Session, hook: Webhook) -> None:
    """Add the job that sends what waits for a locked webhook, unless it has one."""
    if not hook.is_queued:
        hook.is_queued = True
        owner = f"challenge {hook.challenge_id}"
        queue.add(session, JobKind.WEBHOOK, {"webhook": hook.id}, owner=owner, key=str(hook.id))


# sending


@dataclass(frozen=True, slots=True)
class _Sending:
    """A delivery that is about to be sent. event: None for a test."""

    row: WebhookDelivery
    event: Event | None
    hook: Webhook
    path: str


def _work(platform: Platform, claim: Claim) -> None:
    """Send the next delivery of a webhook.

    If the process dies before the outcome is recorded, the same delivery is sent again, with the same id.
    """
    with platform.transaction() as session:
        sending = _next(session, claim)
    if sending is None:
        return
    hook, delivery = sending.hook, sending.row.public_id
    body = _message(platform, sending).to_json()
    headers = signed_headers(hook.secret, delivery, int(time.time()), body)
    outcome = calling.post(hook.url, body, headers, Allowed.by(platform.settings))
    log.info(
        "webhook called",
        webhook=hook.id,
        delivery=str(delivery),
        status=outcome.status,
        problem=outcome.problem,
    )
    with platform.transaction() as session:
        _record_outcome(platform, session, claim, sending.row.id, outcome)


def _locked(session: Session, claim: Claim) -> tuple[Job, Webhook] | None:
    """Lock a claimed job and its webhook; None if the claim was lost or the webhook deleted."""
    job = queue.lock_claimed(session, claim)
    hook = session.get(Webhook, int(claim.payload["webhook"]), with_for_update=True)
    return (job, hook) if job is not None and hook is not None else None


def _first_waiting(session: Session, hook: Webhook) -> WebhookDelivery | None:
    """Return the next delivery of a webhook: a test, else the oldest event; nothing but tests if it is off."""
    is_test = WebhookDelivery.event_id.is_(None)
    statement = (
        select(WebhookDelivery)
        .where(WebhookDelivery.webhook_id == hook.id, waits(), is_test if hook.off_at else true())
        .order_by(is_test.desc(), WebhookDelivery.id)
        .limit(1)
    )
    return session.scalar(statement)


def _next(session: Session, claim: Claim) -> _Sending | None:
    """Return what to send now; None if there is nothing, and then the job is done."""
    found = _locked(session, claim)
    if found is None:
        return None
    job, hook = found
    row = _first_waiting(session, hook)
    if row is not None and row.event_id is not None and (reason := _reason_to_end(session, hook)):
        _turn_off(session, hook, reason)
        row = _first_waiting(session, hook)
    if row is None:
        _finish(session, job, hook)
        return None
    event = session.get(Event, row.event_id) if row.event_id else None
    return _Sending(row, event, hook, path_of(session, hook))


def _reason_to_end(session: Session, hook: Webhook) -> str:
    """Return why nothing is sent to a webhook any more, although it is on; empty if there is no reason."""
    if hook.challenge_id is None:
        return NO_TEAMS
    author = sessions.actor_of(session, hook.created_by)
    is_organiser = author is not None and author.organises_challenge(hook.challenge_id)
    return "" if is_organiser else "the person who made it is no longer an organiser"


def _message(platform: Platform, sending: _Sending) -> Message:
    row = sending.row
    if sending.event is None:
        return webhook_messages.of_test(
            row.public_id, row.event_key, platform.settings.address + sending.path
        )
    return webhook_messages.of_event(platform, sending.event, row.public_id, row.event_key)


def _record_outcome(
    platform: Platform, session: Session, claim: Claim, delivery_id: int, outcome: CallOutcome
) -> None:
    """Record the outcome of a delivery if the claim still holds, and when to send what is next."""
    found = _locked(session, claim)
    if found is None:
        log.warning("outcome of a delivery not recorded", delivery=delivery_id)
        return
    job, hook = found
    job.turn += 1  # others come first
    row = session.get(WebhookDelivery, delivery_id)
    if row is not None:
        _note_attempt(session, hook, row, outcome)
    _forget_old(session, hook)
    if _first_waiting(session, hook) is None:
        _finish(session, job, hook)
    elif hook.failures:
        queue.postpone(job, pause_before_retry(hook.failures, platform.settings.first_pause), outcome.problem)
    else:
        is_quick = outcome.seconds < QUICK and _in_last_minute(session, hook) < PER_MINUTE
        queue.postpone(job, timedelta(0) if is_quick else PACE, outcome.problem)


def _in_last_minute(session: Session, hook: Webhook) -> int:
    is_recent = WebhookDelivery.tried_at > func.clock_timestamp() - timedelta(minutes=1)
    recent = select(func.count()).where(WebhookDelivery.webhook_id == hook.id, is_recent)
    return session.scalar(recent) or 0


def _note_attempt(session: Session, hook: Webhook, row: WebhookDelivery, outcome: CallOutcome) -> None:
    """Record an attempt at a delivery. A test is sent once, and its failure says nothing about events."""
    now, is_test = challenges.now(session), row.event_id is None
    row.attempts, row.tried_at = row.attempts + 1, now
    row.status, row.seconds, row.problem = outcome.status, outcome.seconds, outcome.problem
    if not outcome.problem or is_test:
        row.ended_at = now
    if not outcome.problem:
        hook.failures, hook.failing_since = 0, None
    elif not is_test:
        hook.failures, hook.failing_since = hook.failures + 1, hook.failing_since or now
        if now - hook.failing_since >= OFF_AFTER:
            _turn_off(session, hook, f"nothing was delivered for {OFF_AFTER.days} days")
    session.flush()


def _finish(session: Session, job: Job, hook: Webhook) -> None:
    hook.is_queued = False
    session.delete(job)


def _turn_off(session: Session, hook: Webhook, reason: str) -> None:
    """Turn a webhook off, drop what waits for it, and tell its team, or the organisers of its challenge."""
    now = challenges.now(session)
    hook.off_at, hook.off_reason = now, reason
    is_event = WebhookDelivery.event_id.is_not(None)
    waiting = update(WebhookDelivery).where(WebhookDelivery.webhook_id == hook.id, is_event, waits())
    session.execute(waiting.values(ended_at=now, problem="the webhook was turned off"))
    details: dict[str, Any] = {"path": path_of(session, hook), "title": f"{hook.name}, because {reason}"}
    if hook.team_id is not None:
        challenge_id = session.get_one(Team, hook.team_id).challenge_id
        events.record(session, EventKind.HOOK_OFF, challenge_id=challenge_id, team_id=hook.team_id, **details)
        return
    for user_id in _organisers(session, hook.challenge_id):
        events.record(session, EventKind.HOOK_OFF, challenge_id=hook.challenge_id, user_id=user_id, **details)


def turn_off_those_of_teams(platform: Platform) -> None:
    """Turn off the webhooks of teams, which processes of the release before can still turn on, and tell these teams."""
    of_teams = select(Webhook).where(Webhook.challenge_id.is_(None), Webhook.off_at.is_(None))
    with platform.transaction() as session:
        for hook in session.scalars(of_teams.order_by(Webhook.id).with_for_update()):
            _turn_off(session, hook, NO_TEAMS)


def _organisers(session: Session, challenge_id: int | None) -> Sequence[int]:
    """Return the people who organise a challenge; if nobody does, the admins."""
    organise = (
        ChallengeOrganiser.challenge_id == challenge_id,
        ChallengeOrganiser.role != ChallengeRole.VIEWER,
    )
    admins = select(User.id).where(User.role == Role.ADMIN)
    return (
        session.scalars(select(ChallengeOrganiser.user_id).where(*organise)).all()
        or session.scalars(admins).all()
    )


def _forget_old(session: Session, hook: Webhook) -> None:
    """Delete all but the last deliveries of a webhook that ended."""
    ended = select(WebhookDelivery.id).where(WebhookDelivery.webhook_id == hook.id, ~waits())
    old = ended.order_by(WebhookDelivery.id.desc()).offset(KEPT)
    session.execute(delete(WebhookDelivery).where(WebhookDelivery.id.in_(old)))


def _give_up(session: Session, job: Job) -> None:
    """Keep a job that was given up for admins to see; a delivery that we cannot write is dropped, and the next ones are sent."""
    attempts.mark_dead(session, job)
    hook = session.get(Webhook, int(job.payload["webhook"]), with_for_update=True)
    if hook is None:
        return
    if job.failures and (row := _first_waiting(session, hook)):
        row.ended_at, row.problem = func.clock_timestamp(), "an error on our side"
        session.flush()
    hook.is_queued = False
    if _first_waiting(session, hook):
        queue_up(session, hook)


HANDLER: Final = Handler(_work, on_give_up=_give_up)
