"""Runs in the database: claims, leases, fences, and the switch of a board."""

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import ColumnElement, and_, func, or_, select, text, update
from sqlalchemy.orm import Session

from app.evaluation.schemas import Assignment, Claim, PhaseQueue
from app.models import Board, Entry, EntryState, GroundTruth, Phase, Run, RunState, Submission, Upload

SWEEPING = 0x53574550  # the advisory lock of the one sweeper


def _left(attempts: int) -> ColumnElement[bool]:
    """Runs that wait for a worker: queued, or claimed by one that was not heard of for a lease."""
    lost = and_(Run.state == RunState.RUNNING, Run.lease_until < func.clock_timestamp())
    return and_(or_(Run.state == RunState.QUEUED, lost), Run.attempt < attempts)


def claim_next(session: Session, lease: timedelta, attempts: int) -> Claim | None:
    """Take the next run; two workers never take the same one."""
    first = (
        select(Run.id)
        .where(_left(attempts))
        .order_by(Run.priority, Run.queued_at, Run.id)
        .limit(1)
        .with_for_update(skip_locked=True)
        .scalar_subquery()
    )
    statement = (
        update(Run)
        .where(Run.id == first)
        .values(
            state=RunState.RUNNING,
            attempt=Run.attempt + 1,
            claimed_at=func.clock_timestamp(),
            lease_until=func.clock_timestamp() + lease,
        )
        .returning(Run.id, Run.attempt)
    )
    row = session.execute(statement).one_or_none()
    return Claim(*row) if row else None


def _mine(claim: Claim) -> ColumnElement[bool]:
    return and_(Run.id == claim.run_id, Run.attempt == claim.attempt, Run.state == RunState.RUNNING)


def extend(session: Session, claim: Claim, lease: timedelta) -> bool:
    """Whether the claim still holds; if so, for another lease."""
    statement = update(Run).where(_mine(claim)).values(lease_until=func.clock_timestamp() + lease)
    return session.scalar(statement.returning(Run.id)) is not None


def held_run(session: Session, claim: Claim) -> Run | None:
    """The claimed run, locked; none if another attempt has it by now."""
    return session.scalar(select(Run).where(_mine(claim)).with_for_update())


def assignment_of(session: Session, run_id: int) -> Assignment:
    """What the run is about."""
    statement = (
        select(Upload.sha256, GroundTruth.fingerprint, Entry.competition, Run.protocol, Phase.description_key)
        .select_from(Run)
        .join(Entry, Run.entry_id == Entry.id)
        .join(Submission, Entry.submission_id == Submission.id)
        .join(Upload, Submission.upload_id == Upload.id)
        .join(GroundTruth, Run.ground_truth_id == GroundTruth.id)
        .join(Phase, Entry.phase_id == Phase.id)
        .where(Run.id == run_id)
    )
    archive, truth, competition, protocol, description = session.execute(statement).one()
    return Assignment(archive or "", truth, competition, protocol, description)


def locked_board(session: Session, run_id: int) -> tuple[Board, Entry]:
    """The board that the run belongs to, locked before anything else so that nobody waits in a circle."""
    board = (
        select(Board)
        .join(Entry, and_(Entry.phase_id == Board.phase_id, Entry.competition == Board.competition))
        .join(Run, Run.entry_id == Entry.id)
        .where(Run.id == run_id)
        .with_for_update(of=Board)
    )
    entry = (
        select(Entry).join(Run, Run.entry_id == Entry.id).where(Run.id == run_id).with_for_update(of=Entry)
    )
    return session.execute(board).scalar_one(), session.execute(entry).scalar_one()


def is_only_sweeper(session: Session) -> bool:
    """Whether no other worker sweeps right now; holds until the end of the transaction."""
    return bool(session.scalar(select(func.pg_try_advisory_xact_lock(SWEEPING))))


def given_up(session: Session, attempts: int) -> list[Claim]:
    """Runs whose last attempt was not heard of for a lease."""
    lost = and_(
        Run.state == RunState.RUNNING, Run.lease_until < func.clock_timestamp(), Run.attempt >= attempts
    )
    return [Claim(*row) for row in session.execute(select(Run.id, Run.attempt).where(lost))]


def count_waiting(session: Session, attempts: int) -> int:
    """How many runs wait for a worker."""
    return session.scalar(select(func.count()).where(_left(attempts))) or 0


def has_live_run(session: Session, entry_id: int, board: Board) -> bool:
    """Whether a run of this entry under the board's own versions waits or is under way."""
    statement = select(Run.id).where(
        Run.entry_id == entry_id,
        Run.rescore_id.is_(None),
        Run.state.in_((RunState.QUEUED, RunState.RUNNING)),
        Run.ground_truth_id == board.ground_truth_id,
        Run.scorer == board.scorer,
    )
    return session.scalar(statement.limit(1)) is not None


def queues(session: Session) -> dict[int, PhaseQueue]:
    """By phase, how many entries stand on boards and how many runs wait, run or have failed."""
    entries = func.count(Entry.id.distinct()).filter(Entry.state == EntryState.SCORED)
    counts: Sequence[ColumnElement[int]] = [
        func.count(Run.id).filter(Run.state == state)
        for state in (RunState.QUEUED, RunState.RUNNING, RunState.FAILED)
    ]
    statement = (
        select(Entry.phase_id, entries, *counts).join(Run, Run.entry_id == Entry.id).group_by(Entry.phase_id)
    )
    return {phase: PhaseQueue(*found) for phase, *found in session.execute(statement)}


def is_reachable(session: Session) -> bool:
    """Whether the database answers."""
    return bool(session.scalar(text("SELECT 1")) == 1)
