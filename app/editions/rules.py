"""What follows from a phase's rules."""

from datetime import datetime, timedelta
from typing import Protocol

import scoring
from app.editions.schemas import PhaseState, PhaseView
from app.models import Disclosure, Quota, in_order

HELD_OUT_QUOTAS = (Quota(2, 7), Quota(30, 365))  # where an organiser sets nothing else


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


def is_over(period: Period, grace: timedelta, now: datetime) -> bool:
    """Whether a phase has closed and no upload that was started in time can be scored any more."""
    return period.closes_at is not None and now >= period.closes_at + grace


def offered_competitions(phase: PhaseView) -> tuple[scoring.CompetitionInfo, ...]:
    """The competitions of a phase that can be entered: this version scores them, and there is ground truth for them."""
    return tuple(
        each
        for each in scoring.competitions(phase.dataset)
        if scoring.is_scorable(each) and each.number not in phase.not_offered
    )


def tasks_of(phase: PhaseView) -> dict[int, str]:
    """The task of every competition of the edition."""
    return {each.number: each.task for each in scoring.competitions(phase.dataset)}


def quotas_of(given: tuple[Quota, ...] | None, disclosure: Disclosure) -> tuple[Quota, ...]:
    """The quotas of a new phase: a held-out one always has some, because every score reveals something of its labels.

    >>> [str(quota) for quota in quotas_of(None, Disclosure.CLASSES)], quotas_of(None, Disclosure.FULL)
    (['2 in 7 days', '30 in 365 days'], ())
    """
    if given is None:
        return () if disclosure is Disclosure.FULL else HELD_OUT_QUOTAS
    return in_order(given)
