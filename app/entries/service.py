"""Withdrawing entries."""

from sqlalchemy import func

from app.access import Actor
from app.audit import queries as audit
from app.entries import queries
from app.errors import NotFoundError
from app.jobs import queue
from app.models import Decision, EntryState, Run, RunState
from app.platform import Platform
from app.publications import queries as publications
from app.submissions.rules import withdrawal_refusal


def withdraw(platform: Platform, actor: Actor, entry_id: int, reason: str | None) -> int:
    """Take an entry's result off its board, or end it before it has one; returns the id of its submission.

    The archive stays as it was confirmed; a name on a held-out phase stays retired and the quota stays used.
    Raises NotFoundError for what is not the reader's, and what `withdrawal_refusal` says.
    """
    reason = (reason or "").strip() or None
    with platform.transaction() as session:
        jobs = queue.lock_jobs_of_entry(session, entry_id)
        runs = queries.lock_open_runs(session, entry_id)
        found = queries.lock_entry(session, actor, entry_id)
        if found is None:
            raise NotFoundError(f"your team has no entry {entry_id}")
        entry, method, edition_id = found
        refusal = withdrawal_refusal(
            entry.state,
            is_organiser=actor.runs(edition_id),
            is_public=method.public_at is not None,
            reason=reason,
        )
        if refusal is not None:
            raise refusal
        for run in runs:
            _end_for_withdrawal(run, actor)
        for job in jobs:
            session.delete(job)
        publications.take_off_board(session, entry)
        audit.record(
            session,
            actor.user_id,
            "entry.withdraw",
            f"entry {entry_id}",
            edition_id=edition_id,
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
