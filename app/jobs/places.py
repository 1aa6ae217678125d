"""The positions of queued runs, their expected waiting time, and how often pages poll."""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Final, Protocol

from sqlalchemy import ScalarSelect, func, select
from sqlalchemy.orm import Session

from app.jobs import heartbeats
from app.jobs.queue import CLAIM_ORDER, is_held, is_waiting
from app.models import DamagedContent, Job, Queue, Run, RunState
from app.platform import Platform

MAX_PLACE = 1000  # runs further back in the queue have no place yet
RECENT_RUNS = 50
LONG_QUEUE: Final = 20  # with this many runs ahead, nothing changes within seconds
PAUSES: Final = (  # seconds between two polls until the page has waited for so long
    (timedelta(seconds=20), 1),
    (timedelta(minutes=2), 2),
    (timedelta(minutes=10), 5),
)
LONGEST_PAUSE: Final = 15


def poll_interval(waited: timedelta, place: int | None) -> int:
    """Return the seconds until a page polls again, which grow with its waiting time; place: None if the run has started.

    >>> poll_interval(timedelta(seconds=5), 1), poll_interval(timedelta(hours=1), 1)
    (1, 15)
    """
    pause = next((seconds for end, seconds in PAUSES if waited < end), LONGEST_PAUSE)
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


@dataclass(frozen=True, slots=True)
class Waiting:
    """A queued run."""

    scorer: str
    is_held: bool  # its team is suspended
    damaged: str | None  # what must be repaired before it can be scored, e.g. "stored archive"


@dataclass(frozen=True, slots=True)
class Places:
    """The current state of a page's runs in the queue."""

    places: Mapping[int, int]  # by run id, 1 for the next; without runs beyond `MAX_PLACE`
    slots: Mapping[str, int]  # by scorer version, how many runs are scored at the same time
    seconds: float | None  # that a run usually takes; None if no run has been scored yet
    held: frozenset[int] = frozenset()  # runs that wait because their team is suspended
    damaged: Mapping[int, str] = field(default_factory=dict)  # by run id, what must be repaired first

    def place(self, run: RunLike) -> int | None:
        """Return the place of a run, 1 for the next; None if it is unknown."""
        return self.places.get(run.id)

    def has_worker(self, run: RunLike) -> bool:
        """Whether the run is not queued, or a worker that can score it is alive."""
        return run.state is not RunState.QUEUED or self.slots.get(run.scorer, 0) > 0

    def wait_seconds(self, run: RunLike) -> int | None:
        """Return the estimated seconds until a queued run is scored, if known, rounded up to minutes to hide single runs' times."""
        place, slots = self.place(run), self.slots.get(run.scorer, 0)
        if not place or not slots or self.seconds is None:
            return None
        return _in_minutes(math.ceil(place / slots) * self.seconds)


EMPTY = Places({}, {}, None)


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a run would meet that is queued now. waiting: runs in the queue, at most `MAX_PLACE`; wait_seconds: until it is scored."""

    waiting: int
    has_worker: bool
    wait_seconds: int | None


def outlook_of(platform: Platform, session: Session, scorer: str) -> Outlook:
    """Return what a run of this scorer version would meet that is queued now."""
    order = platform.cache.version(("queue", scorer), partial(_order, session, scorer))
    seconds = platform.cache.version("run seconds", partial(_typical_run_seconds, session))
    slots = slots_of(platform, session).get(scorer, 0)
    wait = (
        None if seconds is None or not slots else _in_minutes(math.ceil((len(order) + 1) / slots) * seconds)
    )
    return Outlook(len(order), slots > 0, wait)


def _in_minutes(seconds: float) -> int:
    """Round seconds up to minutes, which hides the times of single runs."""
    return 60 * max(1, math.ceil(seconds / 60))


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
    seconds = cache.version("run seconds", partial(_typical_run_seconds, session))
    held = frozenset(run for run, each in waiting.items() if each.is_held)
    damaged = {run: each.damaged for run, each in waiting.items() if each.damaged is not None}
    return Places(places, slots_of(platform, session), seconds, held, damaged)


def slots_of(platform: Platform, session: Session) -> dict[str, int]:
    """Return the slots of live workers by scorer version, cached for a second."""
    found = platform.cache.version("slots", lambda: tuple(heartbeats.slots_by_scorer(session).items()))
    return dict(found)


def damaged_content() -> ScalarSelect[str]:
    """The description of the damaged content that a job waits for, if any."""
    what = select(DamagedContent.what).where(DamagedContent.id == Job.damaged_content_id)
    return what.correlate(Job).scalar_subquery()


def _waiting(session: Session, run_ids: Collection[int]) -> dict[int, Waiting]:
    """The queued ones of these runs."""
    statement = select(Job.run_id, Job.scorer, is_held(), damaged_content()).where(
        Job.run_id == func.any(list(run_ids)), is_waiting()
    )
    rows = session.execute(statement)
    return {run: Waiting(scorer, held, damaged) for run, scorer, held, damaged in rows if run}


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


def _typical_run_seconds(session: Session) -> float | None:
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
