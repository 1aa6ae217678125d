"""Quotas as pages and programs see them."""

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from app.models import Quota


class Holder(enum.StrEnum):
    """Who has a quota: a team, and each person in whatever team."""

    TEAM = "team"
    PERSON = "person"


@dataclass(frozen=True, slots=True)
class CountedResult:
    """A result that counts: it revealed a score, or is about to."""

    task: str
    confirmed_at: datetime
    is_teams: bool  # of the team that asks
    is_persons: bool  # confirmed by the person who asks, whatever their team was


@dataclass(frozen=True, slots=True)
class Usage:
    """What counts, and the extra slots that organisers granted and nobody has used, by task."""

    counted: Sequence[CountedResult] = ()
    slots: Mapping[str, Sequence[int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class QuotaUse:
    """How much of one quota its holder has used."""

    holder: Holder
    quota: Quota
    used: int
    frees_at: datetime | None  # when the oldest counted result leaves the window

    @property
    def left(self) -> int:
        """How many results may still be scored."""
        return max(0, self.quota.results - self.used)


@dataclass(frozen=True, slots=True)
class QuotaLine:
    """What is left for one task: the least that any quota of team and person leaves."""

    task: str
    left: int
    next_slot: datetime | None  # when one more will be left; none: everything is
    uses: tuple[QuotaUse, ...]
    extra: int  # slots of the team beyond its quotas

    @property
    def tightest(self) -> QuotaUse:
        """The quota that leaves least; the team's where the person's leaves as little."""
        return min(self.uses, key=lambda use: use.left)

    @property
    def windows(self) -> tuple[QuotaUse, ...]:
        """For each window, what is left of the team's quota or of the person's, whichever is less."""
        least: dict[Quota, QuotaUse] = {}
        for use in self.uses:
            if use.quota not in least or use.left < least[use.quota].left:
                least[use.quota] = use
        return tuple(least.values())


class NewSlots(BaseModel):
    """Extra slots to grant."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True)

    team: Annotated[str, Field(min_length=1, max_length=100, description="name of the team")]
    task: Annotated[str, Field(description="such as detection")]
    number: Annotated[int, Field(ge=1, le=20, description="how many results")] = 1
    reason: Annotated[str, Field(min_length=3, max_length=1000, description="why; it is recorded")]


@dataclass(frozen=True, slots=True)
class SlotView:
    """An extra slot as organisers see it."""

    id: int
    team: str
    task: str
    reason: str
    granted_by: str | None
    granted_at: datetime
    taken_back_at: datetime | None
    submission: int | None  # that used it

    @property
    def is_free(self) -> bool:
        """Whether it can be used or taken back."""
        return self.taken_back_at is None and self.submission is None
