"""How runs, workers, messages and uploads get on; each is read from an index, whatever the history."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import ARRAY, ColumnElement, Float, and_, case, func, literal, or_, select
from sqlalchemy.orm import Session

from app.evaluation.rules import ENDED, LOST_MESSAGE, STOPPED_MESSAGE
from app.jobs.queue import is_held, is_waiting
from app.jobs.workers import is_alive_worker
from app.metrics.schemas import Bar, Claims, Ended, Messages, Uploads, Waiting, Workers
from app.models import Heartbeat, Job, JobKind, Queue, Run, RunState, Upload, UploadState

LOST_PREFIX = LOST_MESSAGE.partition("{")[0]
WINDOW = timedelta(minutes=10)  # what counts as recent


def waiting(session: Session) -> tuple[Waiting, ...]:
    """The queue of runs by scorer version and priority, without runs of suspended teams."""
    now = func.clock_timestamp()
    statement = select(
        Job.scorer,
        Job.priority,
        func.count(),
        func.count().filter(or_(Job.not_before > now, Job.damaged_content_id.is_not(None))),
        _seconds(now - func.min(Job.queued_at)),
    )
    queued = statement.where(Job.queue == Queue.RUNS, is_waiting(), ~is_held())
    return tuple(Waiting(*row) for row in session.execute(queued.group_by(Job.scorer, Job.priority)))


def held(session: Session) -> int:
    """How many runs wait because their team is suspended."""
    statement = select(func.count()).where(Job.queue == Queue.RUNS, is_waiting(), is_held())
    return session.scalar(statement) or 0


def claims(session: Session) -> tuple[Claims, ...]:
    """Claimed runs by scorer version."""
    overdue = func.count().filter(Job.lease_until < func.clock_timestamp())
    statement = select(Job.scorer, func.count(), overdue).where(
        Job.queue == Queue.RUNS, Job.lease_until.is_not(None)
    )
    return tuple(Claims(*row) for row in session.execute(statement.group_by(Job.scorer)))


def workers(session: Session) -> tuple[Workers, ...]:
    """Workers that are alive by scorer version."""
    statement = select(func.coalesce(Heartbeat.scorer, ""), func.count(), func.sum(Heartbeat.slots))
    alive = statement.where(is_alive_worker()).group_by(Heartbeat.scorer)
    return tuple(Workers(scorer, count, int(slots)) for scorer, count, slots in session.execute(alive))


def ended(session: Session) -> tuple[Ended, ...]:
    """Runs that ended lately, by state and reason."""
    reason = case(
        (and_(Run.state == RunState.FAILED, Run.failure_message.startswith(LOST_PREFIX)), "worker lost"),
        (Run.state == RunState.FAILED, "crashed"),
        (
            and_(Run.state == RunState.REFUSED, Run.failure_message.startswith(STOPPED_MESSAGE)),
            "over a limit",
        ),
        (Run.state == RunState.REFUSED, "archive"),
        else_="",
    ).label("reason")
    statement = select(Run.state, reason, func.count()).where(_is_recent(*ENDED)).group_by(Run.state, reason)
    return tuple(Ended(state.value, why, count) for state, why, count in session.execute(statement))


def scoring_seconds(session: Session, bounds: Sequence[float]) -> tuple[Bar, ...]:
    """How long the runs took that were scored lately, from claim to score."""
    return _histogram(session, _seconds(Run.finished_at - Run.claimed_at), bounds)


def wait_seconds(session: Session, bounds: Sequence[float]) -> tuple[Bar, ...]:
    """How long participants' runs waited that were scored lately, from queue to their last claim."""
    return _histogram(session, _seconds(Run.claimed_at - Run.queued_at), bounds, Run.rescore_id.is_(None))


def messages(session: Session) -> tuple[Messages, ...]:
    """Jobs other than runs, by kind."""
    due = func.coalesce(Job.not_before, Job.queued_at)
    late = func.greatest(_seconds(func.clock_timestamp() - func.min(due)), 0.0)
    statement = select(Job.kind, func.count(), late).where(Job.dead_at.is_(None)).group_by(Job.kind)
    waiting = {each: (count, seconds) for each, count, seconds in session.execute(statement)}
    given_up = select(Job.kind, func.count()).where(Job.dead_at.is_not(None)).group_by(Job.kind)
    dead = dict(session.execute(given_up).all())
    kinds = (kind for kind in JobKind if kind is not JobKind.RUN)
    return tuple(Messages(each.value, *waiting.get(each, (0, 0.0)), dead.get(each, 0)) for each in kinds)


def uploads(session: Session) -> Uploads:
    """Uploads whose bytes arrive, and those that are being checked."""
    receiving = select(func.count()).where(Upload.state == UploadState.RECEIVING)
    checking = select(func.count()).where(
        Upload.state == UploadState.RECEIVED, Upload.check_until > func.clock_timestamp()
    )
    return Uploads(session.scalar(receiving) or 0, session.scalar(checking) or 0)


def _is_recent(*states: RunState) -> ColumnElement[bool]:
    return and_(
        Run.state.in_(states), Run.finished_at > func.now() - WINDOW
    )  # stable, so that an index can be searched


def _histogram(
    session: Session, seconds: ColumnElement[Any], bounds: Sequence[float], *which: ColumnElement[bool]
) -> tuple[Bar, ...]:
    bar = func.width_bucket(seconds, literal(list(bounds), ARRAY(Float))).label("bar")
    statement = select(bar, func.count(), func.sum(seconds))
    scored = statement.where(_is_recent(RunState.SCORED), Run.claimed_at.is_not(None), *which)
    return tuple(Bar(*row) for row in session.execute(scored.group_by(bar)))


def _seconds(interval: ColumnElement[Any]) -> ColumnElement[Any]:
    return func.extract("epoch", interval).cast(Float)
