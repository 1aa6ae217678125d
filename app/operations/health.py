"""Health of the parts of an installation, each asked in bounded time."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import anyio
import anyio.to_thread
import structlog
from sqlalchemy import func, select, text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.orm import Session

from app.core.errors import StorageUnavailableError
from app.jobs import workers
from app.jobs.queue import is_waiting
from app.models import Job, JobKind
from app.operations.migrating import schema_problem
from app.platform import Platform


@dataclass(frozen=True, slots=True)
class Progress:
    """How the work behind the pages goes on, as the database knows it."""

    sweep_age: float | None  # seconds since the last sweep; none: there was none yet
    workers: int  # alive
    jobs_lag: float  # seconds for which the oldest due job other than a run has been waiting
    dead_jobs: int  # jobs that were given up


@dataclass(frozen=True, slots=True)
class Part:
    """One part of an installation: "ok", or what is wrong in a few words, and the number behind it."""

    status: str
    value: float | None = None


@dataclass(frozen=True, slots=True)
class Health:
    """The state of an installation; "degraded" when a part is not ok."""

    status: str
    database: Part
    sweep: Part  # seconds since the last one
    workers: Part  # how many are alive
    jobs: Part  # seconds that the oldest job other than a run is late
    dead_jobs: Part  # jobs that were given up


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether this process may serve, and what is missing for that."""

    ready: bool
    missing: tuple[str, ...]


MISSED_SWEEPS = 4  # so many intervals without a sweep mean that something is wrong
LATE_MESSAGE = 60.0  # seconds


def health_of(progress: Progress | None, sweep_seconds: int) -> Health:
    """The state of an installation; without `progress` its database did not answer.

    >>> health_of(Progress(sweep_age=90.0, workers=1, jobs_lag=0.0, dead_jobs=0), 15).sweep
    Part(status='late', value=90.0)
    """
    if progress is None:
        unknown = Part("unknown")
        return Health("degraded", Part("unreachable"), unknown, unknown, unknown, unknown)
    parts = {
        "database": Part("ok"),
        "sweep": Part(_sweep_status(progress.sweep_age, sweep_seconds), _rounded(progress.sweep_age)),
        "workers": Part("ok" if progress.workers else "none", progress.workers),
        "jobs": Part("ok" if progress.jobs_lag < LATE_MESSAGE else "late", _rounded(progress.jobs_lag)),
        "dead_jobs": Part("failed" if progress.dead_jobs else "ok", progress.dead_jobs),
    }
    is_well = all(part.status == "ok" for part in parts.values())
    return Health("ok" if is_well else "degraded", **parts)


def _sweep_status(age: float | None, sweep_seconds: int) -> str:
    if age is None:
        return "never"
    return "ok" if age <= MISSED_SWEEPS * sweep_seconds else "late"


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 1)


DISK_FULL, CONFIGURED_LIMIT = "53100", "53400"  # as PostgreSQL calls its errors
PROBE = text("""
WITH filled AS MATERIALIZED (SELECT repeat('x', 1 << 20) FROM generate_series(1, :mebibytes)) SELECT count(*) FROM filled
""")


def progress_of_jobs(session: Session) -> Progress:
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


log = structlog.get_logger()

CHECK_SECONDS = 3.0
# seconds for which others are given what a check has found, and wait for one that has begun: one that hangs must not decide for them
SHARED_SECONDS = 1.0
THREADS = 4  # of their own, so that requests that wait for the database do not hold these checks up

_own_threads = anyio.CapacityLimiter(THREADS)
Value = TypeVar("Value")


async def health(platform: Platform) -> Health:
    """How this installation is, at most a second ago; never waits longer than a few seconds."""
    return health_of(await in_time(_progress, platform), platform.settings.sweep_seconds)


async def readiness(platform: Platform) -> Readiness:
    """Whether requests can be served here, and what is missing for that."""
    missing = tuple(message for message in (await checks(platform)).values() if message)
    return Readiness(ready=not missing, missing=missing)


async def checks(platform: Platform) -> dict[str, str]:
    """By what has to be there for requests to be served, what is wrong with it; empty where nothing is."""
    found = {name: await in_time(check, platform) for name, check in CHECKS.items()}
    return {
        name: f"{name} does not answer" if message is None else message for name, message in found.items()
    }


def is_worker_alive(platform: Platform, host: str) -> bool:
    """Whether a worker on this host has shown a sign of life in the last minute."""
    with platform.transaction() as session:
        return workers.has_alive_worker(session, host)


def is_swept(platform: Platform) -> bool:
    """Whether lost runs are looked for, by whichever process."""
    with platform.transaction() as session:
        progress = progress_of_jobs(session)
    return health_of(progress, platform.settings.sweep_seconds).sweep.status == "ok"


async def in_time(check: Callable[[Platform], Value], platform: Platform) -> Value | None:
    """The result of a check, None when it takes too long or the database is away."""
    with anyio.move_on_after(CHECK_SECONDS):
        try:
            return await anyio.to_thread.run_sync(
                check, platform, abandon_on_cancel=True, limiter=_own_threads
            )
        except SQLAlchemyError as error:
            log.warning("health check failed", check=check.__name__, error=type(error).__name__)
    return None


def _progress(platform: Platform) -> Progress:
    """Read once a second, however often and by whomever it is asked for: no limit counts these requests."""

    def read() -> Progress:
        with platform.transaction() as session:
            return progress_of_jobs(session)

    return platform.cache.version(("health",), read, SHARED_SECONDS, patience=SHARED_SECONDS)


def _schema(platform: Platform) -> str:
    with platform.transaction() as session:
        return schema_problem(session.connection()) or ""


def _storage(platform: Platform) -> str:
    """Tried once a second, for the same reason: it writes a file, or an object that is paid for."""

    def write() -> str:
        try:
            platform.archives.check()
        except StorageUnavailableError as error:
            log.warning("health check failed", check="storage", error=error.cause)
            return "the storage cannot be written"
        return ""

    return platform.cache.version(("storage",), write, SHARED_SECONDS, patience=SHARED_SECONDS)


CHECKS = {"database": _schema, "storage": _storage}
