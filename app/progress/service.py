"""Whether a page that waits has to be drawn again."""

from datetime import UTC, datetime
from hashlib import sha256

from app.access import Actor
from app.models import EntryState, Run, RunState
from app.platform import Platform
from app.progress import queries
from app.workers import service as workers
from app.workers.rules import pause_between_questions
from app.workers.schemas import Queue

WAITING = (RunState.QUEUED, RunState.RUNNING)


def etag_while_waiting(platform: Platform, actor: Actor, submission_id: int) -> str | None:
    """The name of what a page says of a submission of which nothing has ended yet; none once there is more to see.

    Costs a look at its runs: the queue is read once a second, whoever waits in it.
    """
    with platform.transaction() as session:
        found = queries.latest_runs(session, actor, submission_id)
        if not found or any(
            entry.state is not EntryState.PENDING or run.state not in WAITING for entry, run in found
        ):
            return None
        queue = workers.queue_of(platform, session, [run.id for _, run in found])
    now = datetime.now(UTC)
    said = [_said_of(run, queue, now) for _, run in found]
    return f'W/"{sha256(repr(said).encode()).hexdigest()[:24]}"'


def _said_of(run: Run, queue: Queue, now: datetime) -> tuple[object, ...]:
    """All that a page draws of a run that waits or is under way."""
    place = queue.place(run)
    return (
        run.id, run.state.value, run.attempt, place, queue.wait_seconds(run), queue.has_worker(run), run.id in queue.held,
        pause_between_questions(now - run.queued_at, place),
    )  # fmt: skip
