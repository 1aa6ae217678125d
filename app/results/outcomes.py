"""What became of a submission, recorded once none of its results waits any more."""

from collections.abc import Collection

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.jobs import events
from app.models import EventKind, Method, Phase, Result, ResultState, Run, RunState, Submission
from app.submissions.methods import SHOWN_STATES


def kind_of(states: Collection[ResultState]) -> EventKind | None:
    """Return what became of a submission with results in these states, the most serious first; None if it has not ended.

    >>> kind_of([ResultState.SCORED, ResultState.REFUSED]).name, kind_of([ResultState.SCORED, ResultState.PENDING])
    ('REFUSED', None)
    """
    if ResultState.PENDING in states:
        return None
    if ResultState.FAILED in states:
        return EventKind.FAILED
    if ResultState.REFUSED in states:
        return EventKind.REFUSED
    return EventKind.SCORED if SHOWN_STATES & set(states) else None


def record_outcome(session: Session, submission_id: int) -> None:
    """Record what became of a submission, unless it still waits for a result or all were withdrawn.

    Locks the submission after its results: of two runs that end at the same time, the second then sees the first.
    """
    where = (
        select(Phase.challenge_id, Submission.phase_id, Method.team_id)
        .join(Submission.phase)
        .join(Submission.method)
        .where(Submission.id == submission_id)
    )
    challenge_id, phase_id, team_id = session.execute(
        where.with_for_update(key_share=True, of=Submission)
    ).one()
    states = session.scalars(select(Result.state).where(Result.submission_id == submission_id)).all()
    if kind := kind_of(states):
        events.record(
            session,
            kind,
            challenge_id=challenge_id,
            phase_id=phase_id,
            team_id=team_id,
            submission=submission_id,
            runs=_runs(session, submission_id),
        )


def _runs(session: Session, submission_id: int) -> list[int]:
    """Return the run by which each result ended: the one on its board, or the last that was refused or failed."""
    ended = Run.state.in_((RunState.REFUSED, RunState.FAILED)), Run.rescore_id.is_(None)
    last = (
        select(func.max(Run.id)).where(Run.result_id == Result.id, *ended).correlate(Result).scalar_subquery()
    )
    run = func.coalesce(Result.published_run_id, last)
    shown = (Result.submission_id == submission_id, Result.state != ResultState.WITHDRAWN, run.is_not(None))
    return list(session.scalars(select(run).where(*shown).order_by(Result.id)))


def record_failure(session: Session, result_id: int) -> None:
    """Record for organisers, once an hour and challenge, that runs failed."""
    where = select(Phase.challenge_id, Phase.id, func.date_trunc("hour", func.now()))
    challenge_id, phase_id, hour = session.execute(
        where.join(Result, Result.phase_id == Phase.id).where(Result.id == result_id)
    ).one()
    key = f"{EventKind.RUNS_FAILED}/{challenge_id}/{hour:%Y-%m-%dT%H}"
    events.record_once(session, key, EventKind.RUNS_FAILED, challenge_id=challenge_id, phase_id=phase_id)
