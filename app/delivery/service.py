"""Delivering messages: claim, handle, mark; what is interrupted in between is delivered again."""

import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from typing import Any

import structlog
from sqlalchemy.exc import OperationalError, SQLAlchemyError

from app.access import Actor
from app.analyses import service as analyses
from app.board_figures import service as board_figures
from app.delivery import queries
from app.delivery.schemas import Delivery
from app.errors import NotFoundError, StorageDamagedError, StorageUnavailableError
from app.evaluation.rules import pause_before_retry, pause_between_looks
from app.intervals import service as intervals
from app.leases import extended
from app.mail import service as mail
from app.models import AuditRecord, Topic
from app.overlays import service as overlays
from app.pictures import service as pictures
from app.platform import Platform
from app.queue import Job
from app.sandbox import ChildFileError
from app.similarity import service as similarity

log = structlog.get_logger()

MAX_ATTEMPTS = 5
RETRIES_WHILE_AWAY = 2  # while something of ours is away, a message waits as long as before its second retry
MAX_NOTIFICATIONS = 10  # of one sweep
KEPT = timedelta(days=7)  # how long delivered messages can be looked at
LONGEST_ERROR = 500  # characters

# what every message needs: its own failures alone count against it
UNAVAILABLE = (StorageUnavailableError, ChildFileError, OperationalError)

Handler = Callable[[Platform, Mapping[str, Any]], None]

MAIL: Mapping[Topic, Handler] = {Topic.MAIL: mail.deliver}
FOLLOW_UPS: Mapping[Topic, Handler] = {
    Topic.BOARD: board_figures.refresh,
    Topic.INTERVALS: intervals.compute,
    Topic.ANALYSIS: analyses.compute,
    Topic.SIMILARITY: similarity.compare,
    Topic.OVERLAYS: overlays.draw_next,
    Topic.PICTURES: pictures.make_next,
}
HANDLERS: Mapping[Topic, Handler] = {**MAIL, **FOLLOW_UPS}
JOBS: Mapping[Job, Mapping[Topic, Handler]] = {Job.MAIL: MAIL, Job.DELIVER: FOLLOW_UPS}


def deliver_next(platform: Platform, handlers: Mapping[Topic, Handler] = HANDLERS) -> bool:
    """Deliver the next message that is due and has a handler here; whether there was one.

    A process that dies in between leaves the message to the next one when its lease runs out, so handlers must
    give the same result twice. One whose delivery kills the process each time is given up like one that fails; one that finds
    storage or database away waits, however long that lasts.
    """
    lease = platform.settings.lease
    with platform.transaction() as session:
        delivery = queries.claim_next(session, lease, handlers)
    if delivery is None:
        return False
    if delivery.attempt > MAX_ATTEMPTS:
        _give_up(platform, delivery, "the process that delivered it died each time")
        return True
    begun, first = time.monotonic(), platform.settings.first_pause
    try:
        with extended(partial(_extend, platform, delivery), lease, f"message {delivery.id}"):
            handlers[delivery.topic](platform, delivery.payload)
    except StorageDamagedError as error:
        _postpone(platform, delivery, pause_between_looks(first), _words_of(error), counts=False)
    except UNAVAILABLE as error:
        pause = pause_before_retry(RETRIES_WHILE_AWAY, first)
        _postpone(platform, delivery, pause, _words_of(error), counts=False)
    except Exception as error:  # noqa: BLE001 - whatever a handler raises, other messages go on
        _fail(platform, delivery, _words_of(error))
    else:
        with platform.transaction() as session:
            queries.mark_delivered(session, delivery)
        seconds = round(time.monotonic() - begun, 3)
        log.info("delivered", message=delivery.id, topic=delivery.topic, seconds=seconds)
    return True


def _extend(platform: Platform, delivery: Delivery) -> bool:
    with platform.transaction() as session:
        return queries.extend(session, delivery, platform.settings.lease)


def _words_of(error: Exception) -> str:
    cause = error.cause if isinstance(error, StorageUnavailableError) else error
    return f"{type(error).__name__}: {cause}"[:LONGEST_ERROR]


def _fail(platform: Platform, delivery: Delivery, error: str) -> None:
    log.warning("delivery failed", message=delivery.id, attempt=delivery.attempt, error=error)
    if delivery.attempt >= MAX_ATTEMPTS:
        _give_up(platform, delivery, error)
    else:
        pause = pause_before_retry(delivery.attempt, platform.settings.first_pause)
        _postpone(platform, delivery, pause, error, counts=True)


def _postpone(platform: Platform, delivery: Delivery, pause: timedelta, error: str, *, counts: bool) -> None:
    """Have a message delivered later; `counts`: one of its attempts is over."""
    if not counts:
        log.warning("delivery postponed", message=delivery.id, error=error)
    try:
        with platform.transaction() as session:
            queries.postpone(session, delivery, pause, error, counts=counts)
    except SQLAlchemyError:
        log.warning("delivery not postponed; its lease will run out", message=delivery.id)


def _give_up(platform: Platform, delivery: Delivery, error: str) -> None:
    log.error("delivery given up", message=delivery.id, topic=delivery.topic, error=error)
    with platform.transaction() as session:
        queries.give_up(session, delivery, error)


def sweep(platform: Platform) -> None:
    """Wake workers for messages that are due, and forget those that were delivered long ago."""
    with platform.transaction() as session:
        due = {job: queries.count_due(session, handlers, MAX_NOTIFICATIONS) for job, handlers in JOBS.items()}
        queries.forget_delivered(session, KEPT)
    for job, count in due.items():
        platform.notifier.wake_workers(job, count=count)


def retry(platform: Platform, message_id: int) -> None:
    """Deliver a message again that was given up. Raises NotFoundError."""
    with platform.transaction() as session:
        if not queries.revive(session, message_id):
            raise NotFoundError(f"no message {message_id} was given up")
    for job in JOBS:
        platform.notifier.wake_workers(job)


def discard(platform: Platform, actor: Actor, message_id: int) -> None:
    """Delete a message that was given up. Raises NotFoundError."""
    with platform.transaction() as session:
        if not queries.discard(session, message_id):
            raise NotFoundError(f"no message {message_id} was given up")
        record = AuditRecord(user_id=actor.user_id, action="outbox.discard", subject=f"message {message_id}")
        session.add(record)
