"""When a run is tried again, and when it has failed for good."""

from collections.abc import Mapping
from datetime import timedelta

from app.models import RunState

ENDED = (RunState.SCORED, RunState.REFUSED, RunState.FAILED)

PAUSES = (1, 6, 24, 120)  # in units of the first pause: 5 s, 30 s, 2 min, 10 min
LONGEST_PAUSE = timedelta(minutes=10)

MAX_LOST_LEASES = (
    10  # with the pauses between them more than an hour, so that it is not one bad moment of ours
)

STOPPED_MESSAGE = "scoring this archive was stopped: "
LOST_MESSAGE = "the worker stopped {losses} times while scoring this; this costs nothing, and organisers see it on their page"
FAILED_MESSAGE = (
    "scoring failed on our side {crashes} times; this costs nothing, and organisers see it on their page"
)


def pause_before_retry(retries: int, first: timedelta) -> timedelta:
    """How long a run waits after it has been put back to the queue for the given time, counted from 1.

    >>> [pause_before_retry(retries, timedelta(seconds=5)).seconds for retries in (1, 2, 3, 4, 5, 100)]
    [5, 30, 120, 600, 600, 600]
    """
    return min(first * PAUSES[min(retries, len(PAUSES)) - 1], LONGEST_PAUSE)


def pause_between_looks(first: timedelta) -> timedelta:
    """After how long a damaged content is looked at again.

    >>> pause_between_looks(timedelta(seconds=5)).seconds
    600
    """
    return pause_before_retry(len(PAUSES), first)


def state_after_crash(crashes: int, limit: int) -> RunState:
    """Whether a run whose scoring crashed is tried again.

    >>> state_after_crash(1, 3).value, state_after_crash(3, 3).value
    ('queued', 'failed')
    """
    return RunState.FAILED if crashes >= limit else RunState.QUEUED


def state_after_lost_lease(lost_leases: int) -> RunState:
    """Whether a run whose worker was lost is tried again.

    >>> state_after_lost_lease(9).value, state_after_lost_lease(10).value
    ('queued', 'failed')
    """
    return RunState.FAILED if lost_leases >= MAX_LOST_LEASES else RunState.QUEUED


def idle_slots(slots: Mapping[str, int], running: Mapping[str, int]) -> dict[str, int]:
    """By scorer version, how many more runs its workers could score now.

    >>> idle_slots({"1": 4, "2": 2}, {"1": 3, "2": 5})
    {'1': 1, '2': 0}
    """
    return {scorer: max(0, count - running.get(scorer, 0)) for scorer, count in slots.items()}
