"""Quotas as a phase's column holds them."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any


@dataclass(frozen=True, slots=True)
class Quota:
    """How many results of one task may be scored within a window that rolls over this many days."""

    results: int
    days: int

    @property
    def window(self) -> timedelta:
        """How far back results count."""
        return timedelta(days=self.days)

    def __str__(self) -> str:
        """As people write it.

        >>> print(Quota(2, 7))
        2 in 7 days
        """
        return f"{self.results} in {self.days} day{'s' * (self.days != 1)}"


def in_order(quotas: Iterable[Quota]) -> tuple[Quota, ...]:
    """Quotas, the shortest window first; of two with the same window the smaller one alone counts."""
    least = {quota.days: quota for quota in sorted(quotas, key=lambda quota: -quota.results)}
    return tuple(least[days] for days in sorted(least))


def stored(quotas: Iterable[Quota]) -> list[dict[str, Any]]:
    """Quotas as JSON."""
    return [asdict(quota) for quota in in_order(quotas)]
