"""From corrected labels to a version: what they change is counted by a worker, confirmed by the organiser, and applied as any version."""

import json
import uuid
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Final

import structlog
from pydantic import BaseModel, Field
from sqlalchemy import func
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.challenges import challenges
from app.challenges.challenges import PhaseView
from app.core import audit
from app.core.access import Actor
from app.core.errors import ConflictError
from app.intake import comparing, going_back, label_edits, label_scenes, sealed_labels
from app.intake.applying import LONGEST_NOTE
from app.intake.reports import VersionDiff
from app.intake.sealed_labels import WaitingEdit
from app.jobs import queue
from app.jobs.attempts import Handler
from app.jobs.queue import Claim
from app.jobs.sandbox import ChildLimits, LimitExceededError, run_in_subprocess
from app.models import GroundTruth, Job, JobKind, LabelEdit, LabelPreview, TruthCopy
from app.platform import Platform
from app.web.formats import plural
from heldout_scoring import GroundTruth as Annotation
from heldout_scoring.stored import from_plain

log = structlog.get_logger()

FAILURES: Final = 3
NICE: Final = 10
CRASHED: Final = (
    "A worker could not find what changes because of an error of the server, which admins can see in its log."
)


class ConfirmedCorrections(BaseModel):
    """preview: the id of what was looked at."""

    preview: uuid.UUID
    note: Annotated[
        str, Field(max_length=LONGEST_NOTE, description="on the new version, for the organisers")
    ] = ""


@dataclass(frozen=True, slots=True)
class CorrectionSheet:
    """The corrections of an organiser in a phase that wait, and what they change.

    version: the newest; preview: the id to confirm, None until a worker was asked; found: None before it knows; message: why it does
    not; is_applied: whether a worker makes a version of them.
    """

    phase: PhaseView
    version: int
    waiting: tuple[WaitingEdit, ...]
    preview: uuid.UUID | None = None
    requested_at: datetime | None = None
    found: VersionDiff | None = None
    message: str = ""
    is_applied: bool = False
    refusal: str = ""

    @property
    def is_waiting(self) -> bool:
        """Whether a worker looks for what changes."""
        return self.preview is not None and self.found is None and not self.message


def view(platform: Platform, actor: Actor, phase_id: int) -> CorrectionSheet:
    """Return the corrections of this organiser. Raises NotFoundError."""
    user_id = actor.user_id or 0
    with platform.snapshot() as session:
        phase, truth = label_scenes.newest(session, actor, phase_id)
        waiting = sealed_labels.waiting(session, phase_id, user_id, truth.version)
        row = session.get(LabelPreview, (phase_id, user_id))
        asked = session.get(TruthCopy, phase_id)
    own = asked if asked is not None and asked.is_corrected and asked.user_id == user_id else None
    sheet = CorrectionSheet(
        phase,
        truth.version,
        waiting,
        is_applied=own is not None and not own.message,
        refusal=own.message if own is not None else "",
    )
    if row is None:
        return sheet
    return CorrectionSheet(
        phase,
        truth.version,
        waiting,
        row.id,
        row.requested_at,
        from_plain(VersionDiff, row.report) if row.report else None,
        row.message,
        sheet.is_applied,
        sheet.refusal,
    )


def request_preview(platform: Platform, actor: Actor, phase_id: int) -> None:
    """Have a worker find what the corrections of this organiser change. Raises NotFoundError, ConflictError."""
    assert actor.user_id is not None
    with platform.transaction() as session:
        phase = challenges.require_phase(session, actor, phase_id, lock=True)
        challenges.lock_phase(session, phase_id)
        edits = _fresh(session, phase_id, actor.user_id)
        values: dict[str, Any] = {
            "id": uuid.uuid4(), "edits": [str(each.id) for each in edits], "report": None, "message": "",
            "requested_at": func.clock_timestamp(),
        }  # fmt: skip
        keys = {"phase_id": phase_id, "user_id": actor.user_id}
        row = insert(LabelPreview).values(**keys, **values)
        session.execute(row.on_conflict_do_update(index_elements=list(keys), set_=values))
        audit.record(
            session, actor.user_id, "label.preview", f"phase {phase_id}", challenge_id=phase.challenge_id,
            details={"images": len(edits)},
        )  # fmt: skip
        owner = queue.owner_of_phase(session, phase_id)
        queue.add(session, JobKind.LABEL_PREVIEW, keys, owner=owner, key=f"{phase_id}/{actor.user_id}")
    platform.notifier.wake_workers()


