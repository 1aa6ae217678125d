"""Readings as metrics of Prometheus."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import accumulate

from prometheus_client import Metric
from prometheus_client.core import GaugeHistogramMetricFamily, GaugeMetricFamily

from app.health.schemas import Health, Part
from app.jobs.queue import LIVE
from app.metrics.schemas import Bar, Disk, Readings

SCORING_BOUNDS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0)  # seconds
WAIT_BOUNDS = (0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 14400.0)
OUTCOMES = (
    ("scored", ""),
    ("refused", "archive"),
    ("refused", "over a limit"),
    ("failed", "crashed"),
    ("failed", "worker lost"),
)
Value = tuple[Sequence[str], float]


def metrics_of_health(health: Health, missing: Mapping[str, str]) -> Iterator[Metric]:
    """What `/health` and `/ready` say: 1 where it is well; a part of which nothing is known has no sample."""
    parts = {field.name: getattr(health, field.name) for field in fields(health)}
    known = {
        name: part for name, part in parts.items() if isinstance(part, Part) and part.status != "unknown"
    }
    yield _gauge(
        "heldout_healthy",
        "Whether a part is ok as /health reports it.",
        ["part"],
        [([name], part.status == "ok") for name, part in known.items()],
    )
    yield _gauge(
        "heldout_ready",
        "Whether a process can serve as /ready reports it.",
        ["check"],
        [([name], not message) for name, message in missing.items()],
    )


def metrics_of_disks(disks: Iterable[Disk]) -> Iterator[Metric]:
    """The disks of the web server."""
    found = tuple(disks)
    free = [([disk.place], disk.free) for disk in found]
    yield _gauge("heldout_disk_free_bytes", "Bytes free on the disk of a folder.", ["place"], free)
    size = [([disk.place], disk.size) for disk in found]
    yield _gauge("heldout_disk_size_bytes", "Bytes of the disk of a folder.", ["place"], size)


def metrics_of(readings: Readings) -> Iterator[Metric]:
    """What the database knows."""
    yield from _queue(readings)
    yield from _workers(readings)
    yield from _recent(readings)
    yield from _jobs(readings)
    uploads = readings.uploads
    states = [(["receiving"], uploads.receiving), (["checking"], uploads.checking)]
    yield _gauge("heldout_uploads", "Uploads that are not complete or are being checked.", ["state"], states)
    if readings.has_room is not None:
        meaning = "Whether the disk of the database takes a MiB more."
        yield _gauge("heldout_database_has_room", meaning, [], [([], readings.has_room)])


def _queue(readings: Readings) -> Iterator[Metric]:
    labels = ["scorer", "priority"]
    rows = [((each.scorer, _priority(each.priority)), each) for each in readings.waiting]
    yield _gauge(
        "heldout_queue_runs",
        "Runs that wait, without those of suspended teams.",
        labels,
        [(names, each.runs) for names, each in rows],
    )
    yield _gauge(
        "heldout_queue_oldest_seconds",
        "Seconds for which the oldest of them has waited.",
        labels,
        [(names, each.oldest_seconds) for names, each in rows],
    )
    yield _gauge(
        "heldout_queue_paused_runs",
        "Runs that wait for a retry.",
        labels,
        [(names, each.paused) for names, each in rows],
    )
    yield _gauge("heldout_queue_held_runs", "Runs of suspended teams.", [], [([], readings.held)])


def _workers(readings: Readings) -> Iterator[Metric]:
    claims, workers = readings.claims, readings.workers
    yield _gauge(
        "heldout_claims",
        "Runs that workers have claimed.",
        ["scorer"],
        [([each.scorer], each.runs) for each in claims],
    )
    yield _gauge(
        "heldout_claims_overdue",
        "Claimed runs whose lease has run out.",
        ["scorer"],
        [([each.scorer], each.overdue) for each in claims],
    )
    yield _gauge(
        "heldout_workers", "Workers alive.", ["scorer"], [([each.scorer], each.workers) for each in workers]
    )
    yield _gauge(
        "heldout_worker_slots",
        "Runs that workers score at the same time.",
        ["scorer"],
        [([each.scorer], each.slots) for each in workers],
    )
    if readings.progress.sweep_age is not None:
        age = readings.progress.sweep_age
        yield _gauge("heldout_sweep_age_seconds", "Seconds since the last complete sweep.", [], [([], age)])


def _recent(readings: Readings) -> Iterator[Metric]:
    counts = dict.fromkeys(OUTCOMES, 0) | {(each.state, each.reason): each.runs for each in readings.ended}
    yield _gauge(
        "heldout_recent_runs",
        "Runs that ended in the last ten minutes, by state and reason.",
        ["state", "reason"],
        list(counts.items()),
    )
    yield _histogram(
        "heldout_recent_scoring_seconds",
        "Seconds from claim to score of runs scored in the last ten minutes.",
        SCORING_BOUNDS,
        readings.scoring,
    )
    yield _histogram(
        "heldout_recent_wait_seconds",
        "Seconds from queue to claim of participants' runs scored in the last ten minutes.",
        WAIT_BOUNDS,
        readings.wait,
    )


def _jobs(readings: Readings) -> Iterator[Metric]:
    messages = readings.messages
    yield _gauge(
        "heldout_jobs",
        "Jobs other than runs that are not done yet.",
        ["kind"],
        [([each.kind], each.waiting) for each in messages],
    )
    yield _gauge(
        "heldout_jobs_late_seconds",
        "Seconds for which the oldest of them has been due.",
        ["kind"],
        [([each.kind], each.late_seconds) for each in messages],
    )
    yield _gauge(
        "heldout_jobs_dead",
        "Jobs that were given up.",
        ["kind"],
        [([each.kind], each.dead) for each in messages],
    )


def _priority(priority: int) -> str:
    return "live" if priority == LIVE else "shadow"


def _gauge(name: str, meaning: str, labels: Sequence[str], samples: Iterable[Value]) -> Metric:
    family = GaugeMetricFamily(name, meaning, labels=labels)
    for values, value in samples:
        family.add_metric(values, value)
    return family


def _histogram(name: str, meaning: str, bounds: Sequence[float], bars: Iterable[Bar]) -> Metric:
    """A histogram of what is recent: unlike a counter it can fall, so quantiles are taken of it without a rate."""
    found = {bar.bound: bar for bar in bars}
    counts = accumulate(found[place].count if place in found else 0 for place in range(len(bounds) + 1))
    buckets = list(zip((*map(str, bounds), "+Inf"), counts, strict=True))
    return GaugeHistogramMetricFamily(name, meaning, buckets, sum(bar.total for bar in found.values()))
