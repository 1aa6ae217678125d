"""Health of the parts of an installation, each checked with a timeout."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TypeVar

import anyio
import anyio.to_thread
import structlog
from sqlalchemy import func, select, text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.orm import Session

from app.core.errors import StorageUnavailableError
from app.jobs import heartbeats
from app.jobs.queue import is_waiting
from app.models import Job, JobKind, Service
from app.platform import Platform

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class BackgroundWork:
    """The state of background work, read from the database."""

    sweep_age: float | None  # seconds since the last sweep; None before the first
    workers: int  # how many are alive
    jobs_lag: float  # seconds that the oldest due job other than a run has been waiting
    dead_jobs: int  # jobs that failed for good
    senders: int = 1  # how many are alive


@dataclass(frozen=True, slots=True)
class PartHealth:
    """One part of an installation: "ok" or a short problem, and the number behind it."""

    status: str
    value: float | None = None


@dataclass(frozen=True, slots=True)
class Health:
    """The health of an installation: "ok", or "degraded" if any part is not."""

    status: str
    database: PartHealth
    sweep: PartHealth  # seconds since the last one
    workers: PartHealth  # how many are alive
    senders: PartHealth  # how many are alive
    jobs: PartHealth  # seconds that the oldest due job other than a run has been waiting
    dead_jobs: PartHealth  # jobs that failed for good


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether this process can serve, and what is missing if not.

    waiting: what is accepted and waits because nobody does it, which does not keep this process from serving.
    """

    ready: bool
    missing: tuple[str, ...]
    waiting: tuple[str, ...] = ()


MISSED_SWEEPS = 4  # a sweep is late after this many intervals
LATE_MESSAGE = 60.0  # seconds


def health_of(progress: BackgroundWork | None, sweep_seconds: int) -> Health:
    """Return the health of an installation; `progress` is None if the database did not respond.

    >>> health_of(BackgroundWork(sweep_age=90.0, workers=1, jobs_lag=0.0, dead_jobs=0), 15).sweep
    PartHealth(status='late', value=90.0)
    """
    if progress is None:
        unknown = PartHealth("unknown")
        return Health("degraded", PartHealth("unreachable"), unknown, unknown, unknown, unknown, unknown)
    parts = {
        "database": PartHealth("ok"),
        "sweep": PartHealth(_sweep_status(progress.sweep_age, sweep_seconds), _rounded(progress.sweep_age)),
        "workers": PartHealth("ok" if progress.workers else "none", progress.workers),
        "senders": PartHealth("ok" if progress.senders else "none", progress.senders),
        "jobs": PartHealth("ok" if progress.jobs_lag < LATE_MESSAGE else "late", _rounded(progress.jobs_lag)),
        "dead_jobs": PartHealth("failed" if progress.dead_jobs else "ok", progress.dead_jobs),
    }
    is_well = all(part.status == "ok" for part in parts.values())
    return Health("ok" if is_well else "degraded", **parts)


def _sweep_status(age: float | None, sweep_seconds: int) -> str:
    if age is None:
        return "never"
    return "ok" if age <= MISSED_SWEEPS * sweep_seconds else "late"


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 1)


DISK_FULL, CONFIGURED_LIMIT = "53100", "53400"  # SQLSTATE codes
PROBE = text("""
WITH filled AS MATERIALIZED (SELECT repeat('x', 1 << 20) FROM generate_series(1, :mebibytes)) SELECT count(*) FROM filled
""")


def progress_of_jobs(session: Session) -> BackgroundWork:
    """Read the state of sweeper, workers and jobs."""
    now = func.clock_timestamp()
    due = func.coalesce(Job.not_before, Job.queued_at)
    lag = select(func.extract("epoch", now - func.min(due))).where(is_waiting(), Job.kind != JobKind.RUN)
    dead = select(func.count()).where(Job.dead_at.is_not(None))
    age = heartbeats.last_sweep_age(session)
    return BackgroundWork(
        sweep_age=None if age is None else age.total_seconds(),
        workers=heartbeats.alive_workers(session),
        jobs_lag=max(float(session.scalar(lag) or 0), 0.0),
        dead_jobs=session.scalar(dead) or 0,
        senders=heartbeats.alive_senders(session),
    )


