"""What a web process counts of its requests; processes that share a port count together, in files of a folder."""

import os
from collections.abc import Iterable, Mapping
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

FOLDER = "PROMETHEUS_MULTIPROC_DIR"  # where prometheus_client lets processes count together
METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
SECONDS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0)
STATIC = "/static/"

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
    """What was counted on this port: by this process, or by all that share a folder."""
    if FOLDER in os.environ:
        return (MultiProcessCollector(None),)  # type: ignore[no-untyped-call]
    return COUNTERS


def _method(method: str) -> str:
    """The method, of which clients can invent any number."""
    return method if method in METHODS else "other"


def _route(scope: Mapping[str, Any]) -> str:
    """The template of the route, never the path that was asked for: there is any number, and some hold secrets."""
    if scope["path"].startswith(STATIC):
        return f"{STATIC}{{path}}"
    return str(getattr(scope.get("route"), "path", "none"))
