"""Request metrics; processes that share a port share them through files in a folder."""

import os
from collections.abc import Iterable, Mapping
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

FOLDER = "PROMETHEUS_MULTIPROC_DIR"  # tells prometheus_client to share metrics between processes
METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
SECONDS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0)
STATIC = "/static/"

disable_created_metrics()  # type: ignore[no-untyped-call]
_own = CollectorRegistry()

REQUESTS = Counter(
    "heldout_http_requests",
    "Requests by method, route template and status class; closed: the client disconnected before the response.",
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
    "Requests rejected by a rate limit, by limit.",
    ["limit"],
    registry=_own,
)
COUNTERS = (REQUESTS, DURATIONS, REFUSALS)


def count_request(scope: Mapping[str, Any], status: int | None, seconds: float) -> None:
    """Count a request; `status` is None if the client disconnected before the response."""
    labels = _method(scope["method"]), _route(scope)
    REQUESTS.labels(*labels, f"{status // 100}xx" if status else "closed").inc()
    DURATIONS.labels(*labels).observe(seconds)


def count_refusal(limit: str) -> None:
    """Count a request that was rejected by a rate limit."""
    REFUSALS.labels(limit).inc()


def collectors() -> Iterable[Collector]:
    """The metrics of this port: those of this process, or of all processes that share the folder."""
    if FOLDER in os.environ:
        return (MultiProcessCollector(None),)  # type: ignore[no-untyped-call]
    return COUNTERS


def _method(method: str) -> str:
    """The method, or "other": clients can invent any number of methods."""
    return method if method in METHODS else "other"


def _route(scope: Mapping[str, Any]) -> str:
    """The route template, never the requested path: paths are unbounded in number, and some contain secrets."""
    if scope["path"].startswith(STATIC):
        return f"{STATIC}{{path}}"
    return str(getattr(scope.get("route"), "path", "none"))
