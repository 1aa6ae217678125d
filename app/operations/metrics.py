"""Metrics for Prometheus: counters of web processes, and gauges read from the database at each scrape.

Every statement uses an index, so its cost does not grow with the history.
"""

import secrets
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import timedelta
from itertools import accumulate
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Metric, generate_latest
from prometheus_client.core import GaugeHistogramMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector
from sqlalchemy import ARRAY, ColumnElement, Float, and_, case, func, literal, or_, select
from sqlalchemy.orm import Session

from app.core import counters
from app.core.access import Action
from app.core.errors import NotFoundError
from app.evaluation.scoring import ENDED, LOST_MESSAGE, STOPPED_MESSAGE
from app.jobs.heartbeats import is_alive
from app.jobs.queue import LIVE, is_held, is_waiting
from app.models import Heartbeat, Job, JobKind, Queue, Run, RunState, Upload, UploadState
from app.operations import health
from app.operations.data_folder import EMBEDDED_DATABASE
from app.operations.health import BackgroundWork, Health, PartHealth, health_of
from app.platform import Platform
from app.web.dependencies import ThePlatform, requires

# not tied to an account: a token is enough to read it
router = APIRouter(include_in_schema=False, dependencies=[requires(Action.READ_PUBLIC)])

PROBE_MIB = 1  # MiB that must fit on the disk of the database at every scrape
WINDOW = timedelta(minutes=10)  # what counts as recent
SCORING_BOUNDS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0)  # seconds
WAIT_BOUNDS = (0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 14400.0)
OUTCOMES = (
    ("scored", ""),
    ("refused", "archive"),
    ("refused", "over a limit"),
    ("failed", "crashed"),
    ("failed", "worker lost"),
)
Samples = Iterable[tuple[Sequence[str], float]]


