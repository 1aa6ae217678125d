"""Re-scorings as organisers see them."""

import enum
from dataclasses import dataclass
from datetime import datetime

from app.models import RunState


class Choice(enum.StrEnum):
    """What an organiser can do with an entry that a re-scoring could not score."""

    KEEP = "keep"  # its old score stays on the board, marked
    WITHDRAW = "withdraw"
    RETRY = "retry"


@dataclass(frozen=True, slots=True)
class Following:
    """Which page of a re-scoring's undecided runs is asked for: those after this run."""

    rescore: int
    run: int


@dataclass(frozen=True, slots=True)
class UndecidedRun:
    """A run that a re-scoring could not score; the boards switch once all of them are decided."""

    run: int
    entry: int
    submission: int
    competition: int
    method: str
    state: RunState
    failure_message: str | None


@dataclass(frozen=True, slots=True)
class RescoreView:
    """How far a re-scoring has come."""

    id: int
    total: int
    done: int
    failed: int  # not scored, and not decided yet
    created_at: datetime
    undecided: tuple[UndecidedRun, ...] = ()  # some of them
    next: int | None = None  # the last of these runs, if others follow
