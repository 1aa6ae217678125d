"""Score runs: claim a run, score it in a child process, record the result in one transaction."""

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import structlog
from sqlalchemy import func, select, update
from sqlalchemy.orm import Session, joinedload

import heldout_scoring
from app.challenges import challenges
from app.challenges.disclosure import held_out_mean, held_out_value
from app.core.settings import Settings
from app.jobs import events, queue, sandbox
from app.jobs.attempts import MAX_LOST_LEASES, Handler
from app.jobs.queue import Claim
from app.jobs.sandbox import ChildLimits, LimitExceededError, run_in_subprocess
from app.models import (
    ClassScore,
    EventKind,
    Exhibit,
    Job,
    Phase,
    Result,
    Run,
    RunState,
)
from app.platform import Platform
from app.results import ladder, receipts, recording
from app.results.ladder import LadderStep
from app.results.scored_runs import WITH_SOURCES
from app.storage import DIGEST, content_key
from heldout_scoring.stored import to_plain

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Assignment:
    """The storage keys of a run's inputs, and how it is scored.

    replaced: what a refusal begins with if the archive was checked by what is public of another version.
    """

    submission_id: int
    archive: str
    truth: str
    competition: int
    protocol: str
    description: str
    replaced: str = ""


def score_rows(run_id: int, report: heldout_scoring.Result) -> Iterator[ClassScore]:
    """Turn the headline and classes of a report into rows. Their intervals are computed later."""
    yield ClassScore(
        run_id=run_id,
        position=0,
        value=report.headline,
        held_out_value=held_out_mean(report.headline, report.classes),
        reason=report.headline_reason,
    )
    for position, result in enumerate(report.classes, start=1):
        yield ClassScore(
            run_id=run_id,
            class_name=result.name,
            position=position,
            value=result.value,
            held_out_value=held_out_value(result),
            reason=result.reason,
            positives=result.positives,
            predictions=result.predictions,
        )


def exhibit_rows(run_id: int, report: heldout_scoring.Result) -> Iterator[Exhibit]:
    """Turn the exhibits of a report, such as curves, into rows."""
    for position, exhibit in enumerate(report.exhibits):
        yield Exhibit(run_id=run_id, position=position, kind=exhibit.kind, content=to_plain(exhibit))


ENDED = (RunState.SCORED, RunState.REFUSED, RunState.FAILED)

REPLACED: Final = (
    "since this archive was checked, version {version} of the annotation of {image_set} has replaced the one before, with other images"
    " or classes; this does not count, so upload an archive for that version: "
)
STOPPED_MESSAGE = "scoring this archive was stopped: "
LOST_MESSAGE = (
    "the worker stopped {losses} times while scoring this; this does not count, and the organisers see it"
)
MAX_NOTED_RETRIES = 20
FAILED_MESSAGE = "scoring failed {crashes} times because of an error on our side; this does not count, and the organisers see it"


def mark_running(session: Session, claim: Claim) -> None:
    """Record that a worker has started a run."""
    values = {"state": RunState.RUNNING, "attempt": Run.attempt + 1, "claimed_at": func.clock_timestamp()}
    session.execute(update(Run).where(Run.id == claim.run).values(values))


def lock_run(session: Session, run_id: int) -> Run:
    """Load and lock a run. Lock its job first."""
    return session.get_one(Run, run_id, with_for_update=True)


def load_assignment(session: Session, run_id: int) -> Assignment:
    """Load what is needed to score a run."""
    statement = select(Run).options(*WITH_SOURCES, joinedload(Run.result).joinedload(Result.phase))
    run = session.scalars(statement.where(Run.id == run_id)).one()
    phase, truth, upload = run.result.phase, run.ground_truth, run.result.submission.upload
    checked, described = upload.description_digest, truth.description_key
    is_other = bool(checked and described and described[:DIGEST] != checked)
    return Assignment(
        submission_id=run.result.submission_id,
        archive=content_key(upload.sha256 or "", upload.id),
        truth=truth.key,
        competition=run.result.competition,
        protocol=run.protocol,
        description=phase.description_key,
        replaced=REPLACED.format(version=truth.version, image_set=phase.image_set) if is_other else "",
    )


@dataclass(frozen=True, slots=True)
class _Scored:
    """A report, and the storage key of its per-image statistics."""

    report: heldout_scoring.Result
    statistics_key: str


@dataclass(frozen=True, slots=True)
class _Refused:
    """The participant's archive cannot be scored. message: why."""

    message: str


_Outcome = _Scored | _Refused


@dataclass(frozen=True, slots=True)
class _Files:
    """The files of a child process: it reads the first two and writes the statistics."""

    archive: Path
    truth: Path
    statistics: Path


def _work(platform: Platform, claim: Claim) -> None:
    """Score a run of this scorer version. If the claim is lost meanwhile, nothing is written."""
    outcome = _score(platform, claim)
    while not _record(platform, claim, outcome, _comparison(platform, claim, outcome)):
        pass  # another result of the team was recorded meanwhile; compare with it
    platform.notifier.wake_workers()


