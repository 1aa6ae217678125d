"""Progress of a submission, for pages that poll."""

from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.core.access import Actor
from app.jobs import places
from app.jobs.places import Places, Waiting, causes, poll_interval
from app.models import Job, Result, ResultState, Run, RunState, Submission
from app.platform import Platform
from app.results.recording import is_no_preview
from app.results.submissions import ANY_RUN, visible_submissions


@dataclass(frozen=True, slots=True)
class LatestRun:
    """The properties of a run that a waiting page shows; result: the state of its result."""

    result: ResultState
    id: int
    state: RunState
    attempt: int
    scorer: str
    queued_at: datetime
    waiting: Waiting  # what it waits for, if it is queued


def latest_runs(session: Session, actor: Actor, submission_id: int) -> list[LatestRun]:
    """Return the latest run of each result of a submission that the reader may see."""
    own = ANY_RUN.result_id == Result.id, is_no_preview(ANY_RUN)
    latest = select(func.max(ANY_RUN.id)).where(*own).correlate(Result).scalar_subquery()
    statement = (
        select(Run, Result.state, *causes())
        .select_from(Result)
        .join(Result.submission)
        .join(Submission.method)
        .join(Submission.phase)
        .join(Run, Run.id == latest)
        .outerjoin(Job, Job.run_id == Run.id)
        .where(Submission.id == submission_id, visible_submissions(actor))
        .order_by(Result.id)
    )
    return [
        LatestRun(
            result, run.id, run.state, run.attempt, run.scorer, run.queued_at, Waiting(run.scorer, *facts)
        )
        for run, result, *facts in session.execute(statement)
    ]


WAITING = (RunState.QUEUED, RunState.RUNNING)


def etag_while_waiting(platform: Platform, actor: Actor, submission_id: int) -> str | None:
    """Return the ETag of a submission's status while all its runs are waiting or running; None otherwise.

    Costs one query, because the queue is read only once a second for all readers. The ETag also changes with the poll interval,
    three times in all, because a page learns its next interval only by being rendered.
    """
    with platform.reading() as session:
        found = latest_runs(session, actor, submission_id)
        if not found or any(
            run.result is not ResultState.PENDING or run.state not in WAITING for run in found
        ):
            return None
        waiting = {run.id: run.waiting for run in found if run.state is RunState.QUEUED}
        queue = places.places_among(platform, session, waiting)
    now = datetime.now(UTC)
    parts = [_fingerprint(run, queue, now) for run in found]
    return f'W/"{sha256(repr(parts).encode()).hexdigest()[:24]}"'


def _fingerprint(run: LatestRun, queue: Places, now: datetime) -> tuple[object, ...]:
    """Return everything a page shows of a run that is waiting or running."""
    place = queue.place(run)
    return (
        run.id, run.state.value, run.attempt, place, queue.wait(run.id), queue.wait_seconds(run),
        poll_interval(now - run.queued_at, place),
    )  # fmt: skip
