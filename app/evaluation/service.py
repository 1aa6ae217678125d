"""Scoring runs: claim, score in a child process, record in one transaction; sweep up what was lost."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path

import structlog
from sqlalchemy import func
from sqlalchemy.exc import DataError, IntegrityError, SQLAlchemyError
from sqlalchemy.orm import Session
from structlog.contextvars import bound_contextvars

import scoring
from app import children, receipts
from app.editions import service as editions
from app.errors import StorageDamagedError, StorageUnavailableError
from app.evaluation import queries
from app.evaluation.rules import (
    FAILED_MESSAGE,
    LOST_MESSAGE,
    STOPPED_MESSAGE,
    idle_slots,
    pause_before_retry,
    pause_between_looks,
    state_after_crash,
    state_after_lost_lease,
)
from app.evaluation.schemas import Assignment, Claim, exhibits, score_rows
from app.ladder import service as ladder
from app.ladder.schemas import Comparison
from app.leaderboards import service as leaderboards
from app.leases import extended
from app.models import DamagedContent, Run, RunState, Service
from app.platform import Platform
from app.queue import Job
from app.sandbox import ChildFileError, ChildLimits, LimitExceededError, run_in_subprocess
from app.settings import Settings
from app.storage import Storage, is_intact
from app.workers import queries as workers

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Scored:
    """A report, and the key of the per-image statistics behind it."""

    report: scoring.Result
    statistics_key: str


@dataclass(frozen=True, slots=True)
class Refused:
    """The participant's archive cannot be scored; `message` says why."""

    message: str


Outcome = Scored | Refused


@dataclass(frozen=True, slots=True)
class Files:
    """What a child process opens: the last is written by it."""

    archive: Path
    truth: Path
    statistics: Path


def evaluate_next(platform: Platform) -> bool:
    """Score the next run of this scorer version; whether there was one.

    A run whose worker dies loses its lease and is put back by the sweep; a claim that was lost in the meantime writes
    nothing. Only a failure of the run's own counts against it.
    """
    with platform.transaction() as session:
        claim = queries.claim_next(session, platform.settings.lease, scoring.SCORER)
    if claim is None:
        return False
    with bound_contextvars(run=claim.run_id, attempt=claim.attempt):
        _evaluate(platform, claim)
    return True


def _evaluate(platform: Platform, claim: Claim) -> None:
    started = time.monotonic()
    try:
        with extended(partial(_extend, platform, claim), platform.settings.lease, f"run {claim.run_id}"):
            outcome = _score(platform, claim)
            while not _record(platform, claim, outcome, _comparison(platform, claim, outcome)):
                pass  # another result of the team was recorded meanwhile, and this one is compared with it
    except StorageDamagedError as error:
        log.warning("run waits for a repair", error=error.cause)
        _requeue_or_fail(platform, claim, partial(_wait_for_repair, key=error.key))
        return
    except Exception as error:
        if _is_infrastructure(error):
            log.warning("run postponed", error=str(error))
            _requeue_or_fail(platform, claim, _postpone)
        else:
            log.exception("run crashed")
            _requeue_or_fail(platform, claim, _after_crash)
        return
    log.info("run ended", seconds=round(time.monotonic() - started, 1))


def _is_infrastructure(error: Exception) -> bool:
    """Whether something was unavailable that every run needs: storage, ground truth, database."""
    if isinstance(error, (IntegrityError, DataError)):  # the database refused the values of this run
        return False
    return isinstance(error, (SQLAlchemyError, OSError, StorageUnavailableError, ChildFileError))


def _extend(platform: Platform, claim: Claim) -> bool:
    with platform.transaction() as session:
        return queries.extend(session, claim, platform.settings.lease)