@dataclass(frozen=True, slots=True)
class Readings:
    """What the database reports at one time."""

    progress: BackgroundWork
    metrics: tuple[Metric, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Collected(Collector):
    """A collector of metrics that were read beforehand, in another thread."""

    metrics: tuple[Metric, ...]

    def collect(self) -> Iterable[Metric]:
        """Return the metrics."""
        return self.metrics


@router.get("/metrics")
async def metrics(platform: ThePlatform, request: Request) -> Response:
    """Report queue, workers, runs, jobs, disks and requests in the Prometheus text format."""
    _require_token(platform, request.headers.get("authorization", ""))
    content = await exposition(platform)
    return Response(content, media_type=CONTENT_TYPE_LATEST, headers={"Cache-Control": "no-store"})


def _require_token(platform: Platform, authorization: str) -> None:
    """Raise NotFoundError unless a token is configured and the header has it."""
    expected = platform.settings.metrics_token
    scheme, _, found = authorization.partition(" ")
    if (
        expected is None
        or scheme.lower() != "bearer"
        or not secrets.compare_digest(found.strip().encode(), expected.encode())
    ):
        raise NotFoundError("There is no page at this address")


async def exposition(platform: Platform) -> bytes:
    """Return the metrics in the Prometheus text format, without those of the database if it does not respond."""
    readings = await health.with_timeout(_fresh, platform)
    state = health_of(readings.progress if readings else None, platform.settings.sweep_seconds)
    usage = await health.with_timeout(disks, platform)
    found = [*of_health(state, await health.checks(platform)), *of_disks(usage or {})]
    registry = CollectorRegistry()
    known = readings.metrics if readings else ()
    for collector in (*counters.collectors(), Collected((*found, *known))):
        registry.register(collector)
    return generate_latest(registry)


def _fresh(platform: Platform) -> Readings:
    """Return readings at most a second old, shared by concurrent requests."""

    def read_now() -> Readings:
        with platform.transaction() as session:
            return read(session)

    return platform.cache.version("metrics", read_now)


def disks(platform: Platform) -> dict[str, tuple[int, int]]:
    """Return free and total bytes of the disks of temporary files and, if they are local folders, storage and database."""
    settings = platform.settings
    folders = {"scratch": Path(tempfile.gettempdir()), "database": settings.data / EMBEDDED_DATABASE}
    if settings.s3_bucket is None:
        folders["storage"] = settings.public_storage
    usage = {place: shutil.disk_usage(folder) for place, folder in folders.items() if folder.exists()}
    return {place: (each.free, each.total) for place, each in usage.items()}


def of_health(state: Health, missing: Mapping[str, str]) -> Iterator[Metric]:
    """Yield what `/health` and `/ready` report, 1 if ok; a part whose state is unknown has no sample."""
    parts = {field.name: getattr(state, field.name) for field in fields(state)}
    known = ((name, part) for name, part in parts.items() if isinstance(part, PartHealth))
    healthy = [([name], float(part.status == "ok")) for name, part in known if part.status != "unknown"]
    yield _gauge("heldout_healthy", "Whether a part is ok as /health reports it.", ["part"], healthy)
    ready = [([name], float(not message)) for name, message in missing.items()]
    yield _gauge("heldout_ready", "Whether a process can serve as /ready reports it.", ["check"], ready)


def of_disks(usage: Mapping[str, tuple[int, int]]) -> Iterator[Metric]:
    """Yield free and total bytes of the web server's disks."""
    free = [([place], bytes_free) for place, (bytes_free, _) in usage.items()]
    yield _gauge("heldout_disk_free_bytes", "Bytes free on the disk of a folder.", ["place"], free)
    size = [([place], bytes_in_all) for place, (_, bytes_in_all) in usage.items()]
    yield _gauge("heldout_disk_size_bytes", "Bytes of the disk of a folder.", ["place"], size)


def read(session: Session) -> Readings:
    """Read the metrics from the database."""
    progress = health.progress_of_jobs(session)
    found = [*_of_queue(session), *_of_workers(session), *_of_recent_runs(session), *_of_jobs(session)]
    if progress.sweep_age is not None:
        age = [((), progress.sweep_age)]
        found.append(_gauge("heldout_sweep_age_seconds", "Seconds since the last complete sweep.", [], age))
    found.append(_of_uploads(session))
    has_room = health.has_free_space(session, PROBE_MIB)
    if has_room is not None:
        meaning = "Whether the disk of the database has space for another MiB."
        found.append(_gauge("heldout_database_has_room", meaning, [], [((), float(has_room))]))
    return Readings(progress, tuple(found))


def _of_queue(session: Session) -> Iterator[Metric]:
    """Yield the queue of runs by scorer version and priority."""
    now = func.clock_timestamp()
    paused = func.count().filter(or_(Job.not_before > now, Job.damaged_content_id.is_not(None)))
    oldest = _seconds(now - func.min(Job.queued_at))
    waits = (Job.queue == Queue.RUNS, is_waiting())
    by_priority = (
        select(Job.scorer, Job.priority, func.count(), paused, oldest)
        .where(*waits, ~is_held())
        .group_by(Job.scorer, Job.priority)
    )
    rows = [
        ((scorer, "live" if priority == LIVE else "shadow"), counts)
        for scorer, priority, *counts in session.execute(by_priority)
    ]
    gauges = (
        ("heldout_queue_runs", "Runs that wait, without those that are held."),
        ("heldout_queue_paused_runs", "Runs that wait for a retry."),
        ("heldout_queue_oldest_seconds", "Seconds for which the oldest of them has waited."),
    )
    for place, (name, meaning) in enumerate(gauges):
        samples = [(labels, counts[place]) for labels, counts in rows]
        yield _gauge(name, meaning, ["scorer", "priority"], samples)
    held = session.scalar(select(func.count()).where(*waits, is_held())) or 0
    yield _gauge(
        "heldout_queue_held_runs",
        "Runs of suspended teams and of phases whose scoring is paused.",
        [],
        [((), held)],
    )


def _of_workers(session: Session) -> Iterator[Metric]:
    """Yield claimed runs and live workers, by scorer version."""
    overdue = func.count().filter(Job.lease_until < func.clock_timestamp())
    claimed = select(Job.scorer, func.count(), overdue).where(
        Job.queue == Queue.RUNS, Job.lease_until.is_not(None)
    )
    claims = session.execute(claimed.group_by(Job.scorer)).all()
    alive = select(func.coalesce(Heartbeat.scorer, ""), func.count(), func.sum(Heartbeat.slots))
    workers = session.execute(alive.where(is_alive()).group_by(Heartbeat.scorer)).all()
    for name, meaning, samples in (
        ("heldout_claims", "Runs that workers have claimed.", [([each[0]], each[1]) for each in claims]),
        (
            "heldout_claims_overdue",
            "Claimed runs whose lease has expired.",
            [([each[0]], each[2]) for each in claims],
        ),
        ("heldout_workers", "Live workers.", [([each[0]], each[1]) for each in workers]),
        (
            "heldout_worker_slots",
            "Runs that workers score at the same time.",
            [([each[0]], each[2]) for each in workers],
        ),
    ):
        yield _gauge(name, meaning, ["scorer"], samples)


def _of_recent_runs(session: Session) -> Iterator[Metric]:
    """Yield how recent runs ended, and how long they took."""
    reason = case(
        (_failed_with(RunState.FAILED, LOST_MESSAGE.partition("{")[0]), "worker lost"),
        (Run.state == RunState.FAILED, "crashed"),
        (_failed_with(RunState.REFUSED, STOPPED_MESSAGE), "over a limit"),
        (Run.state == RunState.REFUSED, "archive"),
        else_="",
    ).label("reason")
    ended = select(Run.state, reason, func.count()).where(_is_recent(*ENDED)).group_by(Run.state, reason)
    counts = {(state.value, why): count for state, why, count in session.execute(ended)}
    samples = list((dict.fromkeys(OUTCOMES, 0) | counts).items())
    meaning = "Runs that ended in the last ten minutes, by state and reason."
    yield _gauge("heldout_recent_runs", meaning, ["state", "reason"], samples)
    yield _histogram(
        session,
        "heldout_recent_scoring_seconds",
        "Seconds from claim to score of runs scored in the last ten minutes.",
        SCORING_BOUNDS,
        _seconds(Run.finished_at - Run.claimed_at),
    )
    yield _histogram(
        session,
        "heldout_recent_wait_seconds",
        "Seconds from queue to claim of participants' runs scored in the last ten minutes.",
        WAIT_BOUNDS,
        _seconds(Run.claimed_at - Run.queued_at),
        Run.rescore_id.is_(None),
    )


def _of_jobs(session: Session) -> Iterator[Metric]:
    """Yield jobs other than runs, by kind."""
    due = func.coalesce(Job.not_before, Job.queued_at)
    is_dead = Job.dead_at.is_not(None)
    late = func.greatest(_seconds(func.clock_timestamp() - func.min(due).filter(~is_dead)), 0.0)
    statement = (
        select(Job.kind, func.count().filter(~is_dead), late, func.count().filter(is_dead))
        .where(Job.queue.in_([queue for queue in Queue if queue is not Queue.RUNS]))
        .group_by(Job.kind)
    )
    found = {kind: counts for kind, *counts in session.execute(statement)}
    kinds = [kind for kind in JobKind if kind is not JobKind.RUN]
    gauges = (
        ("heldout_jobs", "Jobs other than runs that are not done yet."),
        ("heldout_jobs_late_seconds", "Seconds since the oldest of them became due."),
        ("heldout_jobs_dead", "Jobs that failed for good."),
    )
    for place, (name, meaning) in enumerate(gauges):
        samples = [([kind.value], found.get(kind, (0, 0.0, 0))[place] or 0) for kind in kinds]
        yield _gauge(name, meaning, ["kind"], samples)


def _of_uploads(session: Session) -> Metric:
    """Return unfinished uploads, and those being checked."""
    receiving = select(func.count()).where(Upload.state == UploadState.RECEIVING)
    checking = select(func.count()).where(
        Upload.state == UploadState.RECEIVED, Upload.check_until > func.clock_timestamp()
    )
    samples = [
        (["receiving"], session.scalar(receiving) or 0),
        (["checking"], session.scalar(checking) or 0),
    ]
    meaning = "Uploads that are not complete or are being checked."
    return _gauge("heldout_uploads", meaning, ["state"], samples)


def _failed_with(state: RunState, words: str) -> ColumnElement[bool]:
    return and_(Run.state == state, Run.failure_message.startswith(words))


def _is_recent(*states: RunState) -> ColumnElement[bool]:
    # now() is stable, so that an index can be used
    return and_(Run.state.in_(states), Run.finished_at > func.now() - WINDOW)


def _seconds(interval: ColumnElement[Any]) -> ColumnElement[Any]:
    return func.extract("epoch", interval).cast(Float)


def _gauge(name: str, meaning: str, labels: Sequence[str], samples: Samples) -> Metric:
    family = GaugeMetricFamily(name, meaning, labels=labels)
    for values, value in samples:
        family.add_metric(values, value)
    return family


def _histogram(
    session: Session,
    name: str,
    meaning: str,
    bounds: Sequence[float],
    seconds: ColumnElement[Any],
    *which: ColumnElement[bool],
) -> Metric:
    """Return a histogram of recently scored runs; unlike a counter it can fall, so take its quantiles without rate()."""
    bar = func.width_bucket(seconds, literal(list(bounds), ARRAY(Float))).label("bar")
    scored = (_is_recent(RunState.SCORED), Run.claimed_at.is_not(None), *which)
    rows = session.execute(select(bar, func.count(), func.sum(seconds)).where(*scored).group_by(bar)).all()
    found = {place: count for place, count, _ in rows}
    counts = accumulate(found.get(place, 0) for place in range(len(bounds) + 1))
    buckets = list(zip((*map(str, bounds), "+Inf"), counts, strict=True))
    return GaugeHistogramMetricFamily(name, meaning, buckets, sum(total for *_, total in rows))
