"""What follows from a phase's rules."""

import math
from datetime import datetime
from typing import Protocol

from app.access import Actor
from app.editions.schemas import PhaseState
from app.models import Disclosure

HELD_OUT_DECIMALS = 3  # of values in [0, 1]; DESIGN: more of them help only those who probe
BOUND_DECIMALS = 2


class Period(Protocol):
    """Something that opens and closes."""

    @property
    def opens_at(self) -> datetime:
        """When it begins."""

    @property
    def closes_at(self) -> datetime | None:
        """When it ends, or never."""


def state_of(period: Period, now: datetime) -> PhaseState:
    """Whether submissions are taken at `now`; the moment of closing is closed."""
    if now < period.opens_at:
        return PhaseState.UPCOMING
    if period.closes_at is not None and now >= period.closes_at:
        return PhaseState.CLOSED
    return PhaseState.OPEN


def sees_everything(actor: Actor, disclosure: Disclosure) -> bool:
    """Whether this reader may see every digit, curve and count: organisers always, others where all is public."""
    return disclosure is Disclosure.FULL or actor.is_organiser


def disclosed_bounds(
    low: float | None, high: float | None, *, everything: bool
) -> tuple[float | None, float | None]:
    """The bounds of a score's interval as a reader may see them: outwards to two decimals where annotation is held out.

    Bounds are two more functions of the hidden annotation for each score; nobody reads their third decimal.

    >>> disclosed_bounds(0.5432, 0.5651, everything=False)
    (0.54, 0.57)
    """
    if low is None or high is None or everything:
        return low, high
    steps = 10**BOUND_DECIMALS
    return math.floor(low * steps) / steps, math.ceil(high * steps) / steps


def disclosed(value: float | None, *, everything: bool) -> float | None:
    """A score in [0, 1] as a reader may see it.

    >>> disclosed(0.6484999, everything=False), disclosed(0.6484999, everything=True)
    (0.648, 0.6484999)
    """
    return value if value is None or everything else round(value, HELD_OUT_DECIMALS)