def _fresh(session: Session, phase_id: int, user_id: int) -> list[LabelEdit]:
    """Return the corrections of a person that wait. Raises ConflictError if there are none, or one is of an earlier version."""
    newest = challenges.newest_truth(session, phase_id)
    found = label_edits.of_person(session, phase_id, user_id)
    if not found or newest is None:
        raise ConflictError("you have corrected nothing yet")
    if old := [each.image for each in found if each.ground_truth_id != newest.id]:
        images = f"{old[0]} and {plural(len(old) - 1, 'other image')}" if len(old) > 1 else old[0]
        raise ConflictError(
            f"version {newest.version} was applied after you had corrected {images}; open what is marked again, or take it back"
        )
    return found


def apply(platform: Platform, actor: Actor, phase_id: int, asked: ConfirmedCorrections) -> None:
    """Have a worker make the next version of the corrections that this organiser has looked at.

    Raises NotFoundError, ForbiddenError, and ConflictError with the reason, such as that somebody else was faster.
    """
    assert actor.user_id is not None
    with platform.transaction() as session:
        challenges.require_phase(session, actor, phase_id, lock=True)
        phase = challenges.lock_phase(session, phase_id)
        edits = _fresh(session, phase_id, actor.user_id)
        seen = session.get(LabelPreview, (phase_id, actor.user_id))
        if seen is None or seen.id != asked.preview or set(seen.edits) != {str(each.id) for each in edits}:
            raise ConflictError("you have corrected more since you looked at what changes; look at it again")
        if seen.report is None:
            raise ConflictError("a worker has not found yet what changes, or could not")
        if from_plain(VersionDiff, seen.report).is_empty:
            raise ConflictError("nothing would change")
        newest = challenges.newest_truth(session, phase_id)
        assert newest is not None
        images = plural(len(edits), "image")
        note = asked.note.strip() or f"Corrected labels of {images}"
        wanted = TruthCopy(version=newest.version, newest=newest.version, note=note, is_corrected=True)
        going_back.ask(session, actor, phase, wanted)
        audit.record(
            session, actor.user_id, "label.apply", f"phase {phase_id}", challenge_id=phase.challenge_id,
            details={"version": newest.version, "images": len(edits)},
        )  # fmt: skip
    platform.notifier.wake_workers()


def _work(platform: Platform, claim: Claim) -> None:
    """Build the corrected annotation, compare it with the version, and forget it. May be done again at any time."""
    phase_id, user_id = claim.payload["phase_id"], claim.payload["user_id"]
    with platform.transaction() as session:
        base = challenges.newest_truth(session, phase_id)
        asked = session.get(
            LabelPreview, (phase_id, user_id)
        )  # later than this job, if others were coalesced with it
        edits = label_edits.of_person(session, phase_id, user_id)
        if base is None or asked is None:
            return
        phase = challenges.find_phase_of_id(session, phase_id)
    report, message = None, ""
    try:
        report = _compared(platform, phase, base, edits)
    except LimitExceededError as error:
        message = f"What changes was not found: {error}."
    except (ValueError, ConflictError) as error:
        message = f"{str(error)[:1].upper()}{str(error)[1:]}."
    with platform.transaction() as session:
        if queue.lock_claimed(session, claim) is not None:
            _record(session, claim.payload, report, message, asked.id)


def _compared(platform: Platform, phase: PhaseView, base: GroundTruth, edits: list[LabelEdit]) -> Any:
    settings = platform.settings
    limits = ChildLimits(seconds=settings.intake_seconds, memory=settings.intake_memory, nice=NICE)
    with platform.truths.materialise(base.key) as before, platform.truths.draft() as after:
        truth = label_edits.corrected(platform, phase, base, Annotation.open(before), edits)
        truth.save(Path(after))
        arguments = before, after, phase.image_set, base.version
        return json.loads(run_in_subprocess(limits, comparing.version_diff, *arguments))


def _record(session: Session, payload: Any, report: Any, message: str, preview: uuid.UUID | None) -> None:
    """Record what was found of a preview. preview: the one that it was found for; None for any that still waits."""
    row = session.get(LabelPreview, (payload["phase_id"], payload["user_id"]), with_for_update=True)
    if row is not None and preview in (None, row.id):
        row.report, row.message = report, message


def _give_up(session: Session, job: Job) -> None:
    """Record that changes could not be found because of an error of ours; the job is no longer needed."""
    log.error("preview of corrected labels failed", job=job.id, error=job.error)
    _record(session, job.payload, None, CRASHED, None)
    session.delete(job)


HANDLER: Final = Handler(_work, failures=FAILURES, on_give_up=_give_up)
