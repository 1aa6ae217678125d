"""What a worker holds while it scores."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Claim:
    """A run that this worker scores now: every write says `attempt`, so that only the latest claim counts."""

    run_id: int
    attempt: int


@dataclass(frozen=True, slots=True)
class Assignment:
    """What is to be scored, and how."""

    archive: str
    truth: str
    competition: int
    protocol: str
    description: str


@dataclass(frozen=True, slots=True)
class PhaseQueue:
    """The runs of a phase that somebody waits for."""

    entries: int
    queued: int
    running: int
    failed: int
