"""Events that people are told of, recorded in the transaction of what happened."""

from typing import Any

from sqlalchemy.orm import Session

from app.jobs import queue
from app.models import Event, EventKind, JobKind


def record(
    session: Session,
    kind: EventKind,
    *,
    challenge_id: int | None = None,
    phase_id: int | None = None,
    team_id: int | None = None,
    user_id: int | None = None,
    **details: Any,
) -> None:
    """Record an event; a job tells everybody whom it concerns after this transaction.

    user_id: the only person it is for, if there is one; details: ids and words that its text needs, never a score.
    """
    event = Event(
        kind=kind,
        challenge_id=challenge_id,
        phase_id=phase_id,
        team_id=team_id,
        user_id=user_id,
        details=details,
    )
    session.add(event)
    queue.add(session, JobKind.NOTIFY, {}, key="events")
