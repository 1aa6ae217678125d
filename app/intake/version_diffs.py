"""What changed between two versions of a phase's annotation: a worker compares them, for the organiser who asks alone."""

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import structlog
from sqlalchemy import delete, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.challenges import challenges
from app.challenges.challenges import PhaseView
from app.core import audit
from app.core.access import Actor
from app.core.errors import MalformedError, NotFoundError
from app.intake import comparing
from app.intake.reports import VersionDiff
from app.jobs import queue
from app.jobs.attempts import Handler
from app.jobs.queue import Claim
from app.jobs.sandbox import ChildLimits, LimitExceededError, run_in_subprocess
from app.models import GroundTruth, Job, JobKind, Phase, RequestedDiff
from app.platform import Platform
from heldout_scoring.stored import from_plain

log = structlog.get_logger()

KEPT: Final = timedelta(days=30)
FAILURES: Final = 3
NICE: Final = 10
CRASHED: Final = "A worker could not compare these versions because of an error of the server, which admins can see in its log."


@dataclass(frozen=True, slots=True)
class DiffView:
    """What an organiser may see of a comparison that they asked for.

    found: None before that and while a worker compares; message: why it could not; until: when it is deleted.
    """

    phase: PhaseView
    before: int
    after: int
    is_waiting: bool = False
    found: VersionDiff | None = None
    message: str = ""
    until: datetime | None = None


def view(platform: Platform, actor: Actor, phase_id: int, before: int, after: int) -> DiffView:
    """Return what this organiser may see of a comparison. Raises NotFoundError."""
    with platform.snapshot() as session:
        phase = challenges.require_phase(session, actor, phase_id)
        one, other = (_truth(session, phase_id, version) for version in (before, after))
        row = session.get(RequestedDiff, (one.id, other.id, actor.user_id or 0))
    if row is None:
        return DiffView(phase, before, after)
    return DiffView(
        phase,
        before,
        after,
        is_waiting=row.report is None and not row.message,
        found=from_plain(VersionDiff, row.report) if row.report else None,
        message=row.message,
        until=row.requested_at + KEPT,
    )


def compared(
    session: Session, actor: Actor, phase_id: int, before: int, after: int
) -> tuple[GroundTruth, GroundTruth]:
    """Return two versions of a phase that the actor organises. Raises NotFoundError."""
    challenges.require_phase(session, actor, phase_id)
    return _truth(session, phase_id, before), _truth(session, phase_id, after)


def _truth(session: Session, phase_id: int, version: int) -> GroundTruth:
    own = GroundTruth.phase_id == phase_id, GroundTruth.version == version
    truth = session.scalar(select(GroundTruth).where(*own))
    if truth is None:
        raise NotFoundError(f"there is no version {version} of this phase")
    return truth


def request(platform: Platform, actor: Actor, phase_id: int, before: int, after: int) -> None:
    """Have a worker compare two versions for this organiser, who has no need to wait if it is being done.

    Raises NotFoundError, MalformedError.
    """
    assert actor.user_id is not None
    with platform.transaction() as session:
        phase = challenges.require_phase(session, actor, phase_id)
        if before == after:
            raise MalformedError("Choose two versions that are not the same")
        one, other = (_truth(session, phase_id, version) for version in (before, after))
        values: dict[str, Any] = {"report": None, "message": "", "requested_at": func.clock_timestamp()}
        keys = {"before_id": one.id, "after_id": other.id, "user_id": actor.user_id}
        session.execute(
            insert(RequestedDiff)
            .values(**keys, **values)
            .on_conflict_do_update(index_elements=list(keys), set_=values)
        )
        audit.record(
            session, actor.user_id, "phase.compare", f"phase {phase_id}", challenge_id=phase.challenge_id,
            details={"old_version": before, "new_version": after},
        )  # fmt: skip
        key = f"{one.id}-{other.id}/{actor.user_id}"
        owner = queue.owner_of_phase(session, phase_id)
        queue.add(session, JobKind.VERSION_DIFF, keys, owner=owner, key=key)
    platform.notifier.wake_workers()


def _work(platform: Platform, claim: Claim) -> None:
    """Compare two versions and record how they differ. May be done again at any time."""
    with platform.transaction() as session:
        one, other = (session.get(GroundTruth, claim.payload[name]) for name in ("before_id", "after_id"))
        if one is None or other is None:
            return
        image_set = session.get_one(Phase, one.phase_id).image_set
    settings = platform.settings
    limits = ChildLimits(seconds=settings.intake_seconds, memory=settings.intake_memory, nice=NICE)
    report, message = None, ""
    try:
        with (
            platform.truths.materialise(one.key) as before,
            platform.truths.materialise(other.key) as after,
        ):
            output = run_in_subprocess(limits, comparing.version_diff, before, after, image_set, one.version)
        report = json.loads(output)
    except LimitExceededError as error:
        message = f"The versions were not compared: {error}."
    with platform.transaction() as session:
        if queue.lock_claimed(session, claim) is not None:
            _record(session, claim.payload, report, message)


def _record(session: Session, payload: Any, report: Any, message: str) -> None:
    key = (payload["before_id"], payload["after_id"], payload["user_id"])
    row = session.get(RequestedDiff, key, with_for_update=True)
    if row is not None:
        row.report, row.message = report, message


def _give_up(session: Session, job: Job) -> None:
    """Record that versions could not be compared because of an error of ours; the job is no longer needed."""
    log.error("comparison of versions failed", job=job.id, error=job.error)
    _record(session, job.payload, None, CRASHED)
    session.delete(job)


HANDLER: Final = Handler(_work, failures=FAILURES, on_give_up=_give_up)


def delete_expired(platform: Platform) -> None:
    """Delete comparisons after a month; who needs one again asks again."""
    with platform.transaction() as session:
        is_old = RequestedDiff.requested_at < func.clock_timestamp() - KEPT
        session.execute(delete(RequestedDiff).where(is_old))
