"""Which changes of a phase are refused, because they would be unfair or leave something broken."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from icalendar import Calendar, Event

from app.disclosure.rules import public_sight
from app.editions.rules import is_over
from app.editions.schemas import PhaseState, PhaseView
from app.errors import PhaseBroken, PhaseUnfair, Refusal
from app.models import Disclosure
from app.phases.schemas import NewRules

PRODUCT = "-//heldout//phases//EN"
NOTICE = timedelta(days=3)  # before a deadline that was brought forward


def change_refusals(
    now: datetime, phase: PhaseView, rules: NewRules, *, has_results: bool
) -> tuple[Refusal, ...]:
    """Every reason against new dates and quotas of a phase; none if they may be set."""
    broken = (PhaseBroken(message) for message in _broken(phase, rules))
    unfair = (
        PhaseUnfair(message)
        for message in (
            *_unfair_opening(now, phase, rules, has_results),
            *_unfair_embargo(phase, rules, has_results),
            *_unfair_close(now, phase, rules),
        )
    )
    return (*broken, *unfair)


def calendar_of(phases: Sequence[PhaseView], address: str, now: datetime) -> bytes:
    """The openings and deadlines of phases as iCalendar (RFC 5545); an event keeps its UID when it is moved.

    address: of the server, as people use it.
    """
    calendar = Calendar()
    calendar.add("prodid", PRODUCT)
    calendar.add("version", "2.0")
    for phase in phases:
        for what, moment in (("opens", phase.opens_at), ("closes", phase.closes_at)):
            if moment is not None:
                calendar.add_component(_event(phase, what, moment, address, now))
    written: bytes = calendar.to_ical()
    return written


def _event(phase: PhaseView, what: str, moment: datetime, address: str, now: datetime) -> Event:
    event = Event()
    event.add("uid", f"phase-{phase.id}-{what}@{urlsplit(address).hostname}")
    event.add("summary", f"{phase.edition_title}, {phase.image_set} {what}")
    event.add("dtstamp", now)
    event.add("dtstart", moment)
    event.add("url", f"{address}/editions/{phase.edition}")
    if what == "closes":
        event.add(
            "description",
            f"An upload that was started before may be confirmed for another {_minutes(phase.grace)}.",
        )
    return event


def _minutes(grace: timedelta) -> str:
    return f"{int(grace.total_seconds() // 60)} minutes"


def _broken(phase: PhaseView, rules: NewRules) -> Iterator[str]:
    if rules.closes_at is not None and rules.closes_at <= rules.opens_at:
        yield "the phase would close before it opens"
    if not rules.quotas and phase.disclosure is not Disclosure.FULL:
        yield "a held-out phase needs a quota, because every score reveals something of the hidden annotation"
    if rules.closes_at is None and rules.embargo:
        yield "others see results when the phase closes, so it needs a closing date"
    if rules.closes_at is None and phase.disclosure is Disclosure.AT_CLOSE:
        yield "scores are shown when the phase closes, so it needs a closing date"


def _unfair_opening(
    now: datetime,
    phase: PhaseView,
    rules: NewRules,
    has_results: bool,  # noqa: FBT001 - of the phase
) -> Iterator[str]:
    if rules.opens_at != phase.opens_at and rules.opens_at > now and has_results:
        yield "results are recorded already, so the opening cannot move into the future"


def _unfair_embargo(phase: PhaseView, rules: NewRules, has_results: bool) -> Iterator[str]:  # noqa: FBT001 - of the phase
    if rules.embargo != phase.embargo and has_results:
        yield "results are recorded already, so when others see them cannot change"


def _unfair_close(now: datetime, phase: PhaseView, rules: NewRules) -> Iterator[str]:
    before, after = phase.closes_at, rules.closes_at
    if phase.state is PhaseState.CLOSED:
        if (
            is_over(phase, phase.grace, now)
            and (after is None or after + rules.grace > now)
            and _revealed(phase)
        ):
            yield "what was hidden became public when the phase closed, so it cannot take results again"
        elif rules.grace < phase.grace:
            yield "the phase is closed, so the time for uploads that were started before cannot become shorter"
        return
    if phase.state is PhaseState.OPEN and after is not None and (before is None or after < before):
        if after <= now:
            yield "the deadline would be in the past"
        elif after < now + NOTICE:
            yield f"a deadline that is brought forward has to be {NOTICE.days} days away, so that people can still finish"


def _revealed(phase: PhaseView) -> bool:
    """Whether everybody sees more of a phase that is over than while it was open, such as the classes behind a mean."""
    before, after = (public_sight(replace(phase, is_over=each)) for each in (False, True))
    return phase.embargo or before != after
