"""The positions of queued runs, what they wait for and how long, and how often pages poll."""

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import partial
from typing import Any, Final, Protocol

from sqlalchemy import ColumnElement, case, func, select
from sqlalchemy.orm import Session

from app.jobs import heartbeats
from app.jobs.queue import CLAIM_ORDER, LONGEST_PAUSE, is_held, is_suspended, is_waiting
from app.models import DamagedContent, GroundTruth, Job, Phase, Queue, Run, RunState
from app.platform import Platform

MAX_PLACE = 1000  # runs further back in the queue have no place yet
RECENT_RUNS = 50
LONG_QUEUE: Final = 20  # with this many runs ahead, nothing changes within seconds
PAUSES: Final = (  # seconds between two polls until the page has waited for so long
    (timedelta(seconds=20), 1),
    (timedelta(minutes=2), 2),
    (timedelta(minutes=10), 5),
)
LONGEST_POLL: Final = 15


def poll_interval(waited: timedelta, place: int | None) -> int:
    """Return the seconds until a page polls again, which grow with its waiting time; place: None if the run has started.

    >>> poll_interval(timedelta(seconds=5), 1), poll_interval(timedelta(hours=1), 1)
    (1, 15)
    """
    pause = next((seconds for end, seconds in PAUSES if waited < end), LONGEST_POLL)
    return max(pause, 5) if place is not None and place > LONG_QUEUE else pause


class RunLike(Protocol):
    """The attributes of a run that `Places` uses."""

    @property
    def id(self) -> int:
        """The id of the run."""

    @property
    def state(self) -> RunState:
        """The state of the run."""

    @property
    def scorer(self) -> str:
        """The scorer version of the run."""


class Cause(StrEnum):
    """Why a queued run is not being scored."""

    SUSPENDED = "team suspended"
    PAUSED = "scoring paused"
    DAMAGED = "storage damaged"
    RETRY = "retry"
    WORKER = "no worker"
    TURN = "turn"  # other runs come first


@dataclass(frozen=True, slots=True)
class Wait:
    """What a queued run waits for. text: sentences for its team."""

    cause: Cause
    text: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """A queued run."""

    scorer: str
    is_suspended: bool = False  # its team is
    pause_reason: str | None = None  # of the organisers, who have paused scoring
    damaged: str | None = None  # what must be repaired before it can be scored, e.g. "stored archive"
    retry_at: datetime | None = None  # the end of the pause after an attempt that was interrupted


def wait_of(
    waiting: Waiting, place: int | None, seconds: int | None, *, has_worker: bool, is_held_up: bool = False
) -> Wait:
    """Return what a queued run waits for. place: in the queue; seconds: how long it is expected to take.

    is_held_up: whether every process does work of organisers.

    >>> wait_of(Waiting("1"), 3, 120, has_worker=True).text
    'Number 3 in the queue, where teams take turns; scored in about 2 minutes.'
    """
    known = _obstacles(waiting, place, has_worker=has_worker)
    left = f"; scored {soon(seconds)}" if seconds else ""
    if is_held_up:
        left = "; scoring goes on once a data set of organisers has been read or applied"
    turn = f"Number {place} in the queue, where teams take turns{left}." if place else "In the queue."
    return next((Wait(*each) for each in known), Wait(Cause.TURN, turn))


def soon(seconds: int) -> str:
    """Return when a run is scored, in words; seconds: the expected wait, rounded up to minutes.

    >>> soon(60), soon(120)
    ('within a minute', 'in about 2 minutes')
    """
    return "within a minute" if seconds <= 60 else f"in about {seconds // 60} minutes"


def _obstacles(waiting: Waiting, place: int | None, *, has_worker: bool) -> Iterator[tuple[Cause, str]]:
    """Yield what keeps a run from being scored besides other runs, the longest lasting first."""
    if waiting.is_suspended:
        text = "It waits while the team is suspended, and is scored once the suspension is lifted."
        yield Cause.SUSPENDED, text
    if waiting.pause_reason is not None:
        reason = waiting.pause_reason.rstrip(". ")
        text = f"The organisers have paused scoring: {reason}. It keeps its place, and is scored once they resume."
        yield Cause.PAUSED, text
    if waiting.damaged is not None:
        text = (
            f"It waits: {waiting.damaged} damaged. This is an error on our side, not yours, and nothing is counted. It is"
            " scored by itself once the file is repaired."
        )
        yield Cause.DAMAGED, text
    if not has_worker:
        where = f"Number {place} in the queue. " if place else ""
        yield Cause.WORKER, f"{where}No worker is alive at the moment; scoring starts as soon as one is."
    if waiting.retry_at is not None:
        moment = f"{waiting.retry_at.astimezone(UTC):%H:%M} UTC"
        yield Cause.RETRY, f"Scoring was interrupted by an error on our side; it is tried again at {moment}."


