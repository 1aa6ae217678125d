"""What is late, and what is ready."""

from app.health.schemas import Health, Part, Progress

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