def has_free_space(session: Session, mebibytes: int) -> bool | None:
    """Return whether the database's disk has space for this much more; None if temp_file_limit does not allow the test.

    PostgreSQL does not report free space. This writes a temporary file next to the tables, which is gone after the query.
    """
    try:
        with session.begin_nested():
            session.execute(text("SET LOCAL work_mem = '64kB'"))  # data that fits into memory is not written
            session.execute(PROBE, {"mebibytes": mebibytes})
    except DBAPIError as error:
        state = getattr(error.orig, "sqlstate", None)
        if state not in (DISK_FULL, CONFIGURED_LIMIT):
            raise
        return False if state == DISK_FULL else None
    return True


CHECK_SECONDS = 3.0
# seconds that a result is shared, and that others wait for a running check: a check that hangs must not block them
SHARED_SECONDS = 1.0
THREADS = 4  # dedicated ones, so that requests waiting for the database do not hold up these checks

_check_threads = anyio.CapacityLimiter(THREADS)
Value = TypeVar("Value")


async def health(platform: Platform) -> Health:
    """Return the health of this installation, at most a second old; takes a few seconds at most."""
    return health_of(await with_timeout(_progress, platform), platform.settings.sweep_seconds)


async def readiness(platform: Platform) -> Readiness:
    """Return whether this process can serve requests, and what is missing if not."""
    missing = tuple(message for message in (await checks(platform)).values() if message)
    progress = None if missing else await with_timeout(_progress, platform)
    waiting = (
        *(["scoring: no worker is alive"] if progress and not progress.workers else []),
        *(["mail and webhooks: no sender is alive"] if progress and not progress.senders else []),
    )
    return Readiness(ready=not missing, missing=missing, waiting=waiting)


async def checks(platform: Platform, names: Collection[str] = ("database", "storage")) -> dict[str, str]:
    """Return what is wrong with each service that requests need; an empty string if nothing."""
    found = {name: await with_timeout(CHECKS[name], platform) for name in names}
    return {
        name: f"{name} does not answer" if message is None else message for name, message in found.items()
    }


def is_alive(platform: Platform, host: str, service: Service) -> bool:
    """Return whether a worker, or a sender, on this host is alive."""
    with platform.transaction() as session:
        return heartbeats.has_alive_process(session, host, service)


def is_swept(platform: Platform) -> bool:
    """Return whether any process is looking for lost runs."""
    with platform.transaction() as session:
        progress = progress_of_jobs(session)
    return health_of(progress, platform.settings.sweep_seconds).sweep.status == "ok"


async def with_timeout(check: Callable[[Platform], Value], platform: Platform) -> Value | None:
    """Return the result of a check; None if it times out or the database is unavailable."""
    with anyio.move_on_after(CHECK_SECONDS):
        try:
            return await anyio.to_thread.run_sync(
                check, platform, abandon_on_cancel=True, limiter=_check_threads
            )
        except SQLAlchemyError as error:
            log.warning("health check failed", check=check.__name__, error=type(error).__name__)
    return None


def _progress(platform: Platform) -> BackgroundWork:
    """Read the progress at most once a second, because no rate limit applies to these requests."""

    def read() -> BackgroundWork:
        with platform.transaction() as session:
            return progress_of_jobs(session)

    return platform.cache.version(("health",), read, SHARED_SECONDS, patience=SHARED_SECONDS)


def _schema(platform: Platform) -> str:
    from app.operations.migrating import schema_problem  # noqa: PLC0415 - with Alembic, which no page needs

    with platform.transaction() as session:
        return schema_problem(session.connection()) or ""


def _storage(platform: Platform) -> str:
    """Check at most once a second, for the same reason: it writes a file, or an object that costs money."""

    def write() -> str:
        try:
            platform.archives.check()
        except StorageUnavailableError as error:
            log.warning("health check failed", check="storage", error=error.cause)
            return "the storage cannot be written"
        return ""

    return platform.cache.version(("storage",), write, SHARED_SECONDS, patience=SHARED_SECONDS)


CHECKS = {"database": _schema, "storage": _storage}
