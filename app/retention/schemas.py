"""What the storage holds, as organisers see it."""

from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class Retention:
    """How long archives are kept that were not confirmed."""

    unconfirmed: timedelta  # checked and valid, or never checked
    invalid: timedelta
    partial: timedelta


@dataclass(frozen=True, slots=True)
class Usage:
    """What a person's uploads that are not confirmed take."""

    bytes: int
    uploads: int


@dataclass(frozen=True, slots=True)
class StorageLine:
    """How much of the storage one kind of upload takes."""

    kind: str
    uploads: int
    bytes: int
    next_removal: datetime | None  # of the first of them; none: they are kept
    due_within_day: int  # uploads


@dataclass(frozen=True, slots=True)
class UnusedContentView:
    """A content that no phase, ground truth or run names any more."""

    store: str  # "descriptions" or "ground truth", where statistics of runs are, too
    key: str
    size: int
    stored_at: datetime


@dataclass(frozen=True, slots=True)
class DamagedContentView:
    """A content with other bytes than were stored."""

    what: str  # e.g. "stored archive"
    store: str  # "archives", "descriptions", "artefacts" or "truth", as backups name them
    key: str
    found_at: datetime
    checked_at: datetime  # when it was damaged still
    runs: int  # that wait for its repair


@dataclass(frozen=True, slots=True)
class StorageView:
    """What the archive store holds by kind, what waits to be removed, and what is damaged or unused in any store."""

    lines: tuple[StorageLine, ...]
    contents: int  # archives
    content_bytes: int
    removals: int  # archives whose removal has started and is not complete
    retention: Retention
    max_stored: int  # bytes that the uploads of one person may take until they are confirmed
    damaged: tuple[DamagedContentView, ...]  # the first that were found
    damaged_contents: int
    unused: tuple[UnusedContentView, ...]  # the oldest of them
    unused_contents: int
    unused_bytes: int
