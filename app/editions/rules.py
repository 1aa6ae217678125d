"""What follows from a phase's rules."""

from datetime import datetime, timedelta
from typing import Protocol

import scoring
from app.access import Actor
from app.editions.schemas import PhaseState, PhaseView
from app.models import Disclosure

HELD_OUT_QUOTA = 2  # results per team and task in a window, where an organiser sets nothing else
HELD_OUT_DECIMALS = 3  # of values in [0, 1]; more would only help those who probe the hidden annotation


class Period(Protocol):
    """Something that opens and closes."""

    @property
    def opens_at(self) -> datetime:
        """When it begins."""

    @property
    def closes_at(self) -> datetime | None:
        """When it ends, or never."""


class Disclosing(Period, Protocol):
    """A phase as far as it decides what is public."""

    @property
    def disclosure(self) -> Disclosure:
        """How much is shown while it is open."""

    @property
    def details_at_close(self) -> bool:
        """Whether everything is shown once it is over."""

    @property
    def grace(self) -> timedelta:
        """How long an upload that was started in time may still be scored after closing."""


def state_of(period: Period, now: datetime) -> PhaseState:
    """Whether submissions are taken at `now`; the moment of closing is closed."""
    if now < period.opens_at:
        return PhaseState.UPCOMING
    if period.closes_at is not None and now >= period.closes_at:
        return PhaseState.CLOSED
    return PhaseState.OPEN


def shows_details(phase: Disclosing, now: datetime) -> bool:
    """Whether curves, intervals, counts and further tables of this phase are public at `now`.

    Of a held-out phase only if its organiser chose so, and only when no upload can be scored any more: from curves alone
    random rankings became 90 % mAP in three submissions.
    """
    if phase.disclosure is Disclosure.FULL:
        return True
    return phase.details_at_close and phase.closes_at is not None and now >= phase.closes_at + phase.grace


def sees_details(actor: Actor, phase: PhaseView) -> bool:
    """Whether this reader sees every digit, curve, interval and count: organisers always."""
    return phase.shows_details or actor.is_organiser


def withheld(phase: PhaseView) -> str:
    """Why curves, intervals and counts of a phase are not shown, and until when."""
    until = "; they become public when it is over" if phase.details_at_close and phase.closes_at else ""
    return f"Curves, confidence intervals and counts are hidden because the annotation of {phase.image_set} is held out{until}"


def disclosed(value: float | None, *, details: bool) -> float | None:
    """A score in [0, 1] as a reader may see it.

    >>> disclosed(0.6484999, details=False), disclosed(0.6484999, details=True)
    (0.648, 0.6484999)
    """
    return value if value is None or details else round(value, HELD_OUT_DECIMALS)


def offered_competitions(phase: PhaseView) -> tuple[scoring.CompetitionInfo, ...]:
    """The competitions of a phase that can be entered: this version scores them, and there is ground truth for them."""
    return tuple(
        each
        for each in scoring.competitions(phase.dataset)
        if scoring.is_scorable(each) and each.number not in phase.not_offered
    )


def shown_time(moment: datetime, *, details: bool) -> datetime:
    """A moment as a reader may see it: to the minute on a held-out phase, because a run takes longer the more it finds.

    >>> shown_time(datetime(2026, 11, 21, 9, 30, 59, 999999), details=False).isoformat()
    '2026-11-21T09:30:00'
    """
    return moment if details else moment.replace(second=0, microsecond=0)


def quota_of(given: int | None, disclosure: Disclosure) -> int | None:
    """The quota of a new phase: a held-out one always has one, because every score reveals something of its labels.

    >>> quota_of(None, Disclosure.ROUNDED), quota_of(5, Disclosure.ROUNDED), quota_of(None, Disclosure.FULL)
    (2, 5, None)
    """
    return HELD_OUT_QUOTA if given is None and disclosure is not Disclosure.FULL else given