def _score(platform: Platform, claim: Claim) -> Outcome:
    with platform.transaction() as session:
        assignment = queries.assignment_of(session, claim.run_id)
    log.info("run begun", submission=assignment.submission_id)
    with platform.truths.draft() as statistics:
        with (
            platform.archives.materialise(assignment.archive) as archive,
            platform.truths.materialise(assignment.truth) as truth,
        ):
            report = _report(platform, assignment, Files(archive, truth, statistics))
        if isinstance(report, Refused):
            return report
        return Scored(report, platform.truths.put(statistics))


def _report(platform: Platform, assignment: Assignment, files: Files) -> scoring.Result | Refused:
    archive_limits = editions.description_of(platform.descriptions, assignment.description).limits
    try:
        output = run_in_subprocess(
            _child_limits(platform.settings), children.score, files.archive, files.truth, assignment.competition,
            assignment.protocol, files.statistics, archive_limits,
        )  # fmt: skip
    except LimitExceededError as error:
        return Refused(f"{STOPPED_MESSAGE}{error}")
    if output.startswith(b"!"):
        return Refused(output[1:].decode())
    return scoring.Result.from_json(output.decode())


def _child_limits(settings: Settings) -> ChildLimits:
    return ChildLimits(seconds=settings.scoring_seconds, memory=settings.child_memory)


def _comparison(platform: Platform, claim: Claim, outcome: Outcome) -> Comparison | None:
    if isinstance(outcome, Refused):
        return None
    return ladder.compare(platform, claim.run_id, outcome.report, outcome.statistics_key)


def _record(platform: Platform, claim: Claim, outcome: Outcome, comparison: Comparison | None) -> bool:
    """Scores, exhibits and states in one transaction, if the claim still holds; False for an outdated comparison."""
    with platform.transaction() as session:
        run = queries.claimed_run(session, claim)
        if run is None:
            log.warning("claim lost")
            return True
        if comparison is not None and not ladder.climb(session, run, comparison):
            return False
        match outcome:
            case Refused(message):
                run.state, run.failure_message = RunState.REFUSED, message
            case Scored(report, key):
                if receipts.is_public(session, run.ground_truth_id):
                    run.plain_receipt = report.receipt
                run.state, run.statistics_key = RunState.SCORED, key
                run.measure, run.receipt = report.measure, platform.secret.receipt(report.receipt)
                session.add_all((*score_rows(run.id, report), *exhibits(run.id, report)))
        _finish(session, run)
    return True


def _finish(session: Session, run: Run) -> None:
    run.finished_at, run.lease_until = func.clock_timestamp(), None
    session.flush()
    leaderboards.record_result(session, run.entry_id, run.id)


def _requeue_or_fail(
    platform: Platform, claim: Claim, settle: Callable[[Session, Run, Settings], None]
) -> None:
    """Settle a run that was not scored; should the database be unavailable, its lease runs out."""
    try:
        with platform.transaction() as session:
            run = queries.claimed_run(session, claim)
            if run is not None:
                settle(session, run, platform.settings)
    except SQLAlchemyError as error:
        log.warning("run not requeued", error=str(error))


def _postpone(_session: Session, run: Run, settings: Settings) -> None:
    """Put a run back to the queue because something of ours is unavailable."""
    run.requeues += 1
    _queue_again(run, settings, retries=run.requeues)


def _wait_for_repair(session: Session, run: Run, settings: Settings, *, key: str) -> None:
    """Put a run back to the queue that nobody claims until a damaged content is repaired."""
    _postpone(session, run, settings)
    run.damaged_content_id = queries.damaged_content(session, key)
    if run.damaged_content_id is not None:
        run.not_before = None


def _after_crash(session: Session, run: Run, settings: Settings) -> None:
    """Put a run back to the queue whose scoring crashed, or fail it after too many crashes."""
    run.crashes += 1
    if state_after_crash(run.crashes, settings.attempts) is RunState.QUEUED:
        _queue_again(run, settings, retries=run.crashes)
        return
    _fail(session, run, FAILED_MESSAGE.format(crashes=run.crashes))


