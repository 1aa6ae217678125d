"""Runs in the database: claims, leases, fences."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    CompoundSelect,
    Select,
    and_,
    delete,
    func,
    literal,
    not_,
    or_,
    select,
    text,
    true,
    union_all,
    update,
)
from sqlalchemy.orm import Session

from app.evaluation.rules import LONGEST_PAUSE
from app.evaluation.schemas import NOTHING, Assignment, Claim, PhaseQueue, WaitingForRepair
from app.models import (
    DamagedContent,
    Entry,
    EntryState,
    GroundTruth,
    Phase,
    Run,
    RunState,
    Submission,
    Upload,
)
from app.storage import content_key
from app.workers.queries import CLAIM_ORDER, is_held

MAX_LOST = 1000  # runs of one sweep
MAX_COUNT = 10_000  # entries of a phase, and runs of a state, that are counted for organisers


def _is_due() -> ColumnElement[bool]:
    """Queued, of no suspended team, waiting for no repair, and past its pause; one longer than the longest is from before the clock was set back."""
    now = func.clock_timestamp()
    past_pause = or_(Run.not_before.is_(None), Run.not_before <= now, Run.not_before > now + LONGEST_PAUSE)
    return and_(Run.state == RunState.QUEUED, past_pause, Run.damaged_content_id.is_(None), ~is_held())


def _is_lost(lease: timedelta) -> ColumnElement[bool]:
    """Claimed by a worker that has not extended its lease in time.

    A lease that ends later than any worker could have written is left from before the clock was set back; the second
    lease of tolerance keeps live runs from being lost to small corrections of the clock.
    """
    now = func.clock_timestamp()
    return and_(Run.state == RunState.RUNNING, or_(Run.lease_until < now, Run.lease_until > now + 2 * lease))


def first_due(scorer: str) -> Select[int]:
    """The run that is claimed next, locked; `ix_run_queued` has this order."""
    return (
        select(Run.id)
        .where(_is_due(), Run.scorer == scorer)
        .order_by(*CLAIM_ORDER)
        .limit(1)
        .with_for_update(skip_locked=True)
    )


def claim_next(session: Session, lease: timedelta, scorer: str) -> Claim | None:
    """Take the next run of this scorer version; two workers never take the same one."""
    statement = (
        update(Run)
        .where(Run.id == first_due(scorer).scalar_subquery())
        .values(
            state=RunState.RUNNING,
            attempt=Run.attempt + 1,
            not_before=None,
            claimed_at=func.clock_timestamp(),
            lease_until=func.clock_timestamp() + lease,
        )
        .returning(Run.id, Run.attempt)
    )
    row = session.execute(statement).one_or_none()
    return Claim(*row) if row else None


def _is_mine(claim: Claim) -> ColumnElement[bool]:
    return and_(Run.id == claim.run_id, Run.attempt == claim.attempt, Run.state == RunState.RUNNING)


def extend(session: Session, claim: Claim, lease: timedelta) -> bool:
    """Extend the lease; whether the claim still holds."""
    statement = update(Run).where(_is_mine(claim)).values(lease_until=func.clock_timestamp() + lease)
    return session.scalar(statement.returning(Run.id)) is not None


def claimed_run(session: Session, claim: Claim) -> Run | None:
    """The claimed run, locked; none if the claim was lost."""
    return session.scalar(select(Run).where(_is_mine(claim)).with_for_update())


def lost_runs(session: Session, lease: timedelta) -> Sequence[Run]:
    """Runs whose worker is gone, locked; those that somebody holds locked are left for the next sweep."""
    statement = select(Run).where(_is_lost(lease)).order_by(Run.id).limit(MAX_LOST)
    return session.scalars(statement.with_for_update(skip_locked=True)).all()


def end_pauses(session: Session) -> int:
    """Make runs due that were put back because something of ours was away; how many.

    Those that somebody has locked are being ended by another sweeper.
    """
    pausing = select(Run.id).where(
        Run.state == RunState.QUEUED, Run.requeues > 0, Run.not_before > func.clock_timestamp()
    )
    locked = pausing.with_for_update(skip_locked=True).scalar_subquery()
    statement = update(Run).where(Run.id.in_(locked)).values(not_before=None).returning(Run.id)
    return len(session.execute(statement, execution_options={"synchronize_session": False}).all())


def damaged_content(session: Session, key: str) -> int | None:
    """A content that was noted as damaged, so that it stays noted until the end of the transaction."""
    statement = select(DamagedContent.id).where(DamagedContent.key == key).limit(1)
    return session.scalar(statement.with_for_update(read=True, key_share=True))


def claim_damaged(session: Session, stores: Collection[str], every: timedelta) -> list[DamagedContent]:
    """The damaged contents of these stores that nobody has looked at for so long; nobody else looks at them now."""
    now = func.clock_timestamp()
    due = select(DamagedContent.id).where(
        DamagedContent.store.in_(stores), not_(DamagedContent.checked_at.between(now - every, now))
    )
    locked = due.with_for_update(skip_locked=True).scalar_subquery()
    statement = update(DamagedContent).where(DamagedContent.id.in_(locked)).values(checked_at=now)
    return list(session.scalars(statement.returning(DamagedContent)))


def forget_damaged(session: Session, damaged_id: int) -> None:
    """Note that a content is not damaged any more; runs that wait for it can be claimed again."""
    session.execute(delete(DamagedContent).where(DamagedContent.id == damaged_id))


def is_awaited(session: Session, damaged_id: int) -> bool:
    """Whether a run waits for the repair of a content."""
    waiting = select(Run.id).where(Run.damaged_content_id == damaged_id, Run.state == RunState.QUEUED)
    return session.scalar(waiting.limit(1)) is not None


def count_due(session: Session, scorer: str, most: int) -> int:
    """How many runs of a scorer version could be claimed now; counts no further than `most`."""
    due = select(Run.id).where(_is_due(), Run.scorer == scorer).limit(most).subquery()
    return session.execute(select(func.count()).select_from(due)).scalar_one()


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


def count_running(session: Session) -> dict[str, int]:
    """By scorer version, how many runs are being scored."""
    statement = select(Run.scorer, func.count()).where(Run.state == RunState.RUNNING).group_by(Run.scorer)
    return dict(session.execute(statement).all())


def waiting_for_repair(session: Session) -> dict[int, tuple[WaitingForRepair, ...]]:
    """By phase, how many runs wait for the repair of what."""
    statement = (
        select(GroundTruth.phase_id, DamagedContent.what, func.count())
        .select_from(Run)
        .join(DamagedContent, Run.damaged_content_id == DamagedContent.id)
        .join(GroundTruth, Run.ground_truth_id == GroundTruth.id)
        .where(Run.state == RunState.QUEUED)
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


@cache
def _standing_entries(most: int) -> Select[int, int]:
    """By phase, how many entries stand on boards, as far as `most`."""
    scored = literal(EntryState.SCORED, Entry.state.type, literal_execute=True)
    standing = select(Entry.id).where(Entry.phase_id == Phase.id, Entry.state == scored)
    counted = standing.limit(literal(most, literal_execute=True)).lateral()
    return select(Phase.id, func.count()).join(counted, true()).group_by(Phase.id)


@cache
def _unscored_runs(most: int) -> CompoundSelect[int, RunState, int, int]:
    """By phase and state, how many runs wait, run or have failed, and how many were read for it."""
    return union_all(
        _by_phase(RunState.QUEUED, (Run.scorer, *CLAIM_ORDER), most),
        _by_phase(RunState.RUNNING, (Run.scorer, Run.priority, Run.turn), most),
        _by_phase(RunState.FAILED, (Run.finished_at.desc(),), most, Run.finished_at.is_not(None)),
    )


def _by_phase(
    state: RunState, order: Sequence[Any], most: int, *which: ColumnElement[bool]
) -> Select[int, RunState, int, int]:
    """How many of the first runs of a state belong to which phase, and how many were read for it."""
    first = (
        select(Run.ground_truth_id, Run.state, Run.rescore_id)
        .where(Run.state == literal(state, Run.state.type, literal_execute=True), *which)
        .order_by(*order)
        .limit(literal(most, literal_execute=True))
        .subquery()
    )
    counted = func.count().filter(first.c.rescore_id.is_(None)) if state is RunState.FAILED else func.count()
    return (
        select(GroundTruth.phase_id, first.c.state, counted, func.count())
        .join(first, first.c.ground_truth_id == GroundTruth.id)
        .group_by(GroundTruth.phase_id, first.c.state)
    )


def is_reachable(session: Session) -> bool:
    """Whether the database answers."""
    return bool(session.scalar(text("SELECT 1")) == 1)
