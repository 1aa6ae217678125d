"""Where queued runs stand: their place, how long they wait, and how often a page asks."""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Final, Protocol

from sqlalchemy import ScalarSelect, func, select
from sqlalchemy.orm import Session

from app.jobs import workers
from app.jobs.queue import CLAIM_ORDER, is_held, is_waiting
from app.models import DamagedContent, Job, Queue, Run, RunState
from app.platform import Platform

MAX_PLACE = 1000  # runs further behind in the queue have no place yet
RECENT_RUNS = 50
FAR: Final = 20  # runs before one's own, from which on nothing happens within seconds
PAUSES: Final = (  # for how long somebody has waited, and the seconds between two questions until then
    (timedelta(seconds=20), 1),
    (timedelta(minutes=2), 2),
    (timedelta(minutes=10), 5),
)
LONGEST_PAUSE: Final = 15


def pause_between_questions(waited: timedelta, place: int | None) -> int:
    """Seconds after which a page asks again: more of them the longer it has waited; place: in the queue, none for a run under way.

    >>> pause_between_questions(timedelta(seconds=5), 1), pause_between_questions(timedelta(hours=1), 1)
    (1, 15)
    """
    pause = next((seconds for end, seconds in PAUSES if waited < end), LONGEST_PAUSE)
    return max(pause, 5) if place is not None and place > FAR else pause


class Placed(Protocol):
    """A run, as far as the queue has something to say of it."""

    @property
    def id(self) -> int:
        """Of the run."""

    @property
    def state(self) -> RunState:
        """Whether it is queued."""

    @property
    def scorer(self) -> str:
        """The version that it is scored by."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A queued run."""

    scorer: str
    is_held: bool  # its team is suspended
    damaged: str | None  # what has to be repaired before it can be scored, e.g. "stored archive"


@dataclass(frozen=True, slots=True)
class Places:
    """Where the runs of a page stand in the queue now."""

    places: Mapping[int, int]  # by run, 1 for the next; only as far as they were counted
    slots: Mapping[str, int]  # by scorer version, how many runs are scored at the same time
    seconds: float | None  # that a run usually takes; none: no run has been scored yet
    held: frozenset[int] = frozenset()  # runs that wait because their team is suspended
    damaged: Mapping[int, str] = field(default_factory=dict)  # by run that waits for a repair, of what

    def place(self, run: Placed) -> int | None:
        """1 for the run that is taken next."""
        return self.places.get(run.id)

    def has_worker(self, run: Placed) -> bool:
        """Whether a worker that can score a queued run is alive."""
        return run.state is not RunState.QUEUED or self.slots.get(run.scorer, 0) > 0

    def wait_seconds(self, run: Placed) -> int | None:
        """Seconds until a queued run is scored, if that can be known, in full minutes: fewer would time single runs."""
        place, slots = self.place(run), self.slots.get(run.scorer, 0)
        if not place or not slots or self.seconds is None:
            return None
        return 60 * max(1, math.ceil(math.ceil(place / slots) * self.seconds / 60))


EMPTY = Places({}, {}, None)


def places_of(platform: Platform, session: Session, run_ids: Collection[int]) -> Places:
    """The queue as far as it concerns these runs; its order is at most a second old, read once for all who wait."""
    return places_among(platform, session, _waiting(session, run_ids) if run_ids else {})


def places_among(platform: Platform, session: Session, waiting: Mapping[int, Waiting]) -> Places:
    """As `places_of` for runs that are known to be queued."""
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
    """By scorer version, how many runs the workers that are alive score at the same time; at most a second old."""
    found = platform.cache.version("slots", lambda: tuple(workers.slots_by_scorer(session).items()))
    return dict(found)


def damaged_content() -> ScalarSelect[str]:
    """What a job waits for until it is repaired; none where it does not."""
    what = select(DamagedContent.what).where(DamagedContent.id == Job.damaged_content_id)
    return what.correlate(Job).scalar_subquery()


def _waiting(session: Session, run_ids: Collection[int]) -> dict[int, Waiting]:
    """Those of these runs that are queued."""
    statement = select(Job.run_id, Job.scorer, is_held(), damaged_content()).where(
        Job.run_id == func.any(list(run_ids)), is_waiting()
    )
    rows = session.execute(statement)
    return {run: Waiting(scorer, held, damaged) for run, scorer, held, damaged in rows if run}


def _order(session: Session, scorer: str) -> tuple[int, ...]:
    """The runs in the order in which workers claim them, as far as `MAX_PLACE`."""
    statement = select(Job.run_id).where(
        is_waiting(),
        Job.queue == Queue.RUNS,
        Job.scorer == scorer,
        Job.damaged_content_id.is_(None),
        ~is_held(),
    )
    return tuple(session.scalars(statement.order_by(*CLAIM_ORDER).limit(MAX_PLACE)))


def _typical_run_seconds(session: Session) -> float | None:
    """How long the latest scored runs took from claim to end, on average."""
    recent = (
        select(func.extract("epoch", Run.finished_at - Run.claimed_at).label("seconds"))
        .where(Run.state == RunState.SCORED, Run.finished_at.is_not(None))
        .order_by(Run.finished_at.desc())
        .limit(RECENT_RUNS)
        .subquery()
    )
    average = session.scalar(select(func.avg(recent.c.seconds)))
    return None if average is None else float(average)
