"""Signs of life in the database."""

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.health.schemas import Progress
from app.models import OutboxMessage
from app.workers import queries as workers


def progress(session: Session) -> Progress:
    """How sweeper, workers and outbox get on."""
    now = func.clock_timestamp()
    waiting = (OutboxMessage.delivered_at.is_(None), OutboxMessage.dead_at.is_(None))
    lag = select(func.extract("epoch", now - func.min(OutboxMessage.not_before))).where(*waiting)
    dead = select(func.count()).where(OutboxMessage.dead_at.is_not(None))
    age = workers.last_sweep_age(session)
    return Progress(
        sweep_age=None if age is None else age.total_seconds(),
        workers=workers.alive_workers(session),
        outbox_lag=max(float(session.scalar(lag) or 0), 0.0),
        outbox_dead=session.scalar(dead) or 0,
    )
