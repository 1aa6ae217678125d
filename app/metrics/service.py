"""Collecting the metrics of an installation, each part in bounded time."""

import secrets
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from prometheus_client import CollectorRegistry, Metric, generate_latest
from prometheus_client.registry import Collector
from sqlalchemy.orm import Session

from app import counters
from app.data_folder import EMBEDDED_DATABASE
from app.errors import NotFoundError
from app.health import queries as health_queries
from app.health import service as health
from app.health.rules import health_of
from app.metrics import queries
from app.metrics.rules import (
    SCORING_BOUNDS,
    WAIT_BOUNDS,
    metrics_of,
    metrics_of_disks,
    metrics_of_health,
)
from app.metrics.schemas import Disk, Readings
from app.platform import Platform

PROBED = 1  # MiB that the disk of the database has to take at every scrape


@dataclass(frozen=True, slots=True, eq=False)
class Collected(Collector):
    """Metrics that were collected already."""

    metrics: tuple[Metric, ...]

    def collect(self) -> Iterable[Metric]:
        """Hand them over."""
        return self.metrics


def refuse_unknown(platform: Platform, authorization: str) -> None:
    """Raise NotFoundError for a header that does not hold the token of the settings, and where there is none."""
    expected = platform.settings.metrics_token
    scheme, _, found = authorization.partition(" ")
    if (
        expected is None
        or scheme.lower() != "bearer"
        or not secrets.compare_digest(found.strip().encode(), expected.encode())
    ):
        raise NotFoundError("There is no page at this address")


async def exposition(platform: Platform) -> bytes:
    """The metrics in the text format of Prometheus; what the database knows is left out while it does not answer."""
    readings = await health.in_time(_fresh, platform)
    state = health_of(readings.progress if readings else None, platform.settings.sweep_seconds)
    disks = await health.in_time(_disks, platform)
    found = [*metrics_of_health(state, await health.checks(platform)), *metrics_of_disks(disks or ())]
    if readings is not None:
        found += metrics_of(readings)
    registry = CollectorRegistry()
    for collector in (*counters.collectors(), Collected(tuple(found))):
        registry.register(collector)
    return generate_latest(registry)


def _fresh(platform: Platform) -> Readings:
    """Readings at most a second old, which everybody who asks meanwhile shares."""

    def read_now() -> Readings:
        with platform.transaction() as session:
            return read(session)

    return platform.cache.version("metrics", read_now)


def read(session: Session) -> Readings:
    """What the database knows now."""
    return Readings(
        progress=health_queries.progress(session),
        waiting=queries.waiting(session),
        held=queries.held(session),
        claims=queries.claims(session),
        workers=queries.workers(session),
        ended=queries.ended(session),
        scoring=queries.scoring_seconds(session, SCORING_BOUNDS),
        wait=queries.wait_seconds(session, WAIT_BOUNDS),
        messages=queries.messages(session),
        uploads=queries.uploads(session),
        has_room=health_queries.has_room(session, PROBED),
    )


def _disks(platform: Platform) -> tuple[Disk, ...]:
    """The disks of the storage and the database, where they are folders of ours, and the one that archives pass through."""
    settings = platform.settings
    folders = {"scratch": Path(tempfile.gettempdir()), "database": settings.data / EMBEDDED_DATABASE}
    if settings.s3_bucket is None:
        folders["storage"] = settings.public_storage
    usage = {place: shutil.disk_usage(folder) for place, folder in folders.items() if folder.exists()}
    return tuple(Disk(place, each.free, each.total) for place, each in usage.items())