@dataclass(frozen=True, slots=True)
class Places:
    """The current state of a page's runs in the queue."""

    places: Mapping[int, int]  # by run id, 1 for the next; without runs beyond `MAX_PLACE`
    slots: Mapping[str, int]  # by scorer version, how many runs are scored at the same time
    seconds: float | None  # that a run usually takes; None if no run has been scored yet
    waiting: Mapping[int, Waiting] = field(default_factory=dict)  # by run id
    organising: int = 0  # processes that do work of organisers

    def place(self, run: RunLike) -> int | None:
        """Return the place of a run, 1 for the next; None if it is unknown."""
        return self.places.get(run.id)

    def has_worker(self, run: RunLike) -> bool:
        """Whether the run is not queued, or a worker that can score it is alive."""
        return run.state is not RunState.QUEUED or self.slots.get(run.scorer, 0) > 0

    def wait_seconds(self, run: RunLike) -> int | None:
        """Return the estimated seconds until a queued run is scored, if known, rounded up to minutes to hide single runs' times."""
        return self._seconds(self.place(run), run.scorer)

    def _seconds(self, place: int | None, scorer: str) -> int | None:
        slots = self.slots.get(scorer, 0)
        if not place or not slots or self.seconds is None:
            return None
        return expected_wait(place, slots, self.seconds)

    def wait(self, run_id: int) -> Wait | None:
        """Return what a run waits for; None if it does not wait."""
        waiting = self.waiting.get(run_id)
        if waiting is None:
            return None
        place, slots = self.places.get(run_id), self.slots.get(waiting.scorer, 0)
        seconds, is_held_up = self._seconds(place, waiting.scorer), 0 < slots <= self.organising
        return wait_of(waiting, place, seconds, has_worker=slots > 0, is_held_up=is_held_up)


def expected_wait(place: int, slots: int, seconds: float) -> int:
    """Return after how many seconds the run at this place is scored, rounded up to minutes to hide single runs' times.

    slots: how many are scored at the same time; seconds: that a run usually takes.

    >>> expected_wait(5, 2, 70.0)
    240
    """
    return 60 * max(1, math.ceil(math.ceil(place / slots) * seconds / 60))


