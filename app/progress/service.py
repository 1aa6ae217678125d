"""Whether a page that waits has to be drawn again."""

from datetime import UTC, datetime
from hashlib import sha256

from app.access import Actor
from app.jobs import places
from app.jobs.places import Places, Waiting, pause_between_questions
from app.models import EntryState, RunState
from app.platform import Platform
from app.progress import queries
from app.progress.schemas import LatestRun

WAITING = (RunState.QUEUED, RunState.RUNNING)


def etag_while_waiting(platform: Platform, actor: Actor, submission_id: int) -> str | None:
    """The name of what a page says of a submission of which nothing has ended yet; none once there is more to see.

    Costs one query: the queue is read once a second, whoever waits in it. The name changes with the pause between two questions,
    too, three times in all, because a page learns its next pause only by being drawn.
    """
    with platform.reading() as session:
        found = queries.latest_runs(session, actor, submission_id)
        if not found or any(run.entry is not EntryState.PENDING or run.state not in WAITING for run in found):
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
