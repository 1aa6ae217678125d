"""What counts against quotas, in the database."""

from collections.abc import Mapping
from datetime import timedelta

from sqlalchemy import func, or_, select, union
from sqlalchemy.orm import Session

from app.models import (
    Disclosure,
    Entry,
    EntryState,
    GroundTruth,
    Method,
    Phase,
    Publication,
    Submission,
)
from app.quotas.schemas import CountedResult


def counted_results(
    session: Session, phase_id: int, tasks: Mapping[int, str], team_id: int, user_id: int, longest: timedelta
) -> list[CountedResult]:
    """Results of the team, and of the person in any team, that count in a phase: whose score was published once, or is awaited.

    Those in other held-out phases count, too, where they were scored against the same ground truth. What was refused or
    failed without a score costs nothing, nor do baselines of organisers.
    """
    mine = union(
        select(Submission.id)
        .join(Method, Submission.method_id == Method.id)
        .where(Method.team_id == team_id),
        select(Submission.id).where(Submission.user_id == user_id),
    ).subquery()
    own = select(GroundTruth.fingerprint).where(GroundTruth.phase_id == phase_id)
    sharing = (
        select(GroundTruth.phase_id)
        .join(Phase, GroundTruth.phase_id == Phase.id)
        .where(GroundTruth.fingerprint.in_(own), Phase.disclosure != Disclosure.FULL)
    )
    was_published = (
        select(Publication.id)
        .where(Publication.entry_id == Entry.id, Publication.run_id.is_not(None))
        .correlate(Entry)
        .exists()
    )
    statement = (
        select(
            Entry.competition, Submission.created_at, Method.team_id == team_id, Submission.user_id == user_id
        )
        .select_from(mine)
        .join(Submission, Submission.id == mine.c.id)
        .join(Method, Submission.method_id == Method.id)
        .join(Entry, Entry.submission_id == Submission.id)
        .where(
            or_(Entry.phase_id == phase_id, Entry.phase_id.in_(sharing)),
            Method.is_baseline.is_(False),
            Submission.created_at > func.clock_timestamp() - longest,
            or_(Entry.state == EntryState.PENDING, was_published),
        )
    )
    return [
        CountedResult(tasks.get(competition, ""), confirmed_at, is_teams, is_persons)
        for competition, confirmed_at, is_teams, is_persons in session.execute(statement)
    ]
