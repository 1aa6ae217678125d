"""Closing a phase early, at once or at a time before its deadline."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from app.challenges import challenges, news
from app.challenges.challenges import PhaseView
from app.challenges.disclosure import public_visibility
from app.challenges.phase_rules import PhaseRules, PhaseState
from app.core import audit
from app.core.access import Actor
from app.core.errors import ForbiddenError, PhaseBroken, PhaseUnfair, Refusal, raise_if_refused
from app.models import Phase
from app.platform import Platform
from app.web.zones import Moment


class EarlyClose(BaseModel):
    """When a phase closes, and why."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True)

    closes_at: Annotated[Moment | None, Field(description="null: now")]
    reason: Annotated[str, Field(min_length=3, max_length=300, description="everybody reads it in the news")]


def refusals(now: datetime, phase: PhaseView, closes_at: datetime) -> Iterator[Refusal]:
    """Yield the reasons why a phase cannot close early at this time."""
    if phase.is_draft or phase.state is PhaseState.UPCOMING:
        yield PhaseBroken("the phase has not opened yet; change its dates")
    elif phase.state is PhaseState.CLOSED:
        yield PhaseBroken("the phase is closed already")
    elif closes_at < now:
        yield PhaseUnfair("the deadline would be in the past")
    elif phase.closes_at is not None and closes_at >= phase.closes_at:
        yield PhaseBroken("the phase closes before that time; change its dates to move the deadline back")


def consequences(phase: PhaseView) -> tuple[str, ...]:
    """Return what follows when an open phase closes early, for its organisers to read before they decide."""
    return (
        "What was submitted until then is scored and counts.",
        "Everything else is refused, also uploads that were started before: there is no grace period.",
        *_shown(phase),
        "All teams of the challenge are notified, and its news say so, with your reason.",
        "What becomes public cannot be hidden again, so the phase cannot reopen once it has closed."
        if phase.reveals
        else "Nothing that is hidden becomes public, so a later deadline can reopen the phase, with the grace period that it has now.",
    )


def _shown(phase: PhaseView) -> Iterator[str]:
    now, after = public_visibility(phase), public_visibility(replace(phase, is_over=True))
    if phase.embargo:
        yield "The results of all public methods are shown to everybody at that time."
    elif phase.is_frozen:
        yield "The results that are frozen are shown to everybody at that time."
    if after.details and not now.details:
        yield "Everything about the scores is shown at that time: every digit, each class, curves, intervals and counts."
    elif after != now:
        yield "The mean and the score of each class are shown at that time, in tenths of a percent."


def may_close(actor: Actor, phase: PhaseView) -> bool:
    """Whether an organiser may close this phase early; where that reveals details of hidden annotation, only owners may."""
    return actor.owns_challenge(phase.challenge_id) or not (phase.is_held_out and phase.details_at_close)


def close_early(platform: Platform, actor: Actor, phase_id: int, asked: EarlyClose) -> None:
    """Close a phase now, or at a time before its deadline, without a grace period, and announce it.

    A later deadline brings back the grace period and the days in which rows are frozen.

    Whoever confirms an upload meanwhile does so before, or finds the phase closed. Raises NotFoundError for a phase that the
    actor does not organise, ForbiddenError, RefusedError with all reasons.
    """
    with platform.transaction() as session:
        phase = challenges.require_phase(session, actor, phase_id, lock=True)
        row = session.get_one(Phase, phase_id)
        if not may_close(actor, phase):
            raise ForbiddenError(
                "Only owners of the challenge close a phase that shows everything once it is over"
            )
        now = challenges.now(session)
        closes_at = asked.closes_at or now
        raise_if_refused(tuple(refusals(now, phase, closes_at)))
        why = f"The phase closes early. Reason: {asked.reason}"
        changes = news.change_rules(session, row, PhaseRules.of(row).closed_early(closes_at, now), why)
        audit.record(
            session,
            actor.user_id,
            "phase.close",
            f"phase {phase_id}",
            challenge_id=phase.challenge_id,
            reason=asked.reason,
            before={each.name: each.before for each in changes},
            after={each.name: each.after for each in changes},
        )
    platform.cache.expire_versions()
