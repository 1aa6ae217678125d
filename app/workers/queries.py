"""Signs of life of workers and sweepers, and the queue of runs."""

from collections.abc import Collection
from datetime import timedelta
from typing import Final

from sqlalchemy import (
    ARRAY,
    BigInteger,
    ColumnElement,
    ScalarSelect,
    SQLColumnExpression,
    and_,
    any_,
    bindparam,
    delete,
    exists,
    func,
    select,
)
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session, aliased

from app.models import DamagedContent, Heartbeat, Run, RunState, Service, Team
from app.workers.schemas import Waiting

SWEEP_LOCK = 0x53574550  # advisory lock of the process that decides that it is time to sweep
LAST_TURN = "turn"  # row of the heartbeat table: when a sweep began
LAST_SWEEP = "sweep"  # and when one was complete
ALIVE = timedelta(seconds=60)  # a process that was seen within this time is alive
FORGET_WORKER = timedelta(days=1)
MAX_PLACE = 1000  # runs further behind in the queue have no place yet
RECENT_RUNS = 50
CLAIM_ORDER = (
    Run.priority,
    Run.turn,
    Run.queued_at,
    Run.id,
)  # within a scorer version; `ix_run_queued` has it


def is_held(run: type[Run] = Run) -> ColumnElement[bool]:
    """Whether a run waits until its team is not suspended any more; what is scored again is not held, boards wait for it."""
    # one look at the index of suspended teams for each run, while a list of them would be made anew for each claim
    suspended = exists().where(Team.id == run.team_id, Team.suspended_at.is_not(None)).correlate(run)
    return and_(run.rescore_id.is_(None), suspended)


def damaged_content() -> ScalarSelect[str]:
    """What a run waits for until it is repaired; none where it does not."""
    what = select(DamagedContent.what).where(DamagedContent.id == Run.damaged_content_id)
    return what.correlate(Run).scalar_subquery()


WAITING: Final = select(Run.id, Run.scorer, is_held(), damaged_content()).where(
    Run.id == any_(bindparam("runs", type_=ARRAY(BigInteger))), Run.state == RunState.QUEUED
)


def next_turn(
    team_id: SQLColumnExpression[int], scorer: SQLColumnExpression[str], priority: SQLColumnExpression[int]
) -> ColumnElement[int]:
    """The round of a queue in which a team's next run is claimed: after its own last one, and no earlier than the present round.

    Runs of one team are in rounds one after the other and every team has at most one run in a round, so claiming in the order
    of rounds is a round robin over teams (start-time fair queueing with one unit per run, Goyal, Vin and Cheng 1996).
    """
    run = aliased(Run)
    same_queue = and_(run.scorer == scorer, run.priority == priority)
    own = select(func.max(run.turn) + 1).where(
        same_queue, run.team_id == team_id, run.state.in_((RunState.QUEUED, RunState.RUNNING))
    )
    running = select(func.max(run.turn)).where(same_queue, run.state == RunState.RUNNING)
    waiting = select(func.min(run.turn)).where(
        same_queue, run.state == RunState.QUEUED, run.damaged_content_id.is_(None), ~is_held(run)
    )
    return func.greatest(own.scalar_subquery(), running.scalar_subquery(), waiting.scalar_subquery(), 0)


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


def waiting(session: Session, run_ids: Collection[int]) -> dict[int, Waiting]:
    """Those of these runs that are queued."""
    rows = session.execute(WAITING, {"runs": [*run_ids]})
    return {run: Waiting(scorer, held, damaged) for run, scorer, held, damaged in rows}


def order(session: Session, scorer: str) -> tuple[int, ...]:
    """The runs in the order in which workers claim them, as far as `MAX_PLACE`."""
    statement = select(Run.id).where(
        Run.state == RunState.QUEUED, Run.scorer == scorer, Run.damaged_content_id.is_(None), ~is_held()
    )
    return tuple(session.scalars(statement.order_by(*CLAIM_ORDER).limit(MAX_PLACE)))


def typical_run_seconds(session: Session) -> float | None:
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
