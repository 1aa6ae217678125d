"""The job table: add, claim, extend, postpone, give up, delete.

Lock order: a job before its run, a run before its result.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Insert,
    Select,
    SQLColumnExpression,
    and_,
    bindparam,
    case,
    delete,
    exists,
    func,
    insert,
    literal,
    not_,
    or_,
    select,
    true,
    tuple_,
    update,
)
from sqlalchemy.orm import Session, aliased

from app.core.paging import RowPage, page_of
from app.jobs import heartbeats
from app.models import (
    Base,
    DamagedContent,
    GroundTruth,
    Heartbeat,
    Job,
    JobKind,
    Phase,
    Queue,
    Rescore,
    Result,
    Run,
    Team,
)

QUEUES = {  # of kinds of jobs; all others are follow-ups
    JobKind.RUN: Queue.RUNS,
    JobKind.MAIL: Queue.MAIL,
    JobKind.NOTIFY: Queue.MAIL,
    JobKind.NOTIFICATION_MAIL: Queue.MAIL,
    JobKind.WEBHOOK: Queue.WEBHOOKS,
    JobKind.INTAKE: Queue.ORGANISING,
    JobKind.INTAKE_PICTURES: Queue.ORGANISING,
    JobKind.TRUTH_COPY: Queue.ORGANISING,
    JobKind.VERSION_DIFF: Queue.ORGANISING,
    JobKind.DRAWN_DIFF: Queue.ORGANISING,
    JobKind.LABEL_SCENE: Queue.ORGANISING,
    JobKind.LABEL_PREVIEW: Queue.ORGANISING,
}

ORGANISING_LOCK = 0x4F524741  # advisory lock while deciding whether a process does an organiser's work
LIVE, SHADOW = 0, 10  # priorities: participants' runs before those of a re-scoring
OTHER_JOB = aliased(Job)  # created once: an alias costs more than the rest of a statement
CLAIM_ORDER = (Job.priority, Job.turn, Job.queued_at, Job.id)  # within a queue, as in `ix_job_waiting`

PAUSES = (1, 6, 24, 120)  # in units of the first pause: 5 s, 30 s, 2 min, 10 min
LONGEST_PAUSE = timedelta(minutes=10)

MAX_LOST = 1000  # lost jobs handled per sweep
MOST_DEAD = 100  # jobs on a page
HIDDEN = {"address", "fields"}  # personal data in the payload of mail jobs


def pause_before_retry(retries: int, first: timedelta) -> timedelta:
    """Return the pause before the next attempt; retries: unsuccessful attempts of this kind so far, from 1.

    >>> [pause_before_retry(retries, timedelta(seconds=5)).seconds for retries in (1, 2, 3, 4, 5, 100)]
    [5, 30, 120, 600, 600, 600]
    """
    return min(first * PAUSES[min(retries, len(PAUSES)) - 1], LONGEST_PAUSE)


def repair_check_interval(first: timedelta) -> timedelta:
    """Return how often damaged content is checked again.

    >>> repair_check_interval(timedelta(seconds=5)).seconds
    600
    """
    return pause_before_retry(len(PAUSES), first)


# adding


def add(
    session: Session, kind: JobKind, payload: dict[str, Any], *, owner: str | None, key: str | None = None
) -> None:
    """Add a job, which any worker can do once this transaction has committed. owner: None if it concerns the whole site.

    Waiting jobs with the same kind and key are coalesced when one of them is claimed: a thousand changes to a board cause
    only one update, after the last of them. Nothing is locked, so transactions with the same key do not wait for each other.
    """
    values = {"kind": kind, "whose": owner, "key": key, "payload": payload}
    session.execute(_insertion(QUEUES.get(kind, Queue.FOLLOW_UPS)), values)


@cache  # building it takes longer than running it
def _insertion(queue: Queue) -> Insert:
    """The statement that adds a job to a queue. Parameters: `whose`, and the columns that are not set here."""
    owner = bindparam("whose", type_=Job.owner.type)
    turn = _next_turn(owner, queue, literal(""), literal(LIVE))
    return insert(Base.metadata.tables["job"]).values(queue=queue, owner=owner, turn=turn)


def owner_of_phase(session: Session, phase_id: int) -> str | None:
    """Return the owner of work for a phase: its challenge."""
    challenge_id = session.scalar(select(Phase.challenge_id).where(Phase.id == phase_id))
    return None if challenge_id is None else f"challenge {challenge_id}"


def owner_of_run(session: Session, run_id: int) -> str | None:
    """Return the owner of work that follows from a run: its team."""
    team_id = session.scalar(select(Run.team_id).where(Run.id == run_id))
    return None if team_id is None else f"team {team_id}"


def add_board(session: Session, phase_id: int, competition: int) -> None:
    """Add a job to update the figures and groups of a board, because its rows have changed."""
    payload = {"phase_id": phase_id, "competition": competition}
    owner = owner_of_phase(session, phase_id)
    add(session, JobKind.BOARD, payload, owner=owner, key=f"{phase_id}/{competition}")


def add_boards(session: Session, *which: ColumnElement[bool]) -> None:
    """Call `add_board` for every board with results that match these conditions."""
    boards = select(Result.phase_id, Result.competition).where(Result.published_run_id.is_not(None), *which)
    for phase_id, competition in session.execute(boards.distinct()).all():
        add_board(session, phase_id, competition)


def add_runs(session: Session, run_ids: Collection[int]) -> None:
    """Add jobs for runs; those of one team get consecutive turns."""
    priority = case((Run.rescore_id.is_(None), LIVE), else_=SHADOW)
    owner = func.concat("team ", Run.team_id)
    place = func.row_number().over(partition_by=(Run.team_id, Run.scorer, priority), order_by=Run.id)
    chosen = (
        select(
            literal(JobKind.RUN, Job.kind.type), literal(Queue.RUNS, Job.queue.type), Run.scorer, Run.id,
            literal({}, Job.payload.type), priority, owner, Run.team_id,
            _next_turn(owner, Queue.RUNS, Run.scorer, priority, Run.team_id) + place - 1,
        )
        .where(Run.id == func.any(list(run_ids)))
        .order_by(Run.id)
    )  # fmt: skip
    columns = ("kind", "queue", "scorer", "run_id", "payload", "priority", "owner", "team_id", "turn")
    session.flush()
    session.execute(insert(Job).from_select(columns, chosen))


def _next_turn(
    owner: SQLColumnExpression[Any],
    queue: Queue,
    scorer: SQLColumnExpression[str],
    priority: SQLColumnExpression[int],
    team_id: SQLColumnExpression[int] | None = None,
) -> ColumnElement[int]:
    """The turn of an owner's next job: after the owner's last one, and no earlier than the current turn of the queue.

    Every owner has at most one job per turn, so claiming in the order of turns is a round robin over owners (start-time fair
    queueing with one unit per job, Goyal, Vin and Cheng 1996). team_id: of the owner, for rows of the release before.
    """
    job = OTHER_JOB
    same_queue = and_(job.queue == queue, job.scorer == scorer, job.priority == priority)
    own = select(func.max(job.turn) + 1).where(same_queue, job.owner == owner)
    before = select(func.max(job.turn) + 1).where(same_queue, job.owner.is_(None), job.team_id == team_id)
    older = () if team_id is None else (before.scalar_subquery(),)
    running = select(func.max(job.turn)).where(same_queue, job.lease_until.is_not(None))
    waiting = select(func.min(job.turn)).where(
        same_queue, job.lease_until.is_(None), job.dead_at.is_(None), job.damaged_content_id.is_(None)
    )
    if queue is Queue.RUNS:
        waiting = waiting.where(~is_held(job))
    known = (own.scalar_subquery(), running.scalar_subquery(), waiting.scalar_subquery(), *older)
    return func.greatest(*known, 0)


# what waits


def is_waiting() -> ColumnElement[bool]:
    """The condition that a job is neither claimed nor given up."""
    return and_(Job.lease_until.is_(None), Job.dead_at.is_(None))


def is_held(job: type[Job] = Job) -> ColumnElement[bool]:
    """The condition that a run is held: its team is suspended, or its organisers have paused scoring or the re-scoring."""
    return or_(is_suspended(job), is_paused(job), is_of_paused_rescore(job))


def is_suspended(job: type[Job] = Job) -> ColumnElement[bool]:
    """The condition that a run is held because its team is suspended; re-scorings are not, because boards wait for them."""
    # one index lookup per run, whereas a list of suspended teams would be built again for each claim
    team_id = select(Run.team_id).where(Run.id == job.run_id).correlate(job).scalar_subquery()
    suspended = exists().where(Team.id == team_id, Team.suspended_at.is_not(None)).correlate(job)
    return and_(job.priority == LIVE, suspended)


def is_paused(job: type[Job] = Job) -> ColumnElement[bool]:
    """The condition that a run is held because scoring of its phase is paused, whichever kind of run it is."""
    phase_id = select(GroundTruth.phase_id).join(Run, Run.ground_truth_id == GroundTruth.id)
    of_run = phase_id.where(Run.id == job.run_id).correlate(job).scalar_subquery()
    is_of_paused = of_run.in_(select(Phase.id).where(Phase.paused_at.is_not(None)))
    return and_(job.run_id.is_not(None), is_of_paused)  # without a run, the comparison is unknown


def is_of_paused_rescore(job: type[Job] = Job) -> ColumnElement[bool]:
    """The condition that a run is held because its re-scoring is paused."""
    paused = (
        select(Run.id)
        .join(Rescore, Run.rescore_id == Rescore.id)
        .where(Run.id == job.run_id, Rescore.paused_at.is_not(None))
        .correlate(job)
        .exists()
    )
    return and_(job.priority == SHADOW, paused)  # participants' runs cost no lookup


def is_pending(kind: JobKind, *keys: str | SQLColumnExpression[str]) -> ColumnElement[bool]:
    """The condition that a job of this kind with one of these keys is still to be done."""
    return exists().where(Job.kind == kind, Job.key.in_(keys), Job.dead_at.is_(None)).correlate_except(Job)


@cache  # building it takes longer than running it
def _is_due() -> ColumnElement[bool]:
    """The condition that a job waits, is not held, needs no repair, is past its pause, and is the only one of its key.

    A remaining pause above the maximum means that the clock was set back, and is ignored.
    """
    now = func.clock_timestamp()
    past_pause = or_(Job.not_before.is_(None), Job.not_before <= now, Job.not_before > now + LONGEST_PAUSE)
    under_way = (
        exists()
        .where(OTHER_JOB.kind == Job.kind, OTHER_JOB.key == Job.key, OTHER_JOB.lease_until.is_not(None))
        .correlate(Job)
    )
    is_alone = or_(Job.key.is_(None), ~under_way)
    return and_(is_waiting(), past_pause, Job.damaged_content_id.is_(None), ~is_held(), is_alone)


def count_due(session: Session, queue: Queue, most: int, scorer: str = "") -> int:
    """Count the jobs of a queue that could be claimed now, up to `most`."""
    due = select(Job.id).where(_is_due(), Job.queue == queue, Job.scorer == scorer).limit(most).subquery()
    return session.execute(select(func.count()).select_from(due)).scalar_one()


# claiming


@dataclass(frozen=True, slots=True)
class Claim:
    """A claimed job; `attempt` is a fencing token, so that only the latest claim can write."""

    id: int
    attempt: int
    kind: JobKind
    run_id: int | None
    payload: Mapping[str, Any]

    @property
    def run(self) -> int:
        """The id of the job's run. Raises ValueError if the job has none."""
        if self.run_id is None:
            raise ValueError(f"a job of kind {self.kind} has no run")
        return self.run_id


