"""The next version of a phase's annotation from one that it has: an earlier one again, or the newest with corrected labels."""

import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import structlog
from pydantic import BaseModel, Field
from sqlalchemy import delete, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

import heldout_scoring
from app.challenges import challenges, same_labels
from app.challenges.challenges import description_of
from app.challenges.label_digests import label_digests
from app.core import audit
from app.core.access import Actor, require_active
from app.core.errors import ConflictError, ForbiddenError, NotFoundError, RateLimitedError
from app.evaluation import rescoring
from app.images import making
from app.intake import importing, intakes, label_edits, trials
from app.intake.applying import LONGEST_NOTE
from app.intake.importing import PublicCopyError, TreeImport
from app.jobs import queue
from app.jobs.attempts import Handler
from app.jobs.queue import Claim
from app.models import Board, Challenge, GroundTruth, Job, JobKind, Phase, TruthCopy, User
from app.platform import Platform

log = structlog.get_logger()

FAILURES: Final = 3
CRASHED: Final = (
    "A worker could not store it because of an error of the server, which admins can see in its log."
)
HIDDEN_ELSEWHERE: Final = "Another phase of this server keeps the same annotation hidden, so only an admin may publish it, by applying a data set."


class GoingBack(BaseModel):
    """Which version is the newest as far as the organiser knows, so that nobody replaces what they have not seen."""

    newest: Annotated[int, Field(ge=1, description="the newest version of the phase, as you know it")]
    note: Annotated[
        str, Field(max_length=LONGEST_NOTE, description="on the new version, for the organisers")
    ] = ""


def request(platform: Platform, actor: Actor, phase_id: int, version: int, asked: GoingBack) -> None:
    """Have a worker store an earlier version of a phase's annotation as the next one.

    Raises NotFoundError, ForbiddenError, and ConflictError with the reason, such as that somebody else was faster.
    """
    with platform.transaction() as session:
        challenges.require_phase(session, actor, phase_id, lock=True)
        phase = challenges.lock_phase(session, phase_id)
        ask(session, actor, phase, TruthCopy(version=version, newest=asked.newest, note=asked.note.strip()))
        audit.record(
            session, actor.user_id, "phase.go-back", f"phase {phase_id}", challenge_id=phase.challenge_id,
            details={"version": version},
        )  # fmt: skip
    platform.notifier.wake_workers()


def ask(session: Session, actor: Actor, phase: Phase, wanted: TruthCopy) -> None:
    """Queue what becomes the next version of a locked phase. Raises as `request` does."""
    assert actor.user_id is not None
    if not phase.is_held_out:
        if not actor.owns_challenge(phase.challenge_id):
            raise ForbiddenError("Only owners of the challenge publish annotation; ask one to do this")
        same_labels.require_few_refusals(session, actor.user_id)
    _require_none_pending(session, phase.id)
    _require_possible(session, phase, wanted)
    values: dict[str, Any] = {
        "version": wanted.version, "newest": wanted.newest, "note": wanted.note, "user_id": actor.user_id,
        "message": "", "requested_at": func.clock_timestamp(), "is_corrected": bool(wanted.is_corrected),
    }  # fmt: skip
    row = insert(TruthCopy).values(phase_id=phase.id, **values)
    session.execute(row.on_conflict_do_update(index_elements=[TruthCopy.phase_id], set_=values))
    owner = queue.owner_of_phase(session, phase.id)
    queue.add(session, JobKind.TRUTH_COPY, {"phase": phase.id}, owner=owner, key=f"copy for phase {phase.id}")


def _require_none_pending(session: Session, phase_id: int) -> None:
    statement = (
        select(TruthCopy.version, TruthCopy.is_corrected, User.name)
        .join(User, TruthCopy.user_id == User.id)
        .where(TruthCopy.phase_id == phase_id, TruthCopy.message == "")
    )
    if pending := session.execute(statement).one_or_none():
        what = (
            "applying corrected labels"
            if pending.is_corrected
            else f"going back to version {pending.version}"
        )
        raise ConflictError(f"a worker is {what} already, which {pending.name} asked for; wait for it")


def _require_possible(session: Session, phase: Phase, wanted: TruthCopy) -> GroundTruth:
    """Return the version of a locked phase that can become the next. Raises NotFoundError, and ConflictError with the reason."""
    version, newest_known = wanted.version, wanted.newest
    own = GroundTruth.phase_id == phase.id, GroundTruth.version == version
    truth, newest = (
        session.scalar(select(GroundTruth).where(*own)),
        challenges.newest_truth(session, phase.id),
    )
    if truth is None or newest is None:
        raise NotFoundError(f"there is no version {version} of this phase")
    if newest.version != newest_known:
        raise ConflictError(
            f"version {newest.version} was applied meanwhile, so {newest_known} is not the newest any more; look at it first"
        )
    if truth.fingerprint == newest.fingerprint and not wanted.is_corrected:
        which = (
            "is the newest already"
            if truth is newest
            else f"has the same annotation as version {newest.version}, the newest"
        )
        raise ConflictError(f"version {version} {which}, so nothing would change")
    if rescoring.is_being_applied(session, phase.id):
        raise ConflictError("a worker is applying a data set to this phase; wait for it")
    boards = rescoring.lock_boards(session, phase.id)
    if rescoring.has_open_rescore(session, phase.id):
        raise ConflictError(
            "this phase is being scored again; publish the new scores, or discard the re-scoring"
        )
    _require_boards(truth, boards)
    return truth