EMPTY = Places({}, {}, None)


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a run would meet that is queued now. waiting: runs in the queue, at most `MAX_PLACE`; wait_seconds: until it is scored.

    held: runs of a phase whose scoring is paused that wait until it is resumed; None if it is not paused.
    """

    waiting: int
    has_worker: bool
    wait_seconds: int | None
    held: int | None = None

    @property
    def text(self) -> str:
        """Return it in a sentence.

        >>> Outlook(0, True, 60).text, Outlook(3, True, 120).text
        ('Nothing waits; a new result is scored within a minute.', '3 results wait; a new one is scored in about 2 minutes.')
        >>> Outlook(0, True, 60, held=3).text
        '3 results wait until the organisers resume scoring; a new one waits with them.'
        """
        if self.held is not None:
            them = f"{_results(self.held)} until the organisers resume scoring; a new one waits with them."
            return them if self.held else "A new result waits until the organisers resume scoring."
        if not self.has_worker:
            return "No worker is running at the moment; scoring starts as soon as one is."
        what = "one" if self.waiting else "result"
        known = f"; a new {what} is scored {soon(self.wait_seconds)}" if self.wait_seconds else ""
        return f"{_results(self.waiting) if self.waiting else 'Nothing waits'}{known}."


def _results(count: int) -> str:
    return "1 result waits" if count == 1 else f"{count:,} results wait"


def outlook_of(platform: Platform, session: Session, scorer: str, phase_id: int) -> Outlook:
    """Return what a run of this scorer version and phase would meet that is queued now."""
    order = platform.cache.version(("queue", scorer), partial(_order, session, scorer))
    seconds = platform.cache.version("run seconds", partial(typical_run_seconds, session))
    slots = slots_of(platform, session).get(scorer, 0)
    wait = None if seconds is None or not slots else expected_wait(len(order) + 1, slots, seconds)
    return Outlook(len(order), slots > 0, wait, _held(session, phase_id))


def _held(session: Session, phase_id: int) -> int | None:
    """Count the runs that wait because scoring of their phase is paused; None if it is not."""
    if session.scalar(select(Phase.paused_at).where(Phase.id == phase_id)) is None:
        return None
    theirs = (
        select(func.count())
        .select_from(Job)
        .join(Run, Run.id == Job.run_id)
        .join(Run.ground_truth)
        .where(GroundTruth.phase_id == phase_id, is_waiting(), Job.queue == Queue.RUNS)
    )
    return session.scalar(theirs) or 0


def places_of(platform: Platform, session: Session, run_ids: Collection[int]) -> Places:
    """Return the places of these runs; the order is cached for a second and shared by all requests."""
    return places_among(platform, session, _waiting(session, run_ids) if run_ids else {})


def places_among(platform: Platform, session: Session, waiting: Mapping[int, Waiting]) -> Places:
    """Like `places_of`, for runs that are known to be queued."""
    if not waiting:
        return EMPTY
    cache, places = platform.cache, dict[int, int]()
    for scorer in {each.scorer for each in waiting.values()}:
        order = cache.version(("queue", scorer), partial(_order, session, scorer))
        places |= {run: place for place, run in enumerate(order, 1) if run in waiting}
    seconds = cache.version("run seconds", partial(typical_run_seconds, session))
    organising = cache.version("organising", partial(_organising, session))
    return Places(places, slots_of(platform, session), seconds, waiting, organising)


def slots_of(platform: Platform, session: Session) -> dict[str, int]:
    """Return the slots of live workers by scorer version, cached for a second."""
    found = platform.cache.version("slots", lambda: tuple(heartbeats.slots_by_scorer(session).items()))
    return dict(found)


def causes() -> tuple[ColumnElement[Any], ...]:
    """The columns of `Waiting` after its scorer version, for statements about Job."""
    what = select(DamagedContent.what).where(DamagedContent.id == Job.damaged_content_id)
    reason = (
        select(Phase.pause_reason)
        .join(GroundTruth, GroundTruth.phase_id == Phase.id)
        .join(Run, Run.ground_truth_id == GroundTruth.id)
        .where(Run.id == Job.run_id, Phase.paused_at.is_not(None))
    )
    now = func.clock_timestamp()
    return (
        func.coalesce(is_suspended(), False),
        reason.correlate(Job).scalar_subquery(),
        what.correlate(Job).scalar_subquery(),
        case((Job.not_before.between(now, now + LONGEST_PAUSE), Job.not_before)),
    )


def _waiting(session: Session, run_ids: Collection[int]) -> dict[int, Waiting]:
    """The queued ones of these runs."""
    statement = select(Job.run_id, Job.scorer, *causes()).where(
        Job.run_id == func.any(list(run_ids)), is_waiting()
    )
    return {run: Waiting(*facts) for run, *facts in session.execute(statement) if run}


def _organising(session: Session) -> int:
    claimed = (Job.queue == Queue.ORGANISING, Job.lease_until.is_not(None))
    return session.scalar(select(func.count()).select_from(Job).where(*claimed)) or 0


def _order(session: Session, scorer: str) -> tuple[int, ...]:
    """The first `MAX_PLACE` runs in the order in which workers claim them."""
    statement = select(Job.run_id).where(
        is_waiting(),
        Job.queue == Queue.RUNS,
        Job.scorer == scorer,
        Job.damaged_content_id.is_(None),
        ~is_held(),
    )
    return tuple(session.scalars(statement.order_by(*CLAIM_ORDER).limit(MAX_PLACE)))


def typical_run_seconds(session: Session) -> float | None:
    """The average duration of recently scored runs, from claim to end."""
    recent = (
        select(func.extract("epoch", Run.finished_at - Run.claimed_at).label("seconds"))
        .where(Run.state == RunState.SCORED, Run.finished_at.is_not(None))
        .order_by(Run.finished_at.desc())
        .limit(RECENT_RUNS)
        .subquery()
    )
    average = session.scalar(select(func.avg(recent.c.seconds)))
    return None if average is None else float(average)
