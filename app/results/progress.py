"""Progress of a submission, for pages that poll."""

from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.core.access import Actor
from app.jobs import places
from app.jobs.places import Places, Waiting, damaged_content, pause_between_questions
from app.jobs.queue import is_held
from app.models import Job, Method, Phase, Result, ResultState, Run, RunState, Submission
from app.platform import Platform
from app.results.submissions import ANY_RUN, visible_submissions


@dataclass(frozen=True, slots=True)
class LatestRun:
    """A run as far as it decides what a page says while it waits or is under way; result: the state of what it scores."""

    result: ResultState
    id: int
    state: RunState
    attempt: int
    scorer: str
    queued_at: datetime
    is_held: bool  # its team is suspended
    damaged: str | None  # what has to be repaired before it can be scored


def latest_runs(session: Session, actor: Actor, submission_id: int) -> list[LatestRun]:
    """The latest run of each result of a submission that the reader may see."""
    latest = (
        select(func.max(ANY_RUN.id)).where(ANY_RUN.result_id == Result.id).correlate(Result).scalar_subquery()
    )
    statement = (
        select(
            Result.state, Run.id, Run.state, Run.attempt, Run.scorer, Run.queued_at, func.coalesce(is_held(), False), damaged_content()
        )
        .select_from(Result)
        .join(Submission, Result.submission_id == Submission.id)
        .join(Method, Submission.method_id == Method.id)
        .join(Phase, Submission.phase_id == Phase.id)
        .join(Run, Run.id == latest)
        .outerjoin(Job, Job.run_id == Run.id)
        .where(Submission.id == submission_id, visible_submissions(actor))
        .order_by(Result.id)
    )  # fmt: skip
    return [LatestRun(*row) for row in session.execute(statement)]


WAITING = (RunState.QUEUED, RunState.RUNNING)


def etag_while_waiting(platform: Platform, actor: Actor, submission_id: int) -> str | None:
    """The name of what a page says of a submission of which nothing has ended yet; none once there is more to see.

    Costs one query: the queue is read once a second, whoever waits in it. The name changes with the pause between two questions,
    too, three times in all, because a page learns its next pause only by being drawn.
    """
    with platform.reading() as session:
        found = latest_runs(session, actor, submission_id)
        if not found or any(
            run.result is not ResultState.PENDING or run.state not in WAITING for run in found
        ):
            return None
        waiting = {
            run.id: Waiting(run.scorer, run.is_held, run.damaged)
            for run in found
            if run.state is RunState.QUEUED
        }
        queue = places.places_among(platform, session, waiting)
    now = datetime.now(UTC)
    said = [_said_of(run, queue, now) for run in found]
    return f'W/"{sha256(repr(said).encode()).hexdigest()[:24]}"'


def _said_of(run: LatestRun, queue: Places, now: datetime) -> tuple[object, ...]:
    """All that a page draws of a run that waits or is under way."""
    place = queue.place(run)
    return (
        run.id, run.state.value, run.attempt, place, queue.wait_seconds(run), queue.has_worker(run), run.id in queue.held,
        queue.damaged.get(run.id), pause_between_questions(now - run.queued_at, place),
    )  # fmt: skip
