"""Withdrawing results."""

from sqlalchemy import and_, func, or_, select, true
from sqlalchemy.orm import Session

from app.core import audit
from app.core.access import Action, Actor, State, rows_for
from app.core.errors import NotFoundError
from app.jobs import queue
from app.models import Decision, Entry, EntryState, Method, Phase, Run, RunState
from app.platform import Platform
from app.results import recording
from app.submissions.acceptance import withdrawal_refusal


def lock_open_runs(session: Session, entry_id: int) -> list[Run]:
    """The runs of an entry that wait, are under way, or wait for a decision; locked before the entry, as everywhere."""
    is_open = or_(
        Run.state.in_((RunState.QUEUED, RunState.RUNNING)),
        and_(
            Run.state.in_((RunState.REFUSED, RunState.FAILED)),
            Run.rescore_id.is_not(None),
            Run.decision.is_(None),
        ),
    )
    statement = select(Run).where(Run.entry_id == entry_id, is_open).order_by(Run.id).with_for_update()
    return list(session.scalars(statement))


def lock_entry(session: Session, actor: Actor, entry_id: int) -> tuple[Entry, Method, int] | None:
    """An entry that somebody may withdraw in one state or another, locked, with its method and its challenge's id."""
    theirs = rows_for(
        actor,
        Action.WITHDRAW,
        team=Method.team_id,
        challenge=Phase.challenge_id,
        states=dict.fromkeys(State, true()),  # whether in this state is for `withdrawal_refusal` to explain
    )
    statement = (
        select(Entry, Method, Phase.challenge_id)
        .join(Method, Entry.method_id == Method.id)
        .join(Phase, Entry.phase_id == Phase.id)
        .where(Entry.id == entry_id, theirs)
        .with_for_update(of=Entry)
    )
    row = session.execute(statement).one_or_none()
    return (row[0], row[1], row[2]) if row else None


def withdraw(platform: Platform, actor: Actor, entry_id: int, reason: str | None) -> int:
    """Take an entry's result off its board, or end it before it has one; returns the id of its submission.

    The archive stays as it was confirmed; a name on a held-out phase stays retired and the quota stays used.
    Raises NotFoundError for what is not the reader's, and what `withdrawal_refusal` says.
    """
    reason = (reason or "").strip() or None
    with platform.transaction() as session:
        jobs = queue.lock_jobs_of_entry(session, entry_id)
        runs = lock_open_runs(session, entry_id)
        found = lock_entry(session, actor, entry_id)
        if found is None:
            raise NotFoundError(f"your team has no entry {entry_id}")
        entry, method, challenge_id = found
        refusal = withdrawal_refusal(
            entry.state,
            is_organiser=actor.runs(challenge_id),
            is_public=method.public_at is not None,
            reason=reason,
        )
        if refusal is not None:
            raise refusal
        for run in runs:
            _end_for_withdrawal(run, actor)
        for job in jobs:
            session.delete(job)
        recording.take_off_board(session, entry)
        audit.record(
            session,
            actor.user_id,
            "entry.withdraw",
            f"entry {entry_id}",
            challenge_id=challenge_id,
            reason=reason or "",
            before={"state": entry.state.value},
            after={"state": EntryState.WITHDRAWN.value},
            details={"method": method.name, "competition": entry.competition},
        )
        entry.state, entry.withdrawn_at = EntryState.WITHDRAWN, func.clock_timestamp()
        entry.withdrawn_by, entry.withdraw_reason = actor.user_id, reason
        submission_id = entry.submission_id
    platform.cache.forget_versions()
    return submission_id


def _end_for_withdrawal(run: Run, actor: Actor) -> None:
    """Abandon a run that is not final; one that waits for a decision of a re-scoring has it now."""
    if run.state in (RunState.REFUSED, RunState.FAILED):
        run.decision, run.decided_by = Decision.WITHDRAW, actor.user_id
        return
    run.state, run.failure_message = RunState.ABANDONED, "the entry was withdrawn"
    run.finished_at = func.clock_timestamp()
