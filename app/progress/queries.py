"""The runs of a submission that waits."""

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.access import Actor
from app.jobs.places import damaged_content
from app.jobs.queue import is_held
from app.models import Entry, Job, Method, Phase, Run, Submission
from app.progress.schemas import LatestRun
from app.submissions.queries import ANY_RUN, visible_submissions


def latest_runs(session: Session, actor: Actor, submission_id: int) -> list[LatestRun]:
    """The latest run of each entry of a submission that the reader may see."""
    latest = (
        select(func.max(ANY_RUN.id)).where(ANY_RUN.entry_id == Entry.id).correlate(Entry).scalar_subquery()
    )
    statement = (
        select(
            Entry.state, Run.id, Run.state, Run.attempt, Run.scorer, Run.queued_at, func.coalesce(is_held(), False), damaged_content()
        )
        .select_from(Entry)
        .join(Submission, Entry.submission_id == Submission.id)
        .join(Method, Submission.method_id == Method.id)
        .join(Phase, Submission.phase_id == Phase.id)
        .join(Run, Run.id == latest)
        .outerjoin(Job, Job.run_id == Run.id)
        .where(Submission.id == submission_id, visible_submissions(actor))
        .order_by(Entry.id)
    )  # fmt: skip
    return [LatestRun(*row) for row in session.execute(statement)]