@cache
def first_due(queue: Queue, scorer: str = "") -> Select[int]:
    """The query for the next job of a queue, which it locks; `ix_job_waiting` has this order."""
    return (
        select(Job.id)
        .where(_is_due(), Job.queue == queue, Job.scorer == scorer)
        .order_by(*CLAIM_ORDER)
        .limit(1)
        .with_for_update(skip_locked=True, of=Job)
    )


def may_organise(session: Session, scorer: str) -> bool:
    """Whether a process may take an organiser's job instead of a run of its scorer version.

    While runs wait, at most half of all processes do, or the only one; data sets of several organisers would hold up every
    score otherwise. The lock, held until the claim is committed, lets one process at a time decide; others look for runs.
    """
    waits = exists().where(Job.queue == Queue.ORGANISING, is_waiting())
    if not session.scalar(select(func.pg_try_advisory_xact_lock(ORGANISING_LOCK)).where(waits)):
        return False
    organising = select(func.count()).where(Job.queue == Queue.ORGANISING, Job.lease_until.is_not(None))
    most = select(func.greatest(1, func.sum(Heartbeat.slots) // 2)).where(heartbeats.is_alive())
    run_waits = exists().where(_is_due(), Job.queue == Queue.RUNS, Job.scorer == scorer)
    allowed = or_(organising.scalar_subquery() < most.scalar_subquery(), ~run_waits)
    return bool(session.scalar(select(allowed)))


def claim_next(session: Session, queue: Queue, lease: timedelta, scorer: str = "") -> Claim | None:
    """Claim the next job of a queue; two workers never claim the same one.

    Waiting jobs with the same key are deleted: they are committed, so the claimed job will see the changes they are about.
    Jobs that are added later are done later.
    """
    statement = (
        update(Job)
        .where(Job.id == first_due(queue, scorer).scalar_subquery())
        .values(attempt=Job.attempt + 1, not_before=None, lease_until=func.clock_timestamp() + lease)
        .returning(Job.id, Job.attempt, Job.kind, Job.run_id, Job.payload, Job.key)
    )
    row = session.execute(statement).one_or_none()
    if row is None:
        return None
    *claimed, key = row
    claim = Claim(*claimed)
    if key is not None:
        _coalesce(session, claim, key)
    return claim


def _coalesce(session: Session, claim: Claim, key: str) -> None:
    """Delete waiting jobs with the same key, except those that another process has locked."""
    waiting = (
        select(Job.id)
        .where(Job.kind == claim.kind, Job.key == key, Job.id != claim.id, Job.attempt == 0, is_waiting())
        .with_for_update(skip_locked=True)
    )
    statement = delete(Job).where(Job.id.in_(waiting.scalar_subquery()))
    session.execute(statement, execution_options={"synchronize_session": False})


def _holds_lease(claim: Claim) -> ColumnElement[bool]:
    return and_(Job.id == claim.id, Job.attempt == claim.attempt, Job.lease_until.is_not(None))


def extend(session: Session, claim: Claim, lease: timedelta) -> bool:
    """Extend the lease; return whether the claim still holds."""
    statement = update(Job).where(_holds_lease(claim)).values(lease_until=func.clock_timestamp() + lease)
    return session.scalar(statement.returning(Job.id)) is not None


def lock_claimed(session: Session, claim: Claim) -> Job | None:
    """Lock the claimed job; None if the claim was lost."""
    return session.scalar(select(Job).where(_holds_lease(claim)).with_for_update())


def complete(session: Session, claim: Claim) -> None:
    """Delete a finished job if the claim still holds."""
    session.execute(delete(Job).where(_holds_lease(claim)))


def postpone(job: Job, pause: timedelta, error: str) -> None:
    """Release a claimed job, to be done again after a pause."""
    job.lease_until, job.not_before, job.error = None, func.clock_timestamp() + pause, error


def lost_jobs(session: Session, lease: timedelta) -> Sequence[Job]:
    """Lock and return jobs whose lease has expired; those locked by others are left to the next sweep.

    A lease that ends later than any worker could have set it dates from before the clock was set back. The tolerance of a
    second lease keeps small clock corrections from taking live jobs away.
    """
    now = func.clock_timestamp()
    is_lost = or_(Job.lease_until < now, Job.lease_until > now + 2 * lease)
    statement = select(Job).where(is_lost).order_by(Job.id).limit(MAX_LOST)
    return session.scalars(statement.with_for_update(skip_locked=True)).all()


def awaits_mail_server(session: Session) -> bool:
    """Whether mail pauses because the mail server was away."""
    pausing = select(Job.id).where(*_pausing(), Job.queue == Queue.MAIL).limit(1)
    return session.scalar(pausing) is not None


def _pausing() -> tuple[ColumnElement[bool], ...]:
    return (is_waiting(), Job.postponements > 0, Job.not_before > func.clock_timestamp())


def end_pauses(session: Session, *which: ColumnElement[bool]) -> int:
    """Make jobs due that were postponed because of an outage; return how many. which: of these jobs.

    Locked jobs are skipped: another sweeper is doing the same.
    """
    pausing = select(Job.id).where(*_pausing(), *which)
    locked = pausing.with_for_update(skip_locked=True).scalar_subquery()
    statement = update(Job).where(Job.id.in_(locked)).values(not_before=None).returning(Job.id)
    return len(session.execute(statement, execution_options={"synchronize_session": False}).all())


def count_claimed(session: Session) -> dict[str, int]:
    """Count the runs being scored, by scorer version."""
    statement = select(Job.scorer, func.count()).where(Job.queue == Queue.RUNS, Job.lease_until.is_not(None))
    return dict(session.execute(statement.group_by(Job.scorer)).all())


# runs that end otherwise


def lock_jobs_of_result(session: Session, result_id: int) -> list[Job]:
    """Lock and return the jobs of a result's runs."""
    statement = select(Job).join(Run, Job.run_id == Run.id).where(Run.result_id == result_id).order_by(Job.id)
    return list(session.scalars(statement.with_for_update(of=Job)))


def delete_runs(session: Session, *which: ColumnElement[bool]) -> None:
    """Remove matching runs from the queue; those in progress lose their claim."""
    runs = select(Run.id).where(*which)
    session.execute(delete(Job).where(Job.run_id.in_(runs)), execution_options={"synchronize_session": False})


# damaged contents


def damaged_content(session: Session, key: str) -> int | None:
    """Return the id of content recorded as damaged, and lock its record until the end of the transaction."""
    statement = select(DamagedContent.id).where(DamagedContent.key == key).limit(1)
    return session.scalar(statement.with_for_update(read=True, key_share=True))


def claim_damaged(session: Session, stores: Collection[str], every: timedelta) -> list[DamagedContent]:
    """Return the damaged contents of these stores that are due for a check, and mark them as checked now."""
    now = func.clock_timestamp()
    due = select(DamagedContent.id).where(
        DamagedContent.store.in_(stores), not_(DamagedContent.checked_at.between(now - every, now))
    )
    locked = due.with_for_update(skip_locked=True).scalar_subquery()
    statement = update(DamagedContent).where(DamagedContent.id.in_(locked)).values(checked_at=now)
    return list(session.scalars(statement.returning(DamagedContent)))


def forget_damaged(session: Session, damaged_id: int) -> None:
    """Delete the record of damaged content; jobs that wait for it can be claimed again."""
    session.execute(delete(DamagedContent).where(DamagedContent.id == damaged_id))


def is_awaited(session: Session, damaged_id: int) -> bool:
    """Whether a job waits for the repair of a content."""
    waiting = select(Job.id).where(Job.damaged_content_id == damaged_id)
    return session.scalar(waiting.limit(1)) is not None


# jobs that were given up


@dataclass(frozen=True, slots=True)
class DeadJob:
    """A job that was given up."""

    id: int
    kind: JobKind
    payload: Mapping[str, Any]
    attempts: int
    error: str
    dead_at: datetime


def dead_jobs(session: Session, before: int | None = None) -> RowPage[DeadJob]:
    """Return a page of the jobs that were given up, newest first; before: the last job of the previous page, if it still exists."""
    order = (Job.dead_at, Job.id)
    last = session.execute(select(*order).where(Job.id == before, order[0].is_not(None))).one_or_none()
    statement = (
        select(Job)
        .where(Job.dead_at.is_not(None), tuple_(*order) < tuple_(*last) if last else true())
        .order_by(*(each.desc() for each in order))
        .limit(MOST_DEAD + 1)
    )
    found = [
        DeadJob(
            id=job.id,
            kind=job.kind,
            payload={name: value for name, value in job.payload.items() if name not in HIDDEN},
            attempts=job.attempt,
            error=job.error or "",
            dead_at=job.dead_at,
        )
        for job in session.scalars(statement)
        if job.dead_at is not None
    ]
    return page_of(found, MOST_DEAD, number=lambda job: job.id)


def revive(session: Session, job_id: int) -> bool:
    """Queue a job that was given up again; return whether there was one."""
    statement = (
        update(Job)
        .where(Job.id == job_id, Job.dead_at.is_not(None))
        .values(dead_at=None, failures=0, lost_leases=0, not_before=None)
    )
    return session.scalar(statement.returning(Job.id)) is not None


def discard(session: Session, job_id: int) -> bool:
    """Delete a job that was given up; return whether there was one."""
    statement = delete(Job).where(Job.id == job_id, Job.dead_at.is_not(None))
    return session.scalar(statement.returning(Job.id)) is not None
