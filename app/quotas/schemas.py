"""Quotas as pages and programs see them."""

import enum
from dataclasses import dataclass
from datetime import datetime

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