def _after_lost_lease(session: Session, run: Run, settings: Settings) -> None:
    """Put a run back to the queue whose worker was lost, or fail it: it may be the run that kills its workers."""
    run.lost_leases += 1
    if state_after_lost_lease(run.lost_leases) is RunState.QUEUED:
        _queue_again(run, settings, retries=run.lost_leases)
        return
    _fail(session, run, LOST_MESSAGE.format(losses=run.lost_leases))


def _fail(session: Session, run: Run, message: str) -> None:
    run.state, run.failure_message = RunState.FAILED, message
    _finish(session, run)


def _queue_again(run: Run, settings: Settings, *, retries: int) -> None:
    run.state, run.lease_until = RunState.QUEUED, None
    run.not_before = func.clock_timestamp() + pause_before_retry(retries, settings.first_pause)


def has_its_stores(platform: Platform) -> bool:
    """Whether every store of this process can be written to and read."""
    try:
        for store in platform.stores:
            store.check()
    except StorageUnavailableError as error:
        log.warning("store away", error=error.cause)
        return False
    return True


def end_pauses(platform: Platform) -> None:
    """Let runs be scored at once that wait because something of ours was away; the next sweep wakes workers."""
    with platform.transaction() as session:
        log.info("stores back", runs=queries.end_pauses(session))


def sweep(platform: Platform) -> None:
    """Put lost runs back to the queue or fail them, and wake workers that have nothing to do though runs are due."""
    with platform.transaction() as session:
        for run in queries.lost_runs(session, platform.settings.lease):
            log.warning("run lost", run=run.id, attempt=run.attempt)
            _after_lost_lease(session, run, platform.settings)
        idle = idle_slots(workers.slots_by_scorer(session), queries.count_running(session))
        due = {scorer: queries.count_due(session, scorer, most) for scorer, most in idle.items()}
    for scorer, count in due.items():
        platform.notifier.wake_workers(Job.EVALUATE, count=count, scorer=scorer)


def look_at_damaged(platform: Platform) -> None:
    """Look every ten minutes whether damaged contents have been repaired; runs that wait for one go on once it has.

    Every sweeper looks, also without the turn: not all of them know the store of ground truth.
    """
    every, stores = pause_between_looks(platform.settings.first_pause), platform.stores_by_name
    with platform.transaction() as session:
        damaged = queries.claim_damaged(session, stores, every)
    for each in damaged:
        if _is_repaired(platform, stores[each.store], each):
            with platform.transaction() as session:
                queries.forget_damaged(session, each.id)
            log.info("stored content repaired", store=each.store, key=each.key)


def _is_repaired(platform: Platform, store: Storage, damaged: DamagedContent) -> bool:
    """Whether a content is intact, or was removed and nothing waits for it."""
    try:
        if store.exists(damaged.key):
            return is_intact(store, damaged.key)
    except StorageUnavailableError:
        return False
    with platform.transaction() as session:
        return not queries.is_awaited(session, damaged.id)


def take_turn(platform: Platform) -> bool:
    """Whether this process is the one to sweep now; if so, nobody else does before the next sweep is due."""
    every = timedelta(seconds=0.9 * platform.settings.sweep_seconds)
    with platform.transaction() as session:
        return workers.take_turn(session, every)


def record_sweep(platform: Platform) -> None:
    """Note that a sweep is complete."""
    with platform.transaction() as session:
        workers.record_sweep(session)


def report_worker(platform: Platform, name: str, slots: int) -> None:
    """Note that a worker of this scorer version is alive."""
    with platform.transaction() as session:
        workers.write_heartbeat(session, name, Service.WORKER, scorer=scoring.SCORER, slots=slots)


def forget_worker(platform: Platform, name: str) -> None:
    """Note that a worker has ended."""
    with platform.transaction() as session:
        workers.delete_heartbeat(session, name)
