"""Signs of life in the database."""

from sqlalchemy import func, select, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from app.health.schemas import Progress
from app.jobs import workers
from app.jobs.queue import is_waiting
from app.models import Job, JobKind

DISK_FULL, CONFIGURED_LIMIT = "53100", "53400"  # as PostgreSQL calls its errors
PROBE = text("""
WITH filled AS MATERIALIZED (SELECT repeat('x', 1 << 20) FROM generate_series(1, :mebibytes)) SELECT count(*) FROM filled
""")


def progress(session: Session) -> Progress:
    """How sweeper, workers and jobs get on."""
    now = func.clock_timestamp()
    due = func.coalesce(Job.not_before, Job.queued_at)
    lag = select(func.extract("epoch", now - func.min(due))).where(is_waiting(), Job.kind != JobKind.RUN)
    dead = select(func.count()).where(Job.dead_at.is_not(None))
    age = workers.last_sweep_age(session)
    return Progress(
        sweep_age=None if age is None else age.total_seconds(),
        workers=workers.alive_workers(session),
        jobs_lag=max(float(session.scalar(lag) or 0), 0.0),
        dead_jobs=session.scalar(dead) or 0,
    )


def has_room(session: Session, mebibytes: int) -> bool | None:
    """Whether the disk of the database takes so much more; none where a limit on temporary files forbids to try.

    PostgreSQL does not tell how much is free. This writes a temporary file where the tables are, which ends with the query.
    """
    try:
        with session.begin_nested():
            session.execute(text("SET LOCAL work_mem = '64kB'"))  # what fits into memory is not written
            session.execute(PROBE, {"mebibytes": mebibytes})
    except DBAPIError as error:
        state = getattr(error.orig, "sqlstate", None)
        if state not in (DISK_FULL, CONFIGURED_LIMIT):
            raise
        return False if state == DISK_FULL else None
    return True