def _require_boards(truth: GroundTruth, boards: list[Board]) -> None:
    missing = {board.competition: (truth.not_offered or {}).get(str(board.competition)) for board in boards}
    if lost := [f"comp{number}: {reason}" for number, reason in missing.items() if reason]:
        raise ConflictError(
            f"version {truth.version} lacks what competitions with a board need ({'; '.join(lost)})"
        )


def _work(platform: Platform, claim: Claim) -> None:
    """Store the version again, or what it is with corrected labels, and record it as the next. May be done again at any time."""
    phase_id = int(claim.payload["phase"])
    try:
        while not _copy(platform, claim, phase_id):
            pass  # an import was faster and changed the phase: start from its state
    except PublicCopyError as error:
        _refuse(platform, claim, phase_id, HIDDEN_ELSEWHERE, error.hiding)
    except (ValueError, ConflictError, NotFoundError, RateLimitedError) as error:
        _refuse(platform, claim, phase_id, str(error))


def _copy(platform: Platform, claim: Claim, phase_id: int) -> bool:
    """Do it, whatever becomes of the version; return False if the phase got other descriptions meanwhile."""
    with platform.transaction() as session:
        asked = session.get(TruthCopy, phase_id)
        if asked is None or asked.message:
            return True
        phase = session.get_one(Phase, phase_id)
        require_active(session, phase.challenge_id)
        code = session.get_one(Challenge, phase.challenge_id).code
        own = GroundTruth.phase_id == phase_id, GroundTruth.version == asked.version
        row = session.scalars(select(GroundTruth).where(*own)).one()
        view = challenges.find_phase_of_id(session, phase_id)
        edits = label_edits.of_person(session, phase_id, asked.user_id) if asked.is_corrected else []
    described = row.description_key and description_of(platform.descriptions, row.description_key)
    wanted = TreeImport(
        tree=Path(),
        challenge=code,
        image_set=phase.image_set,
        protocol=phase.protocol,
        user_id=asked.user_id,
        note=asked.note,
        copied_from=None if asked.is_corrected else row.version,
        corrected=len(edits),
        files=described.files if described else {},
    )
    prints = None
    if row.labels and row.image_labels_key:  # with the names that its images were sent with
        prints = same_labels.stored_prints(platform, row.labels, row.image_labels_key)
    with platform.truths.materialise(row.key) as path:
        truth = heldout_scoring.GroundTruth.open(path)
        if asked.is_corrected:
            truth = label_edits.corrected(platform, view, row, truth, edits)
            prints = same_labels.prints_of_corrected(platform, path, label_digests(truth), prints)
            key = importing.store_truth(platform, wanted, truth)
        else:
            key = platform.truths.put(path, uuid.uuid4())
        ready = importing.prepare(platform, wanted, truth, key, prints=prints)
    with platform.transaction() as session:
        challenges.lock_imports(session)
        if queue.lock_claimed(session, claim) is None:
            return True
        challenges.challenge_of(session, code, lock=True)  # before its phase, as where it is archived
        require_active(session, phase.challenge_id)
        locked = challenges.lock_phase(session, phase_id)
        intakes.require_role(session, asked.user_id, phase.challenge_id, publishes=not locked.is_held_out)
        _require_possible(session, locked, asked)
        imported = ready.write(session)
        if imported is None:
            return False
        unused = making.forget_next(session, phase_id, asked.version)
        newest = challenges.newest_truth(session, phase_id)
        if phase.is_held_out and newest is not None:
            trials.add(session, newest.id)
        session.execute(delete(TruthCopy).where(TruthCopy.phase_id == phase_id))
        label_edits.forget(session, edits)
    unused.remove(platform)
    platform.notifier.wake_workers()
    return True


def _refuse(
    platform: Platform, claim: Claim, phase_id: int, message: str, hiding: Sequence[str] = ()
) -> None:
    with platform.transaction() as session:
        if queue.lock_claimed(session, claim) is not None:
            row = session.get_one(TruthCopy, phase_id, with_for_update=True)
            row.message = message
            if hiding:
                same_labels.record_refusal(session, row.user_id, hiding)


def _give_up(session: Session, job: Job) -> None:
    """Record that a version could not be stored because of an error of ours; the job is no longer needed."""
    log.error("the next version was not stored", job=job.id, error=job.error)
    row = session.get(TruthCopy, int(job.payload["phase"]), with_for_update=True)
    if row is not None:
        row.message = CRASHED
    session.delete(job)


HANDLER: Final = Handler(_work, failures=FAILURES, on_give_up=_give_up)