def _score(platform: Platform, claim: Claim) -> _Outcome:
    with platform.transaction() as session:
        assignment = load_assignment(session, claim.run)
    log.info("run started", submission=assignment.submission_id)
    with platform.truths.draft() as statistics:
        with (
            platform.archives.materialise(assignment.archive) as archive,
            platform.truths.materialise(assignment.truth) as truth,
        ):
            report = _report(platform, assignment, _Files(archive, truth, statistics))
        if isinstance(report, _Refused):
            return report
        return _Scored(report, platform.truths.put(statistics, uuid.uuid4()))


def _report(platform: Platform, assignment: Assignment, files: _Files) -> heldout_scoring.Result | _Refused:
    archive_limits = challenges.description_of(platform.descriptions, assignment.description).limits
    try:
        output = run_in_subprocess(
            _child_limits(platform.settings), sandbox.score, files.archive, files.truth, assignment.competition,
            assignment.protocol, files.statistics, archive_limits,
        )  # fmt: skip
    except LimitExceededError as error:
        return _Refused(f"{STOPPED_MESSAGE}{error}")
    if output.startswith(b"!"):
        return _Refused(f"{assignment.replaced}{heldout_scoring.Problem(**json.loads(output[1:]))}")
    return heldout_scoring.Result.from_json(output.decode())


def _child_limits(settings: Settings) -> ChildLimits:
    return ChildLimits(seconds=settings.scoring_seconds, memory=settings.child_memory)


def _comparison(platform: Platform, claim: Claim, outcome: _Outcome) -> LadderStep | None:
    if isinstance(outcome, _Refused):
        return None
    return ladder.compare(platform, claim.run, outcome.report, outcome.statistics_key)


def _record(platform: Platform, claim: Claim, outcome: _Outcome, comparison: LadderStep | None) -> bool:
    """Record scores, exhibits and states in one transaction if the claim still holds. False if the comparison is outdated."""
    with platform.transaction() as session:
        job = queue.lock_claimed(session, claim)
        if job is None:
            log.warning("claim lost")
            return True
        run = lock_run(session, claim.run)
        if comparison is not None and not ladder.record_if_unchanged(session, run, comparison):
            return False
        match outcome:
            case _Refused(message):
                run.state, run.failure_message = RunState.REFUSED, message
            case _Scored(report, key):
                if receipts.is_public_truth(session, run.ground_truth_id):
                    run.plain_receipt = report.receipt
                run.state, run.statistics_key = RunState.SCORED, key
                run.measure, run.receipt = report.measure, platform.secret.receipt(report.receipt)
                session.add_all((*score_rows(run.id, report), *exhibit_rows(run.id, report)))
        _finish(session, job, run)
    return True


def _finish(session: Session, job: Job, run: Run) -> None:
    run.finished_at = func.clock_timestamp()
    session.delete(job)
    session.flush()
    recording.record_result(session, run.result_id, run.id)


def _note_retry(session: Session, job: Job) -> None:
    """Queue the run again, and note why for organisers; the job, which counts retries, is deleted when it is done."""
    if job.run_id is not None:
        run = lock_run(session, job.run_id)
        run.state = RunState.QUEUED
        note = {
            "attempt": run.attempt,
            "at": session.scalars(select(func.clock_timestamp())).one().isoformat(),
            "reason": job.error or "unknown",
        }
        run.retries = [*run.retries, note][-MAX_NOTED_RETRIES:]
        if job.damaged_content_id is not None and run.rescore_id is None:
            _record_wait(session, run, job.damaged_content_id)


def _record_wait(session: Session, run: Run, damaged_id: int) -> None:
    """Record, once for all its runs, that a submission waits for the repair of a damaged content."""
    where = (
        select(Phase.challenge_id, Result.phase_id, Result.submission_id)
        .join(Result.phase)
        .where(Result.id == run.result_id)
    )
    challenge_id, phase_id, submission_id = session.execute(where).one()
    events.record_once(
        session,
        f"{EventKind.WAITS}/{submission_id}/{damaged_id}",
        EventKind.WAITS,
        challenge_id=challenge_id,
        phase_id=phase_id,
        team_id=run.team_id,
        submission=submission_id,
    )


def _fail(session: Session, job: Job) -> None:
    """Fail a run whose scoring crashed too often, or whose workers were lost too often."""
    message = FAILED_MESSAGE.format(crashes=job.failures)
    if job.lost_leases >= MAX_LOST_LEASES:
        message = LOST_MESSAGE.format(losses=job.lost_leases)
    if job.run_id is not None:
        run = lock_run(session, job.run_id)
        run.state, run.failure_message = RunState.FAILED, message
        _finish(session, job, run)


HANDLER = Handler(_work, failures=None, on_claim=mark_running, on_retry=_note_retry, on_give_up=_fail)
