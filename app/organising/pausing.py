"""Pausing scoring of a phase: its runs wait and keep their places, and nothing else changes."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from app.challenges import challenges
from app.core import audit
from app.core.access import Actor
from app.core.errors import ConflictError
from app.models import Phase
from app.platform import Platform


class Pause(BaseModel):
    """A pause of scoring."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True)

    reason: Annotated[str, Field(min_length=3, max_length=300, description="participants read it")]


def pause(platform: Platform, actor: Actor, phase_id: int, pause: Pause) -> None:
    """Pause scoring of a phase; runs that were started are finished.

    Raises NotFoundError for a phase that the actor does not organise, ConflictError if scoring is paused already.
    """
    with platform.transaction() as session:
        challenges.require_phase(session, actor, phase_id, lock=True)
        row = session.get_one(Phase, phase_id)
        if row.paused_at is not None:
            raise ConflictError("Scoring of this phase is paused already")
        row.paused_at, row.pause_reason = challenges.now(session), pause.reason
        audit.record(
            session,
            actor.user_id,
            "phase.pause",
            f"phase {phase_id}",
            challenge_id=row.challenge_id,
            reason=pause.reason,
        )
    platform.cache.expire_versions()


def resume(platform: Platform, actor: Actor, phase_id: int) -> None:
    """Resume scoring of a phase; its runs are claimed in the places that they kept.

    Raises NotFoundError for a phase that the actor does not organise.
    """
    with platform.transaction() as session:
        challenges.require_phase(session, actor, phase_id, lock=True)
        row = session.get_one(Phase, phase_id)
        if row.paused_at is None:
            return
        row.paused_at, row.pause_reason = None, ""
        audit.record(
            session, actor.user_id, "phase.resume", f"phase {phase_id}", challenge_id=row.challenge_id
        )
    platform.cache.expire_versions()
    platform.notifier.wake_workers()
