"""Heartbeats of workers and sweepers, and which process sweeps next."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, and_, delete, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.models import Heartbeat, Service

SWEEP_LOCK = 0x53574550  # advisory lock while deciding which process sweeps
LAST_TURN = "turn"  # row of the heartbeat table: when the last sweep began
LAST_SWEEP = "sweep"  # and when the last one was completed
LAST_BACKUP = "backup"  # and when the last backup was
EVERY = timedelta(seconds=5)  # between two heartbeats of a process
ALIVE = timedelta(seconds=20)  # maximum age of the heartbeat of a live process
FORGET_WORKER = timedelta(days=1)
ENDING = (Service.WORKER, Service.SENDER)  # processes, each with a row of its own


def idle_slots(slots: Mapping[str, int], running: Mapping[str, int]) -> dict[str, int]:
    """Return how many more runs workers could score now, by scorer version.

    >>> idle_slots({"1": 4, "2": 2}, {"1": 3, "2": 5})
    {'1': 1, '2': 0}
    """
    return {scorer: max(0, count - running.get(scorer, 0)) for scorer, count in slots.items()}


def try_acquire_sweep(session: Session, every: timedelta) -> bool:
    """Whether this process should sweep now; if so, the next sweep is due after `every`."""
    if not session.scalar(select(func.pg_try_advisory_xact_lock(SWEEP_LOCK))):
        return False
    age = _age(session, LAST_TURN)
    if age is not None and timedelta(0) <= age < every:
        return False
    write_heartbeat(session, LAST_TURN, Service.SWEEPER)
    return True


def start_if_due(session: Session, name: str, every: timedelta) -> bool:
    """Whether something that runs periodically is due; if so, record that this process does it now."""
    turn = insert(Heartbeat).values(name=name, service=Service.SWEEPER)
    statement = turn.on_conflict_do_update(
        index_elements=[Heartbeat.name],
        set_={"seen_at": func.clock_timestamp()},
        where=Heartbeat.seen_at < func.clock_timestamp() - every,
    )
    return session.scalar(statement.returning(Heartbeat.name)) is not None


def record_sweep(session: Session) -> None:
    """Record that a sweep is complete, and delete workers that have not been seen for a day."""
    write_heartbeat(session, LAST_SWEEP, Service.SWEEPER)
    oldest = func.clock_timestamp() - FORGET_WORKER
    session.execute(delete(Heartbeat).where(Heartbeat.service.in_(ENDING), Heartbeat.seen_at < oldest))


def write_heartbeat(
    session: Session, name: str, service: Service, *, scorer: str | None = None, slots: int = 0
) -> None:
    """Record that a process is alive."""
    values = {"service": service, "scorer": scorer, "slots": slots, "seen_at": func.clock_timestamp()}
    statement = insert(Heartbeat).values(name=name, **values)
    session.execute(statement.on_conflict_do_update(index_elements=[Heartbeat.name], set_=values))


def delete_heartbeat(session: Session, name: str) -> None:
    """Delete the heartbeat of a process that exits."""
    session.execute(delete(Heartbeat).where(Heartbeat.name == name))


def last_sweep_age(session: Session) -> timedelta | None:
    """Return the time since the last complete sweep; None if there has never been one."""
    age = _age(session, LAST_SWEEP)
    return None if age is None else abs(age)


def last_backup_at(session: Session) -> datetime | None:
    """Return when the last backup was complete; None if there has never been one."""
    return session.scalar(select(Heartbeat.seen_at).where(Heartbeat.name == LAST_BACKUP))


def lost_workers(session: Session, age: timedelta) -> dict[str, datetime]:
    """Return the hosts whose workers stopped without saying so, more than `age` ago, each with when it was last seen."""
    workers = select(Heartbeat.name, Heartbeat.seen_at).where(Heartbeat.service == Service.WORKER)
    silent = session.execute(workers.where(Heartbeat.seen_at < func.clock_timestamp() - age)).all()
    seen = {name.rpartition(":")[0]: at for name, at in sorted(silent, key=lambda row: row.seen_at)}
    return {host: at for host, at in seen.items() if not has_alive_process(session, host)}


def _age(session: Session, name: str) -> timedelta | None:
    return session.scalar(select(func.clock_timestamp() - Heartbeat.seen_at).where(Heartbeat.name == name))


def slots_by_scorer(session: Session) -> dict[str, int]:
    """Return how many runs live workers can score at the same time, by scorer version."""
    statement = (
        select(Heartbeat.scorer, func.sum(Heartbeat.slots))
        .where(is_alive(), Heartbeat.scorer.is_not(None))
        .group_by(Heartbeat.scorer)
    )
    return {scorer or "": slots for scorer, slots in session.execute(statement)}


def alive_workers(session: Session) -> int:
    """Count live workers of any version."""
    return session.scalar(select(func.count()).where(is_alive())) or 0


def alive_senders(session: Session) -> int:
    """Count live senders."""
    return session.scalar(select(func.count()).where(is_alive(Service.SENDER))) or 0


def has_alive_process(session: Session, host: str, service: Service = Service.WORKER) -> bool:
    """Whether there is a live worker, or sender, on this host."""
    of_host = Heartbeat.name.startswith(f"{host}:", autoescape=True)
    return bool(session.scalar(select(func.count()).where(is_alive(service), of_host)))


def is_alive(service: Service = Service.WORKER) -> ColumnElement[bool]:
    """The condition that a heartbeat is from a worker, or a sender, that is alive."""
    now = func.clock_timestamp()
    return and_(Heartbeat.service == service, Heartbeat.seen_at.between(now - ALIVE, now + ALIVE))
