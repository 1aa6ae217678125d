"""Pairs of results that are alike, as jobs and organisers see them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from app.editions.schemas import PhaseView


@dataclass(frozen=True, slots=True)
class Subject:
    """An entry to compare; fingerprint: equal for equal predictions, or "" from before there was one."""

    entry_id: int
    phase_id: int
    competition: int
    dataset: str
    method_id: int
    fingerprint: str
    archive: str  # keys in storage
    description: str


@dataclass(frozen=True, slots=True)
class Side:
    """One of two results."""

    entry_id: int
    submission: int
    method: str
    team_id: int
    team: str
    entered_at: datetime


@dataclass(frozen=True, slots=True)
class Pair:
    """Two results of a board that are alike; figures as in `scoring.analysis.near_duplicates.Likeness`."""

    id: int
    competition: int
    newer: Side
    older: Side
    same_predictions: bool
    rank_correlation: float | None
    common_boxes: float | None
    common_pixels: float | None
    found_at: datetime
    dismissed_at: datetime | None
    dismissed_by: str | None
    dismiss_reason: str | None

    @property
    def is_of_one_team(self) -> bool:
        """Whether both are of the same team."""
        return self.newer.team_id == self.older.team_id


@dataclass(frozen=True, slots=True)
class PairList:
    """A page of pairs, the newest first; `next` is the `before` of the next page."""

    phase: PhaseView
    dismissed: bool
    pairs: tuple[Pair, ...]
    next: int | None


class Dismissal(BaseModel):
    """Why two results may be alike."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True)

    reason: Annotated[str, Field(min_length=1, max_length=1000, description="for the audit")]
