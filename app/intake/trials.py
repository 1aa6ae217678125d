"""Trial results: a worker scores made-up results with a phase's ground truth, so that organisers see what participants will see.

Only the scores are stored, for organisers. They count for nobody, are on no board, and are deleted with the ground truth.
"""

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import structlog
from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.challenges import challenges
from app.challenges.challenges import PhaseView
from app.core.access import Actor
from app.core.errors import ConflictError
from app.intake.trial_results import TrialTask, score_trials
from app.jobs import queue
from app.jobs.attempts import Handler
from app.jobs.queue import Claim
from app.jobs.sandbox import ChildLimits, LimitExceededError, run_in_subprocess
from app.models import GroundTruth, Job, JobKind, Phase, Trial
from app.platform import Platform
from heldout_scoring.stored import from_plain, to_plain

log = structlog.get_logger()

FAILURES: Final = 3  # crashes of the child until it is given up
NICE: Final = 10
CRASHED: Final = "A worker could not make and score trial results because of an error of the server, which admins can see in its log."


@dataclass(frozen=True, slots=True)
class TrialsView:
    """The trial results of the newest ground truth of a phase. version: None without one; message: why there are none."""

    phase: PhaseView
    version: int | None
    is_waiting: bool = False
    message: str = ""
    tasks: tuple[TrialTask, ...] = ()
    finished_at: datetime | None = None

    @property
    def can_be_asked(self) -> bool:
        """Whether a worker can be asked to score some."""
        return self.version is not None and not self.is_waiting


def trials_of(platform: Platform, actor: Actor, phase_id: int) -> TrialsView:
    """Return the trial results of a phase for its organisers, of the tasks that it offers. Raises NotFoundError."""
    with platform.snapshot() as session:
        phase = challenges.require_phase(session, actor, phase_id)
        truth = challenges.newest_truth(session, phase_id)
        row = session.get(Trial, truth.id) if truth else None
        if truth is None or row is None:
            return TrialsView(phase, truth.version if truth else None)
        chosen = challenges.chosen_tasks(phase)
        tried = (from_plain(TrialTask, each) for each in row.scores)
        tasks = tuple(each for each in tried if each.task in chosen)
        is_waiting = row.finished_at is None
        return TrialsView(phase, truth.version, is_waiting, row.message, tasks, row.finished_at)


def request(platform: Platform, actor: Actor, phase_id: int) -> None:
    """Have a worker score trial results of a phase. Raises NotFoundError, ConflictError."""
    with platform.transaction() as session:
        challenges.require_phase(session, actor, phase_id, lock=True)
        truth = challenges.newest_truth(session, phase_id)
        if truth is None:
            raise ConflictError("this phase has no ground truth yet")
        if not add(session, truth.id):
            raise ConflictError("a worker scores trial results of this phase already")
    platform.notifier.wake_workers()


def add(session: Session, ground_truth_id: int) -> bool:
    """Add the job that scores trial results of a ground truth; False if there is one already."""
    empty: dict[str, Any] = {"scores": [], "message": "", "finished_at": None, "requested_at": func.now()}
    statement = (
        insert(Trial)
        .values(ground_truth_id=ground_truth_id, **empty)
        .on_conflict_do_update(
            index_elements=[Trial.ground_truth_id], set_=empty, where=Trial.finished_at.is_not(None)
        )
        .returning(Trial.ground_truth_id)
    )
    if session.scalar(statement) is None:
        return False
    phase_id = session.scalars(select(GroundTruth.phase_id).where(GroundTruth.id == ground_truth_id)).one()
    payload, key = {"ground_truth": ground_truth_id}, f"ground truth {ground_truth_id}"
    queue.add(session, JobKind.TRIALS, payload, owner=queue.owner_of_phase(session, phase_id), key=key)
    return True


def _work(platform: Platform, claim: Claim) -> None:
    """Make, score and forget results of a ground truth, and record the scores. May be done again at any time."""
    with platform.transaction() as session:
        statement = (
            select(GroundTruth.key, Phase.protocol)
            .join(GroundTruth.phase)
            .where(GroundTruth.id == claim.payload["ground_truth"])
        )
        found = session.execute(statement).one_or_none()
    if found is None:
        return
    key, protocol = found
    settings = platform.settings
    limits = ChildLimits(seconds=settings.scoring_seconds, memory=settings.child_memory, nice=NICE)
    try:
        with platform.truths.materialise(key) as truth:
            output = run_in_subprocess(limits, score_trials, truth, protocol, secrets.randbits(64))
    except LimitExceededError as error:
        _record(platform, claim, (), f"Trial results were not scored: {error}.")
    else:
        _record(platform, claim, tuple(from_plain(TrialTask, each) for each in json.loads(output)), "")


def _record(platform: Platform, claim: Claim, tasks: Sequence[TrialTask], message: str) -> None:
    with platform.transaction() as session:
        if queue.lock_claimed(session, claim) is not None:
            _finish(session, claim.payload["ground_truth"], tasks, message)


def _finish(session: Session, ground_truth_id: int, tasks: Sequence[TrialTask], message: str) -> None:
    row = session.get(Trial, ground_truth_id, with_for_update=True)
    if row is not None:
        row.scores, row.message, row.finished_at = (
            [to_plain(each) for each in tasks],
            message,
            func.clock_timestamp(),
        )


def _give_up(session: Session, job: Job) -> None:
    """Record that trial results could not be scored because of an error of ours; the job is no longer needed."""
    log.error("trial results failed", job=job.id, error=job.error)
    _finish(session, job.payload["ground_truth"], (), CRASHED)
    session.delete(job)


HANDLER: Final = Handler(_work, failures=FAILURES, on_give_up=_give_up)
