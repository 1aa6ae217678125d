"""Doing jobs: claim, work, complete; interrupted jobs are done again."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

import structlog
from sqlalchemy import func
from sqlalchemy.exc import DataError, IntegrityError, SQLAlchemyError
from sqlalchemy.orm import Session
from structlog.contextvars import bound_contextvars

import heldout_scoring
from app.core.access import Actor
from app.core.errors import NotFoundError, StorageDamagedError, StorageUnavailableError
from app.core.settings import Settings
from app.jobs import heartbeats, queue
from app.jobs.queue import Claim, pause_before_retry, repair_check_interval
from app.jobs.sandbox import ChildFileError
from app.models import AuditRecord, DamagedContent, Job, JobKind, Queue
from app.platform import Platform
from app.storage import Storage, is_intact

log = structlog.get_logger()

MAX_FAILURES = 5
MAX_LOST_LEASES = 10  # takes over an hour with the pauses in between, so a short outage is not enough
MAX_WOKEN = 10  # workers woken per sweep for each queue other than that of runs
LONGEST_ERROR = 500  # characters
OF_ANNOTATION = (
    JobKind.RUN,
    JobKind.INTAKE,
    JobKind.INTAKE_PICTURES,
    JobKind.TRIALS,
    JobKind.TRUTH_COPY,
    JobKind.VERSION_DIFF,
    JobKind.DRAWN_DIFF,
    JobKind.LABEL_SCENE,
    JobKind.LABEL_PREVIEW,
)  # whose errors may quote it


def _do_nothing(_session: Session, _job: Claim | Job) -> None:
    pass


def mark_dead(_session: Session, job: Job) -> None:
    """Keep a job that was given up, for admins to see."""
    log.error("job given up", job=job.id, kind=job.kind.value, error=job.error)
    job.dead_at = func.clock_timestamp()


@dataclass(frozen=True, slots=True)
class Handler:
    """How jobs of a kind are done; the callbacks other than `work` run in the transaction that changes the job.

    If a process dies, another one does the job again, so `work` must be idempotent. It may complete the job itself, in the
    transaction that writes its result. failures: how many of its own failures a job may have before it is given up; None for
    the setting; on_retry: the job may have to wait for a repair first.
    """

    work: Callable[[Platform, Claim], None]
    failures: int | None = MAX_FAILURES
    on_claim: Callable[[Session, Claim], None] = _do_nothing
    on_retry: Callable[[Session, Job], None] = _do_nothing
    on_give_up: Callable[[Session, Job], None] = mark_dead


Handlers = Mapping[JobKind, Handler]


def do_next(platform: Platform, which: Queue, handlers: Handlers) -> bool:
    """Do the next due job of a queue; return whether there was one.

    A job waits out any outage of storage or database; only its own failures count against it.
    """
    scorer = heldout_scoring.SCORER if which is Queue.RUNS else ""
    with platform.transaction() as session:
        if which is Queue.ORGANISING and not queue.may_organise(session, heldout_scoring.SCORER):
            return False
        claim = queue.claim_next(session, which, platform.settings.lease, scorer)
        if claim is None:
            return False
        handler = handlers[claim.kind]
        handler.on_claim(session, claim)
    about = {"job": claim.id, "kind": claim.kind.value, "attempt": claim.attempt}
    with bound_contextvars(**about, **({"run": claim.run_id} if claim.run_id else {})):
        _do(platform, claim, handler)
    return True


def _do(platform: Platform, claim: Claim, handler: Handler) -> None:
    started = time.monotonic()
    try:
        with _extended(platform, claim):
            handler.work(platform, claim)
        with platform.transaction() as session:
            queue.complete(session, claim)
    except StorageDamagedError as error:
        log.warning("job waits for a repair", error=error.cause)
        _record_failure(platform, claim, handler, partial(_wait_for_repair, error=error))
    except Exception as error:
        if _is_infrastructure(error):
            log.warning("job postponed", error=str(error))
            _record_failure(platform, claim, handler, partial(_wait, error=error))
        else:
            log.exception("job failed")
            _record_failure(platform, claim, handler, partial(_fail, error=error))
    else:
        log.info("job ended", seconds=round(time.monotonic() - started, 3))


def _is_infrastructure(error: Exception) -> bool:
    """Whether the error is an outage of something that all jobs need: storage, ground truth, database."""
    if isinstance(error, (IntegrityError, DataError)):  # the database refused the values of this job
        return False
    return isinstance(error, (SQLAlchemyError, OSError, StorageUnavailableError, ChildFileError))


@contextmanager
def _extended(platform: Platform, claim: Claim) -> Iterator[None]:
    """Extend the lease from a thread while the block runs, three times per lease, until the claim is lost."""
    done, lease = threading.Event(), platform.settings.lease

    def send_heartbeats() -> None:
        while not done.wait(lease.total_seconds() / 3):
            try:
                with platform.transaction() as session:
                    if not queue.extend(session, claim, lease):
                        return
            except SQLAlchemyError:
                log.warning("heartbeat failed", of=claim.id)

    thread = threading.Thread(target=send_heartbeats, name=f"heartbeat of job {claim.id}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


RecordFailure = Callable[[Session, Job, Handler, Settings], None]


def _record_failure(platform: Platform, claim: Claim, handler: Handler, record: RecordFailure) -> None:
    """Call `record` with the locked job; without a database nothing is recorded, and the lease expires."""
    try:
        with platform.transaction() as session:
            job = queue.lock_claimed(session, claim)
            if job is not None:
                record(session, job, handler, platform.settings)
    except SQLAlchemyError as error:
        log.warning("failure not recorded", error=str(error))


def _error_text(job: Job, error: Exception) -> str:
    """The text of an error for admins; only its type where the message may reveal hidden annotation."""
    if job.kind in OF_ANNOTATION:
        return type(error).__name__
    cause = error.cause if isinstance(error, StorageUnavailableError) else error
    return f"{type(error).__name__}: {cause}"[:LONGEST_ERROR]


def _wait(session: Session, job: Job, handler: Handler, settings: Settings, *, error: Exception) -> None:
    """Queue a job again because of an outage."""
    job.postponements += 1
    _queue_again(session, job, handler, settings, job.postponements, _error_text(job, error))


def _wait_for_repair(
    session: Session, job: Job, handler: Handler, settings: Settings, *, error: StorageDamagedError
) -> None:
    """Queue a job again, to be claimed only after damaged content is repaired."""
    job.damaged_content_id = queue.damaged_content(session, error.key)
    _wait(session, job, handler, settings, error=error)
    if job.damaged_content_id is not None:
        job.not_before = None
    else:
        job.not_before = func.clock_timestamp() + repair_check_interval(settings.first_pause)


def _fail(session: Session, job: Job, handler: Handler, settings: Settings, *, error: Exception) -> None:
    """Queue a failed job again, or give it up after too many failures."""
    job.failures += 1
    most = settings.attempts if handler.failures is None else handler.failures
    if job.failures < most:
        _queue_again(session, job, handler, settings, job.failures, _error_text(job, error))
    else:
        _give_up(session, job, handler, _error_text(job, error))


def _lose(session: Session, job: Job, handler: Handler, settings: Settings) -> None:
    """Queue a job again whose worker was lost, or give it up after too many losses, because it may be the cause."""
    job.lost_leases += 1
    error = "the worker was lost"
    if job.lost_leases < MAX_LOST_LEASES:
        _queue_again(session, job, handler, settings, job.lost_leases, error)
    else:
        _give_up(session, job, handler, error)


def _queue_again(
    session: Session, job: Job, handler: Handler, settings: Settings, retries: int, error: str
) -> None:
    queue.postpone(job, pause_before_retry(retries, settings.first_pause), error)
    handler.on_retry(session, job)


def _give_up(session: Session, job: Job, handler: Handler, error: str) -> None:
    job.lease_until, job.error = None, error
    handler.on_give_up(session, job)


def recover_lost_jobs(platform: Platform, handlers: Handlers) -> None:
    """Queue lost jobs again or give them up, and wake idle workers if jobs are due."""
    with platform.transaction() as session:
        for job in queue.lost_jobs(session, platform.settings.lease):
            log.warning("job lost", job=job.id, kind=job.kind.value, run=job.run_id, attempt=job.attempt)
            _lose(session, job, handlers[job.kind], platform.settings)
        idle = heartbeats.idle_slots(heartbeats.slots_by_scorer(session), queue.count_claimed(session))
        due = {scorer: queue.count_due(session, Queue.RUNS, most, scorer) for scorer, most in idle.items()}
        of_workers = (Queue.ORGANISING, Queue.FOLLOW_UPS)
        others = [queue.count_due(session, each, MAX_WOKEN) for each in of_workers]
    for scorer, count in due.items():
        platform.notifier.wake_workers(count=count, scorer=scorer)
    platform.notifier.wake_workers(count=sum(others))


def retry(platform: Platform, job_id: int) -> None:
    """Retry a job that was given up. Raises NotFoundError if there is no such job."""
    with platform.transaction() as session:
        if not queue.revive(session, job_id):
            raise NotFoundError(f"no job {job_id} was given up")
    platform.notifier.wake_workers()


def discard(platform: Platform, actor: Actor, job_id: int) -> None:
    """Delete a job that was given up. Raises NotFoundError if there is no such job."""
    with platform.transaction() as session:
        if not queue.discard(session, job_id):
            raise NotFoundError(f"no job {job_id} was given up")
        session.add(AuditRecord(user_id=actor.user_id, action="job.discard", subject=f"job {job_id}"))


# what jobs wait for


def stores_available(platform: Platform) -> bool:
    """Whether every store of this process can be written to and read."""
    try:
        for store in platform.stores:
            store.check()
    except StorageUnavailableError as error:
        log.warning("store unavailable", error=error.cause)
        return False
    return True


def end_pauses(platform: Platform) -> None:
    """End the pauses of jobs that were postponed because of an outage; the next sweep wakes workers."""
    with platform.transaction() as session:
        log.info("stores available again", jobs=queue.end_pauses(session))


def check_damaged(platform: Platform, every: timedelta | None = None) -> int:
    """Check whether damaged contents have been repaired, and release the jobs that wait for them; return how many were.

    every: leave out those that were checked within this time, by default ten minutes. Every sweeper does this, even if it is
    another one's turn to sweep: not all of them have the store of ground truth.
    """
    if every is None:
        every = repair_check_interval(platform.settings.first_pause)
    stores, repaired = platform.stores_by_name, 0
    with platform.transaction() as session:
        damaged = queue.claim_damaged(session, stores, every)
    for each in damaged:
        if _is_repaired(platform, stores[each.store], each):
            with platform.transaction() as session:
                queue.forget_damaged(session, each.id)
            repaired += 1
            log.info("stored content repaired", store=each.store, key=each.key)
    return repaired


def _is_repaired(platform: Platform, store: Storage, damaged: DamagedContent) -> bool:
    """Whether the content is intact, or was removed and no job waits for it."""
    try:
        if store.exists(damaged.key):
            return is_intact(store, damaged.key)
    except StorageUnavailableError:
        return False
    with platform.transaction() as session:
        return not queue.is_awaited(session, damaged.id)


def on_payload(work: Callable[[Platform, Mapping[str, Any]], None]) -> Handler:
    """Return a handler for jobs whose work depends only on their payload."""
    return Handler(lambda platform, claim: work(platform, claim.payload))
