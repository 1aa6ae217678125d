"""Deadlines and the drawing of an edition's phases over time."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from difflib import SequenceMatcher
from typing import Final

from app.editions.schemas import PhaseState, PhaseView
from app.home.schemas import CompetitionLine, EditionSummary, PhaseCard
from app.models import Disclosure

MOST_TICKS: Final = 6
DAYS: Final = (1, 2, 7, 14)
MONTHS: Final = (1, 2, 3, 6, 12, 24, 60, 120)
MARGIN: Final = 0.06  # of the time that is drawn, behind the last moment
MOST_COMPARED: Final = 100  # editions, the newest
MOST_FOUND: Final = 10
LIKELY: Final = 0.6  # of the letters
LEAST: Final = timedelta(days=4)


@dataclass(frozen=True, slots=True)
class Bar:
    """A phase as it is drawn: all places in percent of the width, from 0 at the left."""

    phase: PhaseView
    left: float
    width: float
    grace: float  # the width of the grace period, which follows the bar


@dataclass(frozen=True, slots=True)
class Tick:
    """A date on the axis."""

    place: float
    text: str

    @property
    def anchor(self) -> str:
        """Where the text is held, so that none leaves the drawing."""
        return "start" if self.place < 5 else "end" if self.place > 92 else "middle"


@dataclass(frozen=True, slots=True)
class Timeline:
    """The phases of an edition over time."""

    bars: tuple[Bar, ...]
    ticks: tuple[Tick, ...]
    now: Tick


def next_deadline(phases: Sequence[PhaseView]) -> PhaseView | None:
    """The open phase that closes first; none if none that is open closes."""
    closing = [each for each in phases if each.state is PhaseState.OPEN and each.closes_at is not None]
    return min(closing, key=lambda phase: phase.closes_at or phase.opens_at, default=None)


def by_deadline(phases: Sequence[PhaseView], state: PhaseState) -> tuple[PhaseView, ...]:
    """The phases in a state: what closes first, or opens first, is first; what never closes is last."""
    far = datetime.max.replace(tzinfo=UTC)

    def moment(phase: PhaseView) -> datetime:
        return phase.opens_at if state is PhaseState.UPCOMING else phase.closes_at or far

    return tuple(sorted((each for each in phases if each.state is state), key=moment))


def shown_phase(phases: Sequence[PhaseView], image_set: str | None) -> PhaseView | None:
    """The phase whose methods an edition's page shows: this one, else a held-out one before an open one, else the newest."""
    if image_set is not None:
        return next((each for each in phases if each.image_set == image_set), None)
    return max(
        phases,
        key=lambda phase: (
            phase.state is not PhaseState.UPCOMING,
            phase.disclosure is not Disclosure.FULL,
            phase.opens_at,
            phase.id,
        ),
        default=None,
    )


def competitions_of(cards: Iterable[PhaseCard]) -> tuple[CompetitionLine, ...]:
    """The competitions that at least one phase offers, by number."""
    every = {each for card in cards for each in card.competitions}
    return tuple(sorted(every, key=lambda each: each.number))


def timeline_of(phases: Sequence[PhaseView], now: datetime) -> Timeline:
    """The drawing of an edition's phases, in the order of their openings."""
    ends = [phase.closes_at + phase.grace for phase in phases if phase.closes_at is not None]
    start = min([now, *(phase.opens_at for phase in phases)])
    last = max([now, *ends, *(phase.opens_at for phase in phases)])
    length = max(last - start, LEAST) * (1 + MARGIN)

    def place(moment: datetime) -> float:
        return round(100 * ((moment - start) / length), 2)

    def bar(phase: PhaseView) -> Bar:
        left, grace = place(phase.opens_at), 0.0
        if phase.closes_at is None:
            return Bar(phase, left, round(100 - left, 2), grace)
        right = place(phase.closes_at)
        grace = round(place(phase.closes_at + phase.grace) - right, 2)
        return Bar(phase, left, round(right - left, 2), grace)

    ticks = tuple(Tick(place(moment), text) for moment, text in _dates(start, start + length))
    bars = tuple(bar(phase) for phase in sorted(phases, key=lambda phase: (phase.opens_at, phase.image_set)))
    return Timeline(bars, ticks, Tick(place(now), "now"))


def _dates(start: datetime, end: datetime) -> list[tuple[datetime, str]]:
    """Round dates within a time, at most `MOST_TICKS`, with their texts."""
    begin = start.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    for step in DAYS:
        if (end - begin) / timedelta(days=step) <= MOST_TICKS:
            found = (begin + timedelta(days=step * number) for number in range(MOST_TICKS + 1))
            return [(each, f"{each.day} {each:%b}") for each in found if start <= each <= end]
    for step in MONTHS:
        dates = [each for each in _months(begin, end, step) if each >= start]
        if len(dates) <= MOST_TICKS:
            return [(each, f"{each:%Y}" if step >= 12 else f"{each:%b %Y}") for each in dates]
    return []


def _months(begin: datetime, end: datetime, step: int) -> Iterator[datetime]:
    """The first days of every so many months, counted from the year 0."""
    month = (begin.year * 12 + begin.month - 1) // step * step
    while (moment := datetime(month // 12, month % 12 + 1, 1, tzinfo=UTC)) <= end:
        yield moment
        month += step


def likely_editions(words: str, editions: Sequence[EditionSummary]) -> tuple[EditionSummary, ...]:
    """The editions whose code or title is like one of these words or all of them, the most likely first."""
    asked = {words.casefold(), *words.casefold().split()}

    def likeness(edition: EditionSummary) -> list[float]:
        names = {edition.code.casefold(), edition.title.casefold(), *edition.title.casefold().split()}
        return [max(SequenceMatcher(None, word, name).ratio() for name in names) for word in asked]

    found = [(likeness(edition), edition) for edition in editions[:MOST_COMPARED]]
    likely = sorted((each for each in found if max(each[0]) >= LIKELY), key=lambda each: -sum(each[0]))
    return tuple(edition for _, edition in likely[:MOST_FOUND])
