"""The new scores of a re-scoring for a new ground truth: organisers look at a preview, and one of them publishes or discards them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from typing import Annotated, Final

import structlog
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.challenges import challenges
from app.core.access import Actor
from app.core.errors import ConflictError
from app.evaluation import rescoring
from app.evaluation.rescoring import Unscored
from app.jobs import events, heartbeats
from app.models import Board, Decision, EventKind, GroundTruth, Phase, Rescore, Run, User
from app.platform import Platform
from app.web.formats import plural

log = structlog.get_logger()

REMINDED_AFTER: Final = timedelta(days=14)
DISCARDED_AFTER: Final = timedelta(days=30)
EVERY: Final = timedelta(hours=1)


class Publishing(BaseModel):
    """Which preview an organiser has looked at, so that nobody publishes what they have not seen."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True)

    seen: Annotated[str, Field(max_length=64, description="the `seen` of the preview that you looked at")]


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether the new scores of a re-scoring can be published.

    seen: changes with everything that decides what would be published, other than results that arrive; refusal: why they cannot
    be published now, if they cannot; unscored: what has still to be scored, by competition.
    """

    seen: str
    refusal: str | None
    unscored: Mapping[int, Unscored]

    @property
    def late(self) -> int:
        """How many results arrived meanwhile and are not scored yet."""
        return sum(each.late for each in self.unscored.values())


def readiness(session: Session, rescore: Rescore) -> Readiness:
    """Return whether the new scores of an open re-scoring can be published."""
    phase = session.get_one(Phase, rescore.phase_id)
    boards = session.execute(
        select(Board.competition, Board.generation)
        .where(Board.phase_id == phase.id)
        .order_by(Board.competition)
    ).all()
    kept = session.scalars(
        select(Run.id).where(Run.rescore_id == rescore.id, Run.decision == Decision.KEEP).order_by(Run.id)
    ).all()
    unscored = rescoring.unscored(session, rescore)
    refusal = _refusal(session, rescore, sum(each.first for each in unscored.values()))
    is_complete = refusal is None  # who looked before that has not seen the scores
    facts = rescore.id, phase.closes_at, [tuple(row) for row in boards], [*kept], is_complete
    return Readiness(sha256(repr(facts).encode()).hexdigest()[:16], refusal, unscored)


def _refusal(session: Session, rescore: Rescore, waiting: int) -> str | None:
    """Return why the new scores of a re-scoring cannot be published now, or None if they can."""
    if rescore.confirmed_at is not None:
        by = session.get(User, rescore.confirmed_by) if rescore.confirmed_by else None
        who = f"{by.name} has published the new scores" if by else "nobody has to publish the new scores"
        return f"{who}; the boards switch by themselves once nothing waits any more"
    newest = challenges.newest_truth(session, rescore.phase_id)
    if newest is not None and newest.id != rescore.ground_truth_id:
        return (
            f"version {newest.version} of the ground truth was applied meanwhile, so these scores are not of the newest; discard them"
            " and score everything again"
        )
    if undecided := rescoring.count_undecided(session, rescore.id):
        return f"{plural(undecided, 'result')} could not be scored; decide about each of them first"
    if waiting:
        are = "is" if waiting == 1 else "are"
        return f"{plural(waiting, 'result')} {are} not scored yet; the preview is complete once all are"
    return None


def publish(platform: Platform, actor: Actor, rescore_id: int, asked: Publishing) -> None:
    """Publish the new scores of a re-scoring: all boards of its phase switch, in this transaction if nothing waits any more.

    Results that arrived meanwhile may still be scored; then the boards switch once they are. Raises NotFoundError if the actor
    does not organise its challenge; ConflictError with the reason, such as that another organiser was faster.
    """
    with platform.transaction() as session:
        rescore, challenge_id = rescoring.require_open(session, actor, rescore_id)
        phase = challenges.lock_phase(session, rescore.phase_id)  # it closes before or after
        session.refresh(phase)
        now = readiness(session, rescore)
        if now.refusal is not None:
            raise ConflictError(now.refusal)
        if now.seen != asked.seen:
            raise ConflictError(
                "something has changed since you looked at the preview, such as the dates of the phase or a decision about a"
                " result; look at it again"
            )
        rescore.confirmed_at, rescore.confirmed_by = func.clock_timestamp(), actor.user_id
        rescoring.record(session, actor, "rescore.publish", rescore, challenge_id)
        session.flush()
        waits = rescoring.queue_missing_runs(session, rescore) or rescoring.is_waiting(session, rescore_id)
        described = session.get_one(GroundTruth, rescore.ground_truth_id).description_key is not None
        unused = rescoring.activate(session, rescore) if described and not waits else None
    if unused:
        unused.remove(platform)
    platform.cache.expire_versions()
    platform.notifier.wake_workers()


def pause(platform: Platform, actor: Actor, rescore_id: int) -> None:
    """Hold the runs of a re-scoring that were not started. Nothing happens if they are.

    Raises NotFoundError if the actor does not organise its challenge, ConflictError if it is no longer in progress.
    """
    _hold(platform, actor, rescore_id, is_held=True)


def resume(platform: Platform, actor: Actor, rescore_id: int) -> None:
    """Let the runs of a paused re-scoring go on, in the places that they kept. Raises as `pause`."""
    _hold(platform, actor, rescore_id, is_held=False)
    platform.notifier.wake_workers()


def _hold(platform: Platform, actor: Actor, rescore_id: int, *, is_held: bool) -> None:
    with platform.transaction() as session:
        rescore, challenge_id = rescoring.require_open(session, actor, rescore_id)
        if (rescore.paused_at is not None) == is_held:
            return
        rescore.paused_at = challenges.now(session) if is_held else None
        action = "rescore.pause" if is_held else "rescore.resume"
        rescoring.record(session, actor, action, rescore, challenge_id)


# what sweeps do


def complete_previews(platform: Platform) -> None:
    """Queue runs for results that arrived since a re-scoring started, and tell organisers once when its preview is complete."""
    with platform.transaction() as session:
        found = _unconfirmed(session)
    for rescore_id in found:
        with platform.transaction() as session:
            rescore = _lock_unconfirmed(session, rescore_id)
            if rescore is None:
                continue
            late = rescoring.queue_missing_runs(session, rescore)
            if not late and not rescoring.is_waiting(session, rescore_id):
                _tell(session, rescore, "ready")
        if late:
            platform.notifier.wake_workers()


def expire_previews(platform: Platform) -> None:
    """Remind organisers of new scores that nobody has published for two weeks, and discard them after thirty days."""
    with platform.transaction() as session:
        if not heartbeats.start_if_due(session, "previews of scores", EVERY):
            return
        due = _unconfirmed(session, func.now() - REMINDED_AFTER)
    for rescore_id in due:
        with platform.transaction() as session:
            rescore = _lock_unconfirmed(session, rescore_id)
            if rescore is None:
                continue
            if rescore.created_at > challenges.now(session) - DISCARDED_AFTER:
                _tell(session, rescore, "waiting")
                continue
            rescoring.discard(session, None, rescore)
            _tell(session, rescore, "discarded")
        platform.cache.expire_versions()
        log.info("rescore discarded", rescore=rescore_id)


def _unconfirmed(session: Session, before: object | None = None) -> Sequence[int]:
    started = (Rescore.created_at < before,) if before is not None else ()
    return rescoring.open_rescore_ids(session, Rescore.confirmed_at.is_(None), *started)


def _lock_unconfirmed(session: Session, rescore_id: int) -> Rescore | None:
    rescore = rescoring.lock_open_rescore(session, rescore_id)
    return rescore if rescore is not None and rescore.confirmed_at is None else None


def _tell(session: Session, rescore: Rescore, state: str) -> None:
    """Record once for organisers that the new scores of a re-scoring are ready, still wait, or were discarded."""
    events.record_once(
        session,
        f"{EventKind.PREVIEW}/{rescore.id}/{state}",
        EventKind.PREVIEW,
        challenge_id=rescoring.challenge_of_phase(session, rescore.phase_id),
        phase_id=rescore.phase_id,
        rescore=rescore.id,
        version=session.get_one(GroundTruth, rescore.ground_truth_id).version,
        state=state,
    )
