"""Webhooks: addresses that are told of the events of a challenge, until the person who made it organises it no longer."""

import base64
import secrets
import uuid
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from app.core import audit
from app.core.access import Actor, require_challenge
from app.core.errors import ConflictError, FieldsError, NotFoundError
from app.core.names import Visible
from app.jobs import queue
from app.models import (
    Challenge,
    Event,
    Job,
    JobKind,
    User,
    Webhook,
    WebhookDelivery,
)
from app.notifications import calling
from app.notifications.calling import Allowed, checked_url
from app.notifications.kinds import KINDS
from app.notifications.webhook_deliveries import PREFIX_OF_SECRETS, path_of, queue_up, waits
from app.platform import Platform

MOST: Final = 5  # webhooks of a challenge
SHOWN: Final = 10  # deliveries of a webhook on its page


class NewWebhook(BaseModel):
    """The form of a webhook."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True)

    name: Annotated[str, Field(min_length=1, max_length=60, description="what it is for"), Visible]
    url: Annotated[str, Field(min_length=1, max_length=calling.LONGEST_URL)]


class DeliveryState(StrEnum):
    """Where a delivery is."""

    WAITING = "waiting"
    DELIVERED = "delivered"
    FAILED = "not delivered"  # a test that failed, or what waited when the webhook was turned off


@dataclass(frozen=True, slots=True)
class DeliveryView:
    """A delivery. seconds: that the last attempt took; status: of its answer, whose content nobody sees."""

    id: uuid.UUID
    title: str
    created_at: datetime
    state: DeliveryState
    attempts: int
    tried_at: datetime | None
    status: int | None
    seconds: float | None
    problem: str


@dataclass(frozen=True, slots=True)
class WebhookView:
    """A webhook without its secret. host: of its URL, whose path may be a secret of the receiver."""

    id: int
    name: str
    host: str
    made_by: str
    created_at: datetime
    failing_since: datetime | None
    off_at: datetime | None
    off_reason: str
    deliveries: tuple[DeliveryView, ...]


@dataclass(frozen=True, slots=True)
class WebhookPage:
    """The webhooks of a challenge."""

    challenge: str
    challenge_title: str
    webhooks: tuple[WebhookView, ...]


@dataclass(frozen=True, slots=True)
class NewSecret:
    """The secret of a webhook, which is shown once."""

    name: str
    secret: str


def new_secret() -> str:
    """Return a secret to sign deliveries with, in the form of the Standard Webhooks specification.

    >>> len(new_secret()), new_secret().startswith("whsec_")
    (50, True)
    """
    return PREFIX_OF_SECRETS + base64.b64encode(secrets.token_bytes(32)).decode()


def challenge_page(platform: Platform, actor: Actor, code: str) -> WebhookPage:
    """Return the webhooks of a challenge that the reader organises. Raises NotFoundError, ForbiddenError."""
    with platform.snapshot() as session:
        challenge = require_challenge(session, actor, code)
        return WebhookPage(code, challenge.title, _views(session, challenge.id))


def page_of(platform: Platform, actor: Actor, webhook_id: int) -> WebhookPage:
    """Return the page of a webhook that the reader may change. Raises NotFoundError."""
    with platform.transaction() as session:
        challenge = session.get_one(Challenge, _managed(session, actor, webhook_id).challenge_id)
    return challenge_page(platform, actor, challenge.code)


def _views(session: Session, challenge_id: int) -> tuple[WebhookView, ...]:
    statement = select(Webhook, User.name).outerjoin(User, Webhook.created_by == User.id)
    of_challenge = statement.where(Webhook.challenge_id == challenge_id).order_by(Webhook.id)
    return tuple(
        WebhookView(
            hook.id, hook.name, calling.host_of(hook.url), name or "", hook.created_at, hook.failing_since, hook.off_at,
            hook.off_reason, _deliveries(session, hook.id),
        )
        for hook, name in session.execute(of_challenge)
    )  # fmt: skip


def _deliveries(session: Session, webhook_id: int) -> tuple[DeliveryView, ...]:
    """Return the last deliveries of a webhook, newest first."""
    statement = (
        select(WebhookDelivery, Event.kind)
        .outerjoin(Event, WebhookDelivery.event_id == Event.id)
        .where(WebhookDelivery.webhook_id == webhook_id)
        .order_by(WebhookDelivery.id.desc())
        .limit(SHOWN)
    )
    return tuple(
        DeliveryView(
            row.public_id, KINDS[kind].title if kind else "Test", row.created_at, _state(row), row.attempts, row.tried_at,
            row.status, row.seconds, row.problem,
        )
        for row, kind in session.execute(statement)
    )  # fmt: skip


def _state(row: WebhookDelivery) -> DeliveryState:
    if row.ended_at is None:
        return DeliveryState.WAITING
    return DeliveryState.FAILED if row.problem else DeliveryState.DELIVERED


# changing them


def create(platform: Platform, actor: Actor, code: str, new: NewWebhook) -> NewSecret:
    """Create a webhook of a challenge that the reader organises.

    Raises NotFoundError, ForbiddenError, ConflictError if it has too many, MalformedError.
    """
    with platform.transaction() as session:
        challenge = require_challenge(session, actor, code, lock=True)
        url = _callable(new.url, Allowed.by(platform.settings))
        count = select(func.count()).where(Webhook.challenge_id == challenge.id)
        if (session.scalar(count) or 0) >= MOST:
            raise ConflictError(f"There can be at most {MOST} webhooks; delete one first")
        hook = Webhook(
            challenge_id=challenge.id,
            name=new.name,
            url=url,
            secret=new_secret(),
            created_by=actor.user_id,
        )
        session.add(hook)
        session.flush()
        _record(session, actor, "webhook.create", hook)
        return NewSecret(hook.name, hook.secret)


def _callable(url: str, allowed: Allowed) -> str:
    try:
        return checked_url(url, allowed)
    except ValueError as error:
        raise FieldsError({"url": str(error)}) from error


def _record(session: Session, actor: Actor, action: str, hook: Webhook) -> None:
    details = {"name": hook.name, "host": calling.host_of(hook.url)}
    audit.record(
        session, actor.user_id, action, f"webhook {hook.id}", challenge_id=hook.challenge_id, details=details
    )


def _managed(session: Session, actor: Actor, webhook_id: int) -> Webhook:
    """Return a webhook that the reader may change, locked. Raises NotFoundError."""
    hook = session.get(Webhook, webhook_id, with_for_update=True)
    if hook is not None and hook.challenge_id is not None and actor.organises_challenge(hook.challenge_id):
        return hook
    raise NotFoundError(f"there is no webhook {webhook_id}")


def delete_webhook(platform: Platform, actor: Actor, webhook_id: int) -> str:
    """Delete a webhook with what waits for it, and return the address of the page. Raises NotFoundError."""
    with platform.transaction() as session:
        hook = _managed(session, actor, webhook_id)
        path = path_of(session, hook)
        _record(session, actor, "webhook.delete", hook)
        session.delete(hook)
        return path


def rotate_secret(platform: Platform, actor: Actor, webhook_id: int) -> NewSecret:
    """Replace the secret of a webhook at once. Raises NotFoundError."""
    with platform.transaction() as session:
        hook = _managed(session, actor, webhook_id)
        hook.secret = new_secret()
        _record(session, actor, "webhook.rotate", hook)
        return NewSecret(hook.name, hook.secret)


def turn_on(platform: Platform, actor: Actor, webhook_id: int) -> str:
    """Turn a webhook on again, from now on as the reader's, and return the address of the page. Raises NotFoundError."""
    with platform.transaction() as session:
        hook = _managed(session, actor, webhook_id)
        if hook.off_at is not None:
            hook.off_at, hook.off_reason, hook.failing_since, hook.failures = None, "", None, 0
            hook.created_by = actor.user_id
            _record(session, actor, "webhook.turn-on", hook)
        return path_of(session, hook)


def send_test(platform: Platform, actor: Actor, webhook_id: int) -> str:
    """Send a test to a webhook, ahead of what waits for it, and return the address of the page.

    Raises NotFoundError, ConflictError while an earlier test waits.
    """
    its_job = (Job.kind == JobKind.WEBHOOK, Job.key == str(webhook_id), queue.is_waiting())
    with platform.transaction() as session:
        session.execute(update(Job).where(*its_job).values(not_before=None))  # locked before the webhook
        hook = _managed(session, actor, webhook_id)
        earlier = select(WebhookDelivery.id).where(
            WebhookDelivery.webhook_id == hook.id, WebhookDelivery.event_id.is_(None), waits()
        )
        if session.scalar(earlier.limit(1)) is not None:
            raise ConflictError("A test of this webhook waits already; its outcome is shown below it")
        session.add(WebhookDelivery(webhook_id=hook.id, event_key=uuid.uuid4()))
        queue_up(session, hook)
        return path_of(session, hook)
