"""Re-scorings as organisers see them."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class RescoreView:
    """How far a re-scoring has come."""

    id: int
    total: int
    done: int
    failed: int
    created_at: datetime
