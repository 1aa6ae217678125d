"""The responses of `/health` and `/ready`."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """How the work behind the pages goes on, as the database knows it."""

    sweep_age: float | None  # seconds since the last sweep; none: there was none yet
    workers: int  # alive
    jobs_lag: float  # seconds for which the oldest due job other than a run has been waiting
    dead_jobs: int  # jobs that were given up


@dataclass(frozen=True, slots=True)
class Part:
    """One part of an installation: "ok", or what is wrong in a few words, and the number behind it."""

    status: str
    value: float | None = None


@dataclass(frozen=True, slots=True)
class Health:
    """The state of an installation; "degraded" when a part is not ok."""

    status: str
    database: Part
    sweep: Part  # seconds since the last one
    workers: Part  # how many are alive
    jobs: Part  # seconds that the oldest job other than a run is late
    dead_jobs: Part  # jobs that were given up


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether this process may serve, and what is missing for that."""

    ready: bool
    missing: tuple[str, ...]
