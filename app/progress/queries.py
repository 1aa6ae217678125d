"""The runs of a submission that waits."""

from sqlalchemy import func, select
from sqlalchemy.orm import Session, aliased

from app.access import Actor
from app.models import Entry, Method, Phase, Run, Submission
from app.submissions.queries import visible_submissions


def latest_runs(session: Session, actor: Actor, submission_id: int) -> list[tuple[Entry, Run]]:
    """The entries of a submission that the reader may see, each with its latest run."""
    every = aliased(Run)
    latest = select(func.max(every.id)).where(every.entry_id == Entry.id).correlate(Entry).scalar_subquery()
    statement = (
        select(Entry, Run)
        .join(Submission, Entry.submission_id == Submission.id)
        .join(Method, Submission.method_id == Method.id)
        .join(Phase, Submission.phase_id == Phase.id)
        .join(Run, Run.id == latest)
        .where(Submission.id == submission_id, visible_submissions(actor))
        .order_by(Entry.id)
    )
    return [(entry, run) for entry, run in session.execute(statement)]
