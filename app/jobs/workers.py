"""Which workers and sweepers are alive, and whose turn it is to sweep."""

from collections.abc import Mapping
from datetime import timedelta

from sqlalchemy import ColumnElement, and_, delete, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.models import Heartbeat, Service

SWEEP_LOCK = 0x53574550  # advisory lock of the process that decides that it is time to sweep
LAST_TURN = "turn"  # row of the heartbeat table: when a sweep began
LAST_SWEEP = "sweep"  # and when one was complete
ALIVE = timedelta(seconds=60)  # a process that was seen within this time is alive
FORGET_WORKER = timedelta(days=1)


def idle_slots(slots: Mapping[str, int], running: Mapping[str, int]) -> dict[str, int]:
    """By scorer version, how many more runs its workers could score now.

    >>> idle_slots({"1": 4, "2": 2}, {"1": 3, "2": 5})
    {'1': 1, '2': 0}
    """
    return {scorer: max(0, count - running.get(scorer, 0)) for scorer, count in slots.items()}


def take_turn(session: Session, every: timedelta) -> bool:
    """Whether it is time to sweep and no other process does; if so, the next turn is after `every`."""
    if not session.scalar(select(func.pg_try_advisory_xact_lock(SWEEP_LOCK))):
        return False
    age = _age(session, LAST_TURN)
    if age is not None and timedelta(0) <= age < every:
        return False
    write_heartbeat(session, LAST_TURN, Service.SWEEPER)
    return True


def record_sweep(session: Session) -> None:
    """Note that a sweep is complete, and forget workers that have not been seen for a day."""
    write_heartbeat(session, LAST_SWEEP, Service.SWEEPER)
    gone = func.clock_timestamp() - FORGET_WORKER
    session.execute(delete(Heartbeat).where(Heartbeat.service == Service.WORKER, Heartbeat.seen_at < gone))


def write_heartbeat(
    session: Session, name: str, service: Service, *, scorer: str | None = None, slots: int = 0
) -> None:
    """Note that a process is alive."""
    values = {"service": service, "scorer": scorer, "slots": slots, "seen_at": func.clock_timestamp()}
    statement = insert(Heartbeat).values(name=name, **values)
    session.execute(statement.on_conflict_do_update(index_elements=[Heartbeat.name], set_=values))


def delete_heartbeat(session: Session, name: str) -> None:
    """Forget a process that ends."""
    session.execute(delete(Heartbeat).where(Heartbeat.name == name))


def last_sweep_age(session: Session) -> timedelta | None:
    """How long ago the last sweep was complete; none if there has never been one."""
    age = _age(session, LAST_SWEEP)
    return None if age is None else abs(age)


def _age(session: Session, name: str) -> timedelta | None:
    return session.scalar(select(func.clock_timestamp() - Heartbeat.seen_at).where(Heartbeat.name == name))


def slots_by_scorer(session: Session) -> dict[str, int]:
    """By scorer version, how many runs the workers that are alive score at the same time."""
    statement = (
        select(Heartbeat.scorer, func.sum(Heartbeat.slots))
        .where(is_alive_worker(), Heartbeat.scorer.is_not(None))
        .group_by(Heartbeat.scorer)
    )
    return {scorer or "": slots for scorer, slots in session.execute(statement)}


def alive_workers(session: Session) -> int:
    """How many workers are alive, whatever their version."""
    return session.scalar(select(func.count()).where(is_alive_worker())) or 0


def has_alive_worker(session: Session, host: str) -> bool:
    """Whether a worker on this host is alive."""
    of_host = Heartbeat.name.startswith(f"{host}:", autoescape=True)
    return bool(session.scalar(select(func.count()).where(is_alive_worker(), of_host)))


def is_alive_worker() -> ColumnElement[bool]:
    """Whether a row is of a worker that has shown a sign of life in the last minute."""
    now = func.clock_timestamp()
    return and_(Heartbeat.service == Service.WORKER, Heartbeat.seen_at.between(now - ALIVE, now + ALIVE))
