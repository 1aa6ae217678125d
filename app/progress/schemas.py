"""What a page that waits depends on."""

from dataclasses import dataclass
from datetime import datetime

from app.models import EntryState, RunState


@dataclass(frozen=True, slots=True)
class LatestRun:
    """A run as far as it decides what a page says while it waits or is under way; entry: the state of what it scores."""

    entry: EntryState
    id: int
    state: RunState
    attempt: int
    scorer: str
    queued_at: datetime
    is_held: bool  # its team is suspended
    damaged: str | None  # what has to be repaired before it can be scored
