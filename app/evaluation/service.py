"""Scoring runs: score in a child process, record in one transaction."""

import uuid
from dataclasses import dataclass
from pathlib import Path

import structlog
from sqlalchemy import func
from sqlalchemy.orm import Session

import scoring
from app import children, receipts
from app.editions import service as editions
from app.evaluation import queries
from app.evaluation.rules import FAILED_MESSAGE, LOST_MESSAGE, STOPPED_MESSAGE
from app.evaluation.schemas import Assignment, exhibits, score_rows
from app.jobs import queue
from app.jobs.queue import Claim
from app.jobs.working import MAX_LOST_LEASES, Handler
from app.ladder import service as ladder
from app.ladder.schemas import Comparison
from app.leaderboards import service as leaderboards
from app.models import Job, Queue, Run, RunState
from app.platform import Platform
from app.sandbox import ChildLimits, LimitExceededError, run_in_subprocess
from app.settings import Settings

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


def _work(platform: Platform, claim: Claim) -> None:
    """Score a run of this scorer version; a claim that was lost in the meantime writes nothing."""
    outcome = _score(platform, claim)
    while not _record(platform, claim, outcome, _comparison(platform, claim, outcome)):
        pass  # another result of the team was recorded meanwhile, and this one is compared with it
    platform.notifier.wake_workers(Queue.FOLLOW_UPS)


def _score(platform: Platform, claim: Claim) -> Outcome:
    with platform.transaction() as session:
        assignment = queries.assignment_of(session, claim.run)
    log.info("run begun", submission=assignment.submission_id)
    with platform.truths.draft() as statistics:
        with (
            platform.archives.materialise(assignment.archive) as archive,
            platform.truths.materialise(assignment.truth) as truth,
        ):
            report = _report(platform, assignment, Files(archive, truth, statistics))
        if isinstance(report, Refused):
            return report
        return Scored(report, platform.truths.put(statistics, uuid.uuid4()))


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
    return ladder.compare(platform, claim.run, outcome.report, outcome.statistics_key)


def _record(platform: Platform, claim: Claim, outcome: Outcome, comparison: Comparison | None) -> bool:
    """Scores, exhibits and states in one transaction, if the claim still holds; False for an outdated comparison."""
    with platform.transaction() as session:
        job = queue.lock_claimed(session, claim)
        if job is None:
            log.warning("claim lost")
            return True
        run = queries.locked_run(session, claim.run)
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
        _finish(session, job, run)
    return True


def _finish(session: Session, job: Job, run: Run) -> None:
    run.finished_at = func.clock_timestamp()
    session.delete(job)
    session.flush()
    leaderboards.record_result(session, run.entry_id, run.id)


def _queued_again(session: Session, job: Job) -> None:
    if job.run_id is not None:
        queries.locked_run(session, job.run_id).state = RunState.QUEUED


def _given_up(session: Session, job: Job) -> None:
    """Fail a run whose scoring crashed too often, or whose workers were lost too often."""
    message = FAILED_MESSAGE.format(crashes=job.failures)
    if job.lost_leases >= MAX_LOST_LEASES:
        message = LOST_MESSAGE.format(losses=job.lost_leases)
    if job.run_id is not None:
        run = queries.locked_run(session, job.run_id)
        run.state, run.failure_message = RunState.FAILED, message
        _finish(session, job, run)


HANDLER = Handler(_work, failures=None, claimed=queries.begin, queued_again=_queued_again, given_up=_given_up)
