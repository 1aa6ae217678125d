"""How many results and runs each phase has, for its organisers."""

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, Final

from sqlalchemy import CompoundSelect, Select, func, literal, select, true, union_all
from sqlalchemy.orm import Session

from app.jobs.queue import CLAIM_ORDER, is_waiting
from app.models import DamagedContent, GroundTruth, Job, Phase, Queue, Result, ResultState, Run, RunState

MAX_COUNT: Final = 10_000  # at most so many results of a phase and runs of a state are counted


@dataclass(frozen=True, slots=True)
class PhaseQueue:
    """The number of results of a phase, and of its runs by state."""

    results: int
    queued: int
    running: int
    failed: int


@dataclass(frozen=True, slots=True)
class WaitingForRepair:
    """The number of runs in a phase that wait for damaged content to be repaired. what: its kind, e.g. "stored archive"."""

    what: str
    runs: int


EMPTY_QUEUE: Final = PhaseQueue(results=0, queued=0, running=0, failed=0)


def waiting_for_repair(session: Session) -> dict[int, tuple[WaitingForRepair, ...]]:
    """Count the runs of each phase that wait for a repair, by kind of damaged content."""
    statement = (
        select(GroundTruth.phase_id, DamagedContent.what, func.count())
        .select_from(Job)
        .join(Run, Job.run_id == Run.id)
        .join(DamagedContent, Job.damaged_content_id == DamagedContent.id)
        .join(Run.ground_truth)
        .group_by(GroundTruth.phase_id, DamagedContent.what)
        .order_by(DamagedContent.what)
    )
    by_phase: dict[int, tuple[WaitingForRepair, ...]] = {}
    for phase, what, runs in session.execute(statement):
        by_phase[phase] = (*by_phase.get(phase, ()), WaitingForRepair(what, runs))
    return by_phase


def queues_of_phases(session: Session) -> tuple[dict[int, PhaseQueue], frozenset[RunState]]:
    """Count, by phase, the results on boards and the runs that are queued, running or failed.

    At most `MAX_COUNT` results of each phase are counted, and at most `MAX_COUNT` runs of each state over all phases: the first
    in the queue, and the most recent failures. Failed runs of re-scorings do not count. The second value lists the states that
    reached the limit, so that each phase may have more. The counts come from partial indexes, since nearly all runs were scored
    long ago.
    """
    results = session.execute(_results_on_boards(MAX_COUNT))
    by_phase = {phase: replace(EMPTY_QUEUE, results=count) for phase, count in results}
    rows_read = Counter[RunState]()
    for phase, state, count, read in session.execute(_unscored_runs(MAX_COUNT)):
        by_phase[phase] = replace(by_phase.get(phase, EMPTY_QUEUE), **{state.value: count})
        rows_read[state] += read
    return by_phase, frozenset(state for state, read in rows_read.items() if read >= MAX_COUNT)


# States and limits are literals in these statements: a generic plan would scan the whole table.


def _results_on_boards(limit: int) -> Select[int, int]:
    """Count the results on boards by phase, up to the limit."""
    scored = literal(ResultState.SCORED, Result.state.type, literal_execute=True)
    on_boards = select(Result.id).where(Result.phase_id == Phase.id, Result.state == scored)
    counted = on_boards.limit(literal(limit, literal_execute=True)).lateral()
    return select(Phase.id, func.count()).join(counted, true()).group_by(Phase.id)


def _unscored_runs(limit: int) -> CompoundSelect[int, RunState, int, int]:
    """Count queued, running and failed runs by phase and state, with the number of rows read."""
    of_runs = Job.queue == literal(Queue.RUNS, Job.queue.type, literal_execute=True)
    waiting = select(Job.run_id).where(of_runs, is_waiting()).order_by(Job.scorer, *CLAIM_ORDER)
    running = select(Job.run_id).where(of_runs, Job.lease_until.is_not(None)).order_by(Job.scorer)
    failed = literal(RunState.FAILED, Run.state.type, literal_execute=True)
    ended = select(Run.id).where(Run.state == failed, Run.finished_at.is_not(None))
    return union_all(
        _by_phase(RunState.QUEUED, waiting, limit),
        _by_phase(RunState.RUNNING, running, limit),
        _by_phase(RunState.FAILED, ended.order_by(Run.finished_at.desc()), limit),
    )


def _by_phase(state: RunState, runs: Select[Any], limit: int) -> Select[int, RunState, int, int]:
    """Count the first runs of a state by phase, with the number of rows read."""
    first = runs.limit(literal(limit, literal_execute=True)).subquery()
    counted = func.count().filter(Run.rescore_id.is_(None)) if state is RunState.FAILED else func.count()
    return (
        select(GroundTruth.phase_id, literal(state, Run.state.type), counted, func.count())
        .join(Run, Run.ground_truth_id == GroundTruth.id)
        .join(first, next(iter(first.c)) == Run.id)
        .group_by(GroundTruth.phase_id)
    )
