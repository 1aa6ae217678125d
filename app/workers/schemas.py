"""How long a run waits, as far as it is known."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from app.models import RunState

LIVE, SHADOW = 0, 10  # priorities: participants' runs go before those of a re-scoring


class Placed(Protocol):
    """A run, as far as the queue has something to say of it."""

    @property
    def id(self) -> int:
        """Of the run."""

    @property
    def state(self) -> RunState:
        """Whether it is queued."""

    @property
    def scorer(self) -> str:
        """The version that it is scored by."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A queued run."""

    scorer: str
    is_held: bool  # its team is suspended
    damaged: str | None  # what has to be repaired before it can be scored, e.g. "stored archive"


@dataclass(frozen=True, slots=True)
class Queue:
    """The queue as it is now."""

    places: Mapping[int, int]  # by run, 1 for the next; only as far as they were counted
    slots: Mapping[str, int]  # by scorer version, how many runs are scored at the same time
    seconds: float | None  # that a run usually takes; none: no run has been scored yet
    held: frozenset[int] = frozenset()  # runs that wait because their team is suspended
    damaged: Mapping[int, str] = field(default_factory=dict)  # by run that waits for a repair, of what

    def place(self, run: Placed) -> int | None:
        """1 for the run that is taken next."""
        return self.places.get(run.id)

    def has_worker(self, run: Placed) -> bool:
        """Whether a worker that can score a queued run is alive."""
        return run.state is not RunState.QUEUED or self.slots.get(run.scorer, 0) > 0

    def wait_seconds(self, run: Placed) -> int | None:
        """Seconds until a queued run is scored, if that can be known, in full minutes: fewer would time single runs."""
        place, slots = self.place(run), self.slots.get(run.scorer, 0)
        if not place or not slots or self.seconds is None:
            return None
        return 60 * max(1, math.ceil(math.ceil(place / slots) * self.seconds / 60))


EMPTY = Queue({}, {}, None)
