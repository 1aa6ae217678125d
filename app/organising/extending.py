"""Extending a deadline for everybody because uploads were not available shortly before it."""

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import ColumnElement, and_, select
from sqlalchemy.orm import Session

from app.challenges import challenges, news
from app.challenges.challenges import PhaseView
from app.challenges.phase_rules import PhaseRules, has_results
from app.core import audit
from app.core.access import Actor
from app.core.errors import ConflictError, NotFoundError, RefusedError
from app.jobs import events
from app.models import EventKind, Extension, Outage, Phase, ServicePart
from app.organising.phases import change_refusals
from app.platform import Platform
from app.submissions.quotas import organised_phase
from app.web.formats import plural

NEAR: Final = timedelta(hours=48)  # before a deadline


@dataclass(frozen=True, slots=True)
class OutageNotice:
    """An outage near the deadline of a phase. closes_at: what the deadline would be, or was moved to; extended_at: when."""

    outage: int
    started_at: datetime
    ended_at: datetime
    minutes: int  # by which it can be, or was, extended
    closes_at: datetime
    extended_at: datetime | None
    refusals: tuple[str, ...] = ()  # why it cannot be extended


def in_minutes(length: timedelta) -> int:
    """Round a duration up to minutes.

    >>> in_minutes(timedelta(minutes=36, seconds=1))
    37
    """
    return math.ceil(length / timedelta(minutes=1))


def lost_minutes(started_at: datetime, ended_at: datetime, closes_at: datetime, grace: timedelta) -> int:
    """Return how many of the last 48 hours before a deadline, and of its grace period, an outage took; 0 if none.

    What lies after the deadline counts too: if the outage went on over it, people get back what they lost before it, counted
    from the end of the outage.
    """
    begin = max(started_at, closes_at - NEAR)
    is_near = begin < min(ended_at, closes_at + grace)
    return in_minutes(ended_at - begin) if is_near else 0


def _is_near() -> ColumnElement[bool]:
    """The condition that an outage touches the last hours of a phase, for statements about both."""
    return and_(
        Outage.part == ServicePart.UPLOADS,
        Outage.ended_at > Phase.closes_at - NEAR,
        Outage.started_at < Phase.closes_at + Phase.grace,
    )


def tell_organisers(session: Session, outage: Outage) -> None:
    """Tell the organisers of all phases whose last hours an outage touched, in the transaction that records it."""
    touched = select(Phase).join(Outage, _is_near()).where(Outage.id == outage.id).order_by(Phase.id)
    for phase in session.scalars(touched):
        assert phase.closes_at is not None
        minutes = lost_minutes(outage.started_at, outage.ended_at, phase.closes_at, phase.grace)
        events.record(
            session,
            EventKind.OUTAGE,
            challenge_id=phase.challenge_id,
            phase_id=phase.id,
            path=f"/organise/phases/{phase.id}#outages",
            title=f"uploads to {phase.image_set} were unavailable for {plural(minutes, 'minute')}",
        )


def notices(platform: Platform, actor: Actor, phase_id: int) -> tuple[OutageNotice, ...]:
    """Return the outages near the deadline of a phase, latest first. Raises NotFoundError unless the reader organises it."""
    with platform.snapshot() as session:
        phase = organised_phase(session, actor, phase_id)
        return tuple(_notice(session, phase, *row) for row in _near(session, phase))


def _near(session: Session, phase: PhaseView) -> list[tuple[Outage, Extension | None]]:
    is_of_phase = and_(Extension.outage_id == Outage.id, Extension.phase_id == phase.id)
    statement = (
        select(Outage, Extension)
        .join(Phase, _is_near())
        .outerjoin(Extension, is_of_phase)
        .where(Phase.id == phase.id)
        .order_by(Outage.ended_at.desc())
    )
    return [(outage, extension) for outage, extension in session.execute(statement)]


def _notice(session: Session, phase: PhaseView, outage: Outage, extension: Extension | None) -> OutageNotice:
    assert phase.closes_at is not None
    if extension is not None:
        return OutageNotice(
            outage.id, outage.started_at, outage.ended_at, extension.minutes, phase.closes_at, extension.extended_at
        )  # fmt: skip
    minutes = lost_minutes(outage.started_at, outage.ended_at, phase.closes_at, phase.grace_in_force)
    now, closes_at = challenges.now(session), phase.closes_at + timedelta(minutes=minutes)
    refusals = change_refusals(
        now,
        phase.rules,
        phase.rules.with_deadline(closes_at, now),
        has_results=has_results(session, phase.id),
    )
    return OutageNotice(
        outage.id, outage.started_at, outage.ended_at, minutes, closes_at, None,
        tuple(each.message for each in refusals),
    )  # fmt: skip


def undecided(session: Session, phase_ids: Collection[int]) -> frozenset[int]:
    """Return those of these phases with an outage near the deadline by which it was not extended."""
    is_extended = and_(Extension.outage_id == Outage.id, Extension.phase_id == Phase.id)
    statement = select(Phase.id).join(Outage, _is_near()).outerjoin(Extension, is_extended)
    found: Iterable[int] = session.scalars(
        statement.where(Phase.id.in_(phase_ids), Extension.outage_id.is_(None)).distinct()
    )
    return frozenset(found)


def extend(platform: Platform, actor: Actor, phase_id: int, outage_id: int) -> None:
    """Move the deadline of a phase by what an outage took of its last hours, once, and announce it.

    Raises NotFoundError, ConflictError if that was done already, RefusedError if the rules do not allow it any more.
    """
    with platform.transaction() as session:
        row = challenges.lock_phase(session, organised_phase(session, actor, phase_id).id)
        phase = organised_phase(session, actor, phase_id)  # its state under the lock
        if session.get(Extension, (outage_id, phase_id)) is not None:
            raise ConflictError("The deadline was extended because of this outage already")
        outage = next((each for each, _ in _near(session, phase) if each.id == outage_id), None)
        if outage is None or phase.closes_at is None:
            raise NotFoundError(f"there is no outage {outage_id} near the deadline of phase {phase_id}")
        minutes = lost_minutes(outage.started_at, outage.ended_at, phase.closes_at, phase.grace_in_force)
        now, rules = challenges.now(session), PhaseRules.of(row)
        after = rules.with_deadline(phase.closes_at + timedelta(minutes=minutes), now)
        if refusals := change_refusals(now, rules, after, has_results=has_results(session, phase_id)):
            raise RefusedError(refusals)
        why = f"Uploads were unavailable for {plural(minutes, 'minute')}."
        changes = news.change_rules(session, row, after, why)
        session.add(
            Extension(outage_id=outage_id, phase_id=phase_id, minutes=minutes, extended_by=actor.user_id)
        )
        audit.record(
            session,
            actor.user_id,
            "phase.extend",
            f"phase {phase_id}",
            challenge_id=phase.challenge_id,
            reason=why,
            before={each.name: each.before for each in changes},
            after={each.name: each.after for each in changes},
            details={"outage": outage_id},
        )
    platform.cache.expire_versions()
