"""What a web process counts of its requests; processes that share a port count together, in files of a folder."""

import os
from collections.abc import Iterable, Mapping
from typing import Any

import structlog
from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics, values
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from app.processes import Counting, counting_of_this_process

log = structlog.get_logger()

FILE_BYTES = 2 << 20  # room for every route, method and status
KINDS = ("counter", "histogram")
METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
SECONDS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0)
STATIC = "/static/"


def _shared_with(counting: Counting | None) -> Counting | None:
    """Count in files of this process's name, which the next process of this name goes on with; none where there is no room.

    They take their room now: one that had to grow on a full disk would end the process by a signal.
    """
    values.ValueClass = values.MutexValue
    if counting is None:
        return None
    try:
        for kind in KINDS:
            with (counting.folder / f"{kind}_{counting.name}.db").open("ab") as file:
                os.posix_fallocate(file.fileno(), 0, FILE_BYTES)
    except OSError as error:
        log.warning("requests are counted in this process alone", error=str(error))
        return None
    values.ValueClass = values.MultiProcessValue(lambda: counting.name)  # type: ignore[no-untyped-call]
    return counting


_shared = _shared_with(counting_of_this_process())
disable_created_metrics()  # type: ignore[no-untyped-call]
_own = CollectorRegistry()

REQUESTS = Counter(
    "heldout_http_requests",
    "Requests by method, template of the route and class of the status; closed: the client went before the response.",
    ["method", "route", "status"],
    registry=_own,
)
DURATIONS = Histogram(
    "heldout_http_request_seconds",
    "Seconds from a request to the first byte of its response.",
    ["method", "route"],
    registry=_own,
    buckets=SECONDS,
)
REFUSALS = Counter(
    "heldout_rate_limited",
    "Requests that were refused because there were too many, by limit.",
    ["limit"],
    registry=_own,
)
COUNTERS = (REQUESTS, DURATIONS, REFUSALS)


def count_request(scope: Mapping[str, Any], status: int | None, seconds: float) -> None:
    """Count a request: the status of its response, none where there was nobody left to read it."""
    labels = _method(scope["method"]), _route(scope)
    REQUESTS.labels(*labels, f"{status // 100}xx" if status else "closed").inc()
    DURATIONS.labels(*labels).observe(seconds)


def count_refusal(limit: str) -> None:
    """Count a request that was refused because there were too many."""
    REFUSALS.labels(limit).inc()


def collectors() -> Iterable[Collector]:
    """What was counted on this port: by this process, or by all that share the folder."""
    if _shared is None:
        return COUNTERS
    return (MultiProcessCollector(None, str(_shared.folder)),)  # type: ignore[no-untyped-call]


def _method(method: str) -> str:
    """The method, of which clients can invent any number."""
    return method if method in METHODS else "other"


def _route(scope: Mapping[str, Any]) -> str:
    """The template of the route, never the path that was asked for: there is any number, and some hold secrets."""
    if scope["path"].startswith(STATIC):
        return f"{STATIC}{{path}}"
    return str(getattr(scope.get("route"), "path", "none"))
