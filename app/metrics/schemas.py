"""What the database knows of how an installation does."""

from dataclasses import dataclass

from app.health.schemas import Progress


@dataclass(frozen=True, slots=True)
class Waiting:
    """Queued runs of a scorer version and a priority, without those of suspended teams."""

    scorer: str
    priority: int
    runs: int
    paused: int  # of these, how many wait for the end of a pause before a retry
    oldest_seconds: float


@dataclass(frozen=True, slots=True)
class Claims:
    """Runs of a scorer version that workers have claimed."""

    scorer: str
    runs: int
    overdue: int  # whose lease has run out


@dataclass(frozen=True, slots=True)
class Workers:
    """Workers of a scorer version that are alive."""

    scorer: str
    workers: int
    slots: int  # runs they score at the same time


@dataclass(frozen=True, slots=True)
class Ended:
    """Runs that ended in the last minutes."""

    state: str
    reason: str  # why it was refused or has failed
    runs: int


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of a histogram: how many values lie below a bound and not below the one before."""

    bound: int  # place among the bounds; their number for what lies above all
    count: int
    total: float


@dataclass(frozen=True, slots=True)
class Messages:
    """Jobs about one topic."""

    kind: str
    waiting: int
    late_seconds: float  # of the one that has been due for longest
    dead: int


@dataclass(frozen=True, slots=True)
class Uploads:
    """Uploads that are not done with."""

    receiving: int  # whose bytes are still arriving, or have stopped to
    checking: int


@dataclass(frozen=True, slots=True)
class Readings:
    """All of it, read at one time."""

    progress: Progress
    waiting: tuple[Waiting, ...]
    held: int  # runs that wait because their team is suspended
    claims: tuple[Claims, ...]
    workers: tuple[Workers, ...]
    ended: tuple[Ended, ...]
    scoring: tuple[Bar, ...]  # seconds from claim to score
    wait: tuple[Bar, ...]  # seconds from queue to claim
    messages: tuple[Messages, ...]
    uploads: Uploads
    has_room: bool | None  # whether the disk of the database takes more; none: it cannot be tried


@dataclass(frozen=True, slots=True)
class Disk:
    """The disk that a folder is on, in bytes."""

    place: str
    free: int
    size: int
