"""Looking at the parts of an installation, each in bounded time."""

from collections.abc import Callable
from typing import TypeVar

import anyio
import anyio.to_thread
import structlog
from sqlalchemy.exc import SQLAlchemyError

from app.errors import StorageUnavailableError
from app.health import queries
from app.health.rules import health_of
from app.health.schemas import Health, Progress, Readiness
from app.jobs import workers
from app.migrating import schema_problem
from app.platform import Platform

log = structlog.get_logger()

CHECK_SECONDS = 3.0
# seconds for which others are given what a check has found, and wait for one that has begun: one that hangs must not decide for them
SHARED_SECONDS = 1.0
THREADS = 4  # of their own, so that requests that wait for the database do not hold these checks up

_own_threads = anyio.CapacityLimiter(THREADS)
Result = TypeVar("Result")


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
        progress = queries.progress(session)
    return health_of(progress, platform.settings.sweep_seconds).sweep.status == "ok"


async def in_time(check: Callable[[Platform], Result], platform: Platform) -> Result | None:
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
            return queries.progress(session)

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
