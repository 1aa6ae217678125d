"""The queue as those who wait in it see it."""

from collections.abc import Collection, Mapping
from functools import partial

from sqlalchemy.orm import Session

from app.platform import Platform
from app.workers import queries
from app.workers.schemas import EMPTY, Queue, Waiting


def queue_of(platform: Platform, session: Session, run_ids: Collection[int]) -> Queue:
    """The queue as far as it concerns these runs; its order is at most a second old, read once for all who wait."""
    return queue_around(platform, session, queries.waiting(session, run_ids) if run_ids else {})


def queue_around(platform: Platform, session: Session, waiting: Mapping[int, Waiting]) -> Queue:
    """As `queue_of` for runs that are known to be queued."""
    if not waiting:
        return EMPTY
    cache, places = platform.cache, dict[int, int]()
    for scorer in {each.scorer for each in waiting.values()}:
        order = cache.version(("queue", scorer), partial(queries.order, session, scorer))
        places |= {run: place for place, run in enumerate(order, 1) if run in waiting}
    seconds = cache.version("run seconds", partial(queries.typical_run_seconds, session))
    held = frozenset(run for run, each in waiting.items() if each.is_held)
    damaged = {run: each.damaged for run, each in waiting.items() if each.damaged is not None}
    return Queue(places, slots_of(platform, session), seconds, held, damaged)


def slots_of(platform: Platform, session: Session) -> dict[str, int]:
    """By scorer version, how many runs the workers that are alive score at the same time; at most a second old."""
    found = platform.cache.version("slots", lambda: tuple(queries.slots_by_scorer(session).items()))
    return dict(found)
