"""Events of the calendar: phases that opened or closed, deadlines that are near; each is recorded once, also after an outage."""

from datetime import timedelta
from typing import Any, Final

from sqlalchemy import ColumnElement, Select, Text, func, literal, or_, select
from sqlalchemy import cast as as_type
from sqlalchemy.orm import Session

from app.challenges import challenges
from app.challenges.challenges import PhaseView
from app.jobs import events, heartbeats
from app.models import EventKind, Phase, Team, Upload, UploadState
from app.platform import Platform
from app.submissions.retention import is_confirmed

EVERY: Final = timedelta(minutes=1)
LATE: Final = timedelta(days=3)  # after which nobody is told any more that a phase opened or closed
WARNINGS: Final = (timedelta(days=3), timedelta(hours=24))  # before a deadline


def record_dates(platform: Platform) -> None:
    """Record phases that opened or closed lately, and warn teams of near deadlines."""
    with platform.transaction() as session:
        if not heartbeats.start_if_due(session, "dates of phases", EVERY):
            return
        for phase in _near(session):
            _record_opening(session, phase)
            _record_close(session, phase)
            _warn_teams(session, phase)


def _near(session: Session) -> list[PhaseView]:
    now = func.now()
    is_near = or_(
        Phase.opens_at.between(now - LATE, now), Phase.closes_at.between(now - LATE, now + max(WARNINGS))
    )
    ids = session.scalars(select(Phase.id).where(is_near)).all()
    return [
        each
        for each in challenges.phases_with(session, ids).values()
        if not each.is_draft and not each.archived_at
    ]


def _record_opening(session: Session, phase: PhaseView) -> None:
    now = challenges.now(session)
    if now - LATE <= phase.opens_at <= now and (phase.closes_at is None or now < phase.closes_at):
        _record(session, EventKind.OPENED, phase, phase.opens_at.isoformat())


def _record_close(session: Session, phase: PhaseView) -> None:
    now = challenges.now(session)
    if phase.closes_at is not None and now - LATE <= phase.closes_at <= now:
        _record(session, EventKind.CLOSED, phase, phase.closes_at.isoformat())


def _record(session: Session, kind: EventKind, phase: PhaseView, at: str) -> None:
    """Record that a phase opened or closed, once for each date that was set."""
    key = f"{kind}/{phase.id}/{at}"
    events.record_once(session, key, kind, challenge_id=phase.challenge_id, phase_id=phase.id, at=at)


def _warn_teams(session: Session, phase: PhaseView) -> None:
    """Record for each team with a valid archive that it has not submitted that the deadline is near.

    Only an archive that was there when the warning became due counts: who uploads later is at work on it.
    """
    now = challenges.now(session)
    if phase.closes_at is None or now >= phase.closes_at:
        return
    due = [before for before in WARNINGS if now >= phase.closes_at - before]
    if due:
        events.record_each(session, EventKind.DEADLINE, _unsubmitted(phase, min(due)))


def _unsubmitted(phase: PhaseView, before: timedelta) -> Select[*tuple[Any, ...]]:
    assert phase.closes_at is not None
    key = f"{EventKind.DEADLINE}/{phase.id}/{phase.closes_at.isoformat()}/{before}/"
    waits: tuple[ColumnElement[bool], ...] = (
        Upload.phase_id == phase.id,
        Upload.state == UploadState.CHECKED,
        Upload.valid.is_(True),
        Upload.checked_at < phase.closes_at - before,
        ~is_confirmed(),
        Team.suspended_at.is_(None),
    )
    return (
        select(
            literal(phase.challenge_id).label("challenge_id"),
            literal(phase.id).label("phase_id"),
            Upload.team_id,
            func.jsonb_build_object().label("details"),
            (literal(key) + as_type(Upload.team_id, Text)).label("key"),
        )
        .join(Upload.team)
        .where(*waits)
        .distinct()
    )
