"""Messages of the outbox on their way."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.models import Topic


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message that this process delivers now; `attempt` fences every write."""

    id: int
    topic: Topic
    payload: Mapping[str, Any]
    attempt: int


@dataclass(frozen=True, slots=True)
class DeadMessage:
    """A message that was given up."""

    id: int
    topic: Topic
    payload: Mapping[str, Any]
    attempts: int
    error: str
    dead_at: datetime
