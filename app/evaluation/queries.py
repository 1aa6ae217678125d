"""Runs in the database."""

from collections import Counter
from dataclasses import replace
from typing import Any

from sqlalchemy import CompoundSelect, Select, func, literal, select, text, true, union_all, update
from sqlalchemy.orm import Session

from app.evaluation.schemas import NOTHING, Assignment, PhaseQueue, WaitingForRepair
from app.jobs.queue import CLAIM_ORDER, Claim, is_waiting
from app.models import (
    DamagedContent,
    Entry,
    EntryState,
    GroundTruth,
    Job,
    Phase,
    Queue,
    Run,
    RunState,
    Submission,
    Upload,
)
from app.storage import content_key

MAX_COUNT = 10_000  # entries of a phase, and runs of a state, that are counted for organisers


def begin(session: Session, claim: Claim) -> None:
    """Note that a worker has begun a run."""
    values = {"state": RunState.RUNNING, "attempt": Run.attempt + 1, "claimed_at": func.clock_timestamp()}
    session.execute(update(Run).where(Run.id == claim.run).values(values))


def locked_run(session: Session, run_id: int) -> Run:
    """A run, locked after its job."""
    return session.get_one(Run, run_id, with_for_update=True)


def assignment_of(session: Session, run_id: int) -> Assignment:
    """What the run is about."""
    statement = (
        select(
            Submission.id,
            Upload.sha256,
            Upload.id,
            GroundTruth.key,
            Entry.competition,
            Run.protocol,
            Phase.description_key,
        )
        .select_from(Run)
        .join(Entry, Run.entry_id == Entry.id)
        .join(Submission, Entry.submission_id == Submission.id)
        .join(Upload, Submission.upload_id == Upload.id)
        .join(GroundTruth, Run.ground_truth_id == GroundTruth.id)
        .join(Phase, Entry.phase_id == Phase.id)
        .where(Run.id == run_id)
    )
    submission, sha256, upload_id, truth, competition, protocol, description = session.execute(
        statement
    ).one()
    archive = content_key(sha256 or "", upload_id)
    return Assignment(submission, archive, truth, competition, protocol, description)


def waiting_for_repair(session: Session) -> dict[int, tuple[WaitingForRepair, ...]]:
    """By phase, how many runs wait for the repair of what."""
    statement = (
        select(GroundTruth.phase_id, DamagedContent.what, func.count())
        .select_from(Job)
        .join(Run, Job.run_id == Run.id)
        .join(DamagedContent, Job.damaged_content_id == DamagedContent.id)
        .join(GroundTruth, Run.ground_truth_id == GroundTruth.id)
        .group_by(GroundTruth.phase_id, DamagedContent.what)
        .order_by(DamagedContent.what)
    )
    found: dict[int, tuple[WaitingForRepair, ...]] = {}
    for phase, what, runs in session.execute(statement):
        found[phase] = (*found.get(phase, ()), WaitingForRepair(what, runs))
    return found


def queues(session: Session) -> tuple[dict[int, PhaseQueue], frozenset[RunState]]:
    """By phase, how many entries stand on boards, as far as `MAX_COUNT`, and how many runs wait, run or have failed.

    Runs of a state are counted as far as `MAX_COUNT`, those of all phases together: the first of the queue, and those that failed last. The
    second value has the states that have so many, so that each phase may have more. Failed runs of re-scorings are not counted. Read from
    indexes that hold nothing else, because nearly all runs have been scored long ago.
    """
    entries = session.execute(_standing_entries(MAX_COUNT))
    found = {phase: replace(NOTHING, entries=count) for phase, count in entries}
    looked_at = Counter[RunState]()
    for phase, state, count, read in session.execute(_unscored_runs(MAX_COUNT)):
        found[phase] = replace(found.get(phase, NOTHING), **{state.value: count})
        looked_at[state] += read
    return found, frozenset(state for state, read in looked_at.items() if read >= MAX_COUNT)


# states and limits are written into these statements: a plan for any state and any limit reads the whole table


def _standing_entries(most: int) -> Select[int, int]:
    """By phase, how many entries stand on boards, as far as `most`."""
    scored = literal(EntryState.SCORED, Entry.state.type, literal_execute=True)
    standing = select(Entry.id).where(Entry.phase_id == Phase.id, Entry.state == scored)
    counted = standing.limit(literal(most, literal_execute=True)).lateral()
    return select(Phase.id, func.count()).join(counted, true()).group_by(Phase.id)


def _unscored_runs(most: int) -> CompoundSelect[int, RunState, int, int]:
    """By phase and state, how many runs wait, run or have failed, and how many were read for it."""
    of_runs = Job.queue == literal(Queue.RUNS, Job.queue.type, literal_execute=True)
    waiting = select(Job.run_id).where(of_runs, is_waiting()).order_by(Job.scorer, *CLAIM_ORDER)
    running = select(Job.run_id).where(of_runs, Job.lease_until.is_not(None)).order_by(Job.scorer)
    failed = literal(RunState.FAILED, Run.state.type, literal_execute=True)
    ended = select(Run.id).where(Run.state == failed, Run.finished_at.is_not(None))
    return union_all(
        _by_phase(RunState.QUEUED, waiting, most),
        _by_phase(RunState.RUNNING, running, most),
        _by_phase(RunState.FAILED, ended.order_by(Run.finished_at.desc()), most),
    )


def _by_phase(state: RunState, runs: Select[Any], most: int) -> Select[int, RunState, int, int]:
    """How many of the first runs of a state belong to which phase, and how many were read for it."""
    first = runs.limit(literal(most, literal_execute=True)).subquery()
    counted = func.count().filter(Run.rescore_id.is_(None)) if state is RunState.FAILED else func.count()
    return (
        select(GroundTruth.phase_id, literal(state, Run.state.type), counted, func.count())
        .join(Run, Run.ground_truth_id == GroundTruth.id)
        .join(first, next(iter(first.c)) == Run.id)
        .group_by(GroundTruth.phase_id)
    )


def is_reachable(session: Session) -> bool:
    """Whether the database answers."""
    return bool(session.scalar(text("SELECT 1")) == 1)
