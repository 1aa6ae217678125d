"""Checking every part of a deployment from where a command runs."""

import time
from collections.abc import Iterator

from sqlalchemy.exc import SQLAlchemyError

import scoring
from app import deployment_probes as probes
from app.backups import service as backups
from app.deployment import queries, rules
from app.deployment.schemas import Address, Broker, Check, Part, Truths, failed, passed, skipped
from app.errors import StorageUnavailableError
from app.health import queries as health
from app.health.rules import health_of
from app.jobs import workers
from app.migrating import APPEND_ONLY, schema_problem
from app.platform import Platform
from app.settings import SettingsError

OF_DATABASE = ("database role", "migrations", "clock", "disk of database", "workers", "sweeper", "jobs")


def checks(platform: Platform, part: Part, *, is_embedded: bool) -> Iterator[Check]:
    """Every check of the settings of a web process or a worker, each when it is made.

    is_embedded: web, workers and servers are known to be processes of one user on this machine.
    """
    settings = platform.settings
    yield from _database(platform)
    yield _broker(probes.ask_broker(str(settings.broker_url)))
    for name in ("archives", "descriptions", "artefacts"):
        yield rules.store(f"store of {name}", probes.round_trip(getattr(platform, name)))
    yield _contents(platform)
    if part is Part.WORKER:
        yield rules.truth_of_worker(_truths(platform))
        yield rules.mail(probes.mail(settings), settings.address)
    else:
        yield rules.truth_of_web(probes.web_secrets(settings), shares_user=is_embedded)
        yield rules.upload_limit(
            probes.announce(settings.address, settings.max_upload), settings.address, settings.max_upload
        )
    yield rules.disk(probes.disks(settings), 2 * settings.max_upload)
    yield rules.secrets(list(probes.secrets(settings)))
    yield rules.address(Address(settings.address, tuple(settings.proxies)))


def _database(platform: Platform) -> Iterator[Check]:
    """The checks of the database; when it cannot be reached, which of them could not be made."""
    try:
        with platform.transaction() as session:
            found = queries.role(session, APPEND_ONLY)
            problem = schema_problem(session.connection())
            before = time.time()
            moment = queries.now(session)
            difference = (before + time.time()) / 2 - moment
            size = queries.size(session)
            has_room = health.has_room(session, rules.PROBED)
    except SQLAlchemyError as error:
        reason = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
        yield failed(
            "database",
            f"cannot be reached: {reason}",
            "compare HELDOUT_DATABASE_URL with the server that runs",
        )
        for name in OF_DATABASE:
            yield skipped(name, "the database cannot be reached")
        return
    yield passed("database", "answers")
    yield rules.role(found)
    yield rules.schema(problem)
    yield rules.clock(difference)
    yield rules.room(size, has_room=has_room)
    if problem is None:
        yield from _work(platform)
        return
    for name in ("workers", "sweeper", "jobs"):
        yield skipped(name, "this version cannot run on the schema of the database")


def _work(platform: Platform) -> Iterator[Check]:
    with platform.snapshot() as session:
        slots = workers.slots_by_scorer(session)
        state = health_of(health.progress(session), platform.settings.sweep_seconds)
    yield rules.workers(slots, scoring.SCORER)
    yield rules.sweep(state.sweep)
    yield rules.jobs(state.jobs, state.dead_jobs)


def _broker(found: Broker | str) -> Check:
    if isinstance(found, str):
        return failed("broker", found, "compare HELDOUT_BROKER_URL with the server that runs")
    return rules.broker(found)


def _contents(platform: Platform) -> Check:
    try:
        return rules.contents(backups.inspect(platform))
    except (SQLAlchemyError, StorageUnavailableError):
        return skipped("stored files", "the database or a store cannot be used")


def _truths(platform: Platform) -> Truths:
    error = None
    try:
        error = probes.round_trip(platform.truths)
        with platform.transaction() as session:
            named = queries.truth_keys(session)
        missing = tuple(key for key in named if not platform.truths.exists(key))
    except SettingsError as unset:
        return Truths(0, error=str(unset))
    except (SQLAlchemyError, StorageUnavailableError):
        return Truths(0, error=error or "the database cannot be asked which there is")
    return Truths(len(named), missing, error, probes.exposure(platform.settings))
