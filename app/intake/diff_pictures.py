"""Some images whose labels differ between two versions: a worker draws them, for the organiser who asks alone."""

import io
import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Final

import structlog
from fastapi import Path as PathParameter
from sqlalchemy import select

from app.core import audit
from app.core.access import Actor
from app.core.errors import ConflictError, MalformedError, NotFoundError, StorageDamagedError
from app.images.originals import originals
from app.images.packs import pack, parts_of, read_part
from app.intake import changed_pictures, for_one, version_diffs
from app.intake.changed_pictures import DrawnChanges
from app.intake.drawing import MOST
from app.intake.for_one import CHANGED_PICTURES, KEPT
from app.jobs import queue
from app.jobs.attempts import Handler
from app.jobs.queue import Claim
from app.jobs.sandbox import ChildError, ChildFileError, ChildLimits, run_in_subprocess
from app.models import GroundTruth, JobKind, Phase
from app.platform import Platform
from heldout_scoring.stored import from_plain, to_plain

log = structlog.get_logger()

PictureNumber = Annotated[int, PathParameter(ge=1, le=MOST)]
NICE: Final = 10
FAILED: Final = "A worker could not draw what changed; admins can see why in its log."


@dataclass(frozen=True, slots=True)
class ShownChanges:
    """The pictures of a comparison that an organiser may see. until: when they are deleted."""

    drawn: DrawnChanges | None
    until: datetime | None
    is_waiting: bool


def shown(platform: Platform, actor: Actor, phase_id: int, before: int, after: int) -> ShownChanges:
    """Return which pictures of a comparison this organiser may see. Raises NotFoundError."""
    with platform.snapshot() as session:
        key = _key(*version_diffs.compared(session, actor, phase_id, before, after), actor.user_id or 0)
        made = for_one.find(session, CHANGED_PICTURES, key)
        is_waiting = bool(session.scalar(select(queue.is_pending(JobKind.DRAWN_DIFF, key))))
    if made is None:
        return ShownChanges(None, None, is_waiting)
    drawn = from_plain(DrawnChanges, json.loads(read_part(platform.artefacts, made.key, 0)))
    return ShownChanges(drawn, made.created_at + KEPT, is_waiting)


def _key(before: GroundTruth, after: GroundTruth, user_id: int) -> str:
    return f"{before.id}-{after.id}/{user_id}"


def picture(platform: Platform, actor: Actor, phase_id: int, before: int, after: int, number: int) -> bytes:
    """Return a drawn picture as JPEG, counted from 1. Raises NotFoundError, also for pictures made for somebody else."""
    with platform.transaction() as session:
        key = _key(*version_diffs.compared(session, actor, phase_id, before, after), actor.user_id or 0)
        made = for_one.find(session, CHANGED_PICTURES, key)
    content = read_part(platform.artefacts, made.key, number) if made else b""
    if not content:
        raise NotFoundError("there is no such image, or not any more")
    return content


def request(platform: Platform, actor: Actor, phase_id: int, before: int, after: int) -> None:
    """Have a worker draw up to twelve images that differ, for this organiser. Raises NotFoundError, MalformedError, ConflictError."""
    assert actor.user_id is not None
    with platform.transaction() as session:
        one, other = version_diffs.compared(session, actor, phase_id, before, after)
        if before == after:
            raise MalformedError("Choose two versions that are not the same")
        key = _key(one, other, actor.user_id)
        if session.scalar(select(queue.is_pending(JobKind.DRAWN_DIFF, key))):
            raise ConflictError("a worker draws these images already")
        audit.record(
            session, actor.user_id, "phase.draw-changes", f"phase {phase_id}",
            challenge_id=session.get_one(Phase, phase_id).challenge_id,
            details={"old_version": before, "new_version": after},
        )  # fmt: skip
        payload = {"before": one.id, "after": other.id, "user": actor.user_id}
        queue.add(
            session, JobKind.DRAWN_DIFF, payload, owner=queue.owner_of_phase(session, phase_id), key=key
        )
    platform.notifier.wake_workers()


def _work(platform: Platform, claim: Claim) -> None:
    """Draw what changed. May be done again at any time."""
    with platform.transaction() as session:
        one, other = (session.get(GroundTruth, claim.payload[name]) for name in ("before", "after"))
    if one is None or other is None:
        return
    try:
        made = _made(platform, one, other)
    except ChildFileError:
        raise  # an outage
    except (ChildError, StorageDamagedError) as error:
        log.warning("changes were not drawn", ground_truth=other.id, error=type(error).__name__)
        made = pack([json.dumps(to_plain(DrawnChanges(message=FAILED))).encode()])
    for_one.store(platform, CHANGED_PICTURES, _key(one, other, claim.payload["user"]), made)


def _made(platform: Platform, one: GroundTruth, other: GroundTruth) -> bytes:
    settings = platform.settings
    limits = ChildLimits(seconds=settings.intake_seconds, memory=settings.intake_memory, nice=NICE)
    with platform.truths.materialise(one.key) as before, platform.truths.materialise(other.key) as after:
        [count, chosen] = parts_of(
            io.BytesIO(run_in_subprocess(limits, changed_pictures.choose, before, after))
        )
    names = [each["image"] for each in json.loads(chosen)]
    with TemporaryDirectory() as folder:
        files = originals(platform, other.phase_id, other.version, names, Path(folder)) if names else {}
        return run_in_subprocess(limits, changed_pictures.draw, chosen, int(count), files)


HANDLER: Final = Handler(_work)
