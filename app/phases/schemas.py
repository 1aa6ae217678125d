"""A phase as its organisers change it."""

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Annotated

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from app.editions.schemas import PhaseView
from app.forms import OrBlank
from app.models import Quota, in_order
from app.quotas.schemas import SlotView
from scoring import Limits


class NewQuota(BaseModel):
    """How many results of one task may be scored within a window that rolls over this many days."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    results: Annotated[int, Field(ge=1, le=1_000_000)]
    days: Annotated[int, Field(ge=1, le=3660)]


class NewRules(BaseModel):
    """Dates and quotas of a phase, all of them, and limits of its archives as far as they change."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True)

    opens_at: Annotated[AwareDatetime, Field(description="with its time zone")]
    closes_at: Annotated[OrBlank[AwareDatetime], Field(description="null: never")]
    grace_minutes: Annotated[
        int, Field(ge=0, le=10_080, description="how long an upload started in time may still be confirmed")
    ]
    quotas: Annotated[
        tuple[NewQuota, ...], Field(max_length=5, description="results of a task, of a team and of a person")
    ]
    embargo: Annotated[
        bool, Field(description="others than a result's team and organisers see it once the phase is over")
    ]
    reason: Annotated[str, Field(min_length=3, max_length=1000, description="why; it is recorded")]
    max_boxes: Annotated[
        int | None, Field(ge=1, le=100_000, description="of one class in one image; null: as it is")
    ] = None
    max_total_lines: Annotated[
        int | None, Field(ge=1, le=100_000_000, description="of all files of an archive; null: as it is")
    ] = None

    @property
    def grace(self) -> timedelta:
        """How long an upload that was started in time may still be confirmed."""
        return timedelta(minutes=self.grace_minutes)

    @property
    def windows(self) -> tuple[Quota, ...]:
        """The quotas in their order."""
        return in_order(Quota(quota.results, quota.days) for quota in self.quotas)

    def limited(self, limits: Limits) -> Limits:
        """These limits with those that change.

        Only the two that scoring does not ask for, so that what was accepted once can be scored again under smaller ones.
        """
        return replace(
            limits,
            max_boxes=self.max_boxes or limits.max_boxes,
            max_total_lines=self.max_total_lines or limits.max_total_lines,
        )


@dataclass(frozen=True, slots=True)
class PhaseSheet:
    """A phase with what its organisers see of its rules."""

    phase: PhaseView
    limits: Limits  # of an archive
    has_results: bool  # somebody's score was recorded
    slots: tuple[SlotView, ...]
    teams: tuple[str, ...]
    tasks: tuple[str, ...]
    more_slots: int | None = None  # the last of these where others were granted `before` it
    more_teams: int = 0  # that are not among `teams`
