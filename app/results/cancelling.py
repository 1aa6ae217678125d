"""Giving quota back: cancelling a submission that waits, and refunding a result."""

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.core import audit
from app.core.access import Action, Actor, require_active, rows_for
from app.core.errors import ConflictError, FieldsError, NotFoundError, TooLateError
from app.jobs import events, queue
from app.models import Challenge, EventKind, Method, Phase, Result, ResultState, Run, RunState
from app.people import teams
from app.platform import Platform
from app.results import outcomes
from app.results.withdrawing import lock_open_runs
from app.submissions import methods
from app.submissions.quotas import counts
from heldout_scoring.competitions import name_of

STARTED = "Too late to cancel: scoring has started, or is over. You can withdraw a result that you do not want to keep"


def cancel(platform: Platform, actor: Actor, submission_id: int) -> None:
    """Cancel the results of a submission that wait for a worker; those that have been started go on.

    They cost no quota, and the name of the method stays free. Whether a worker or the team was first is decided by who locks the
    job. Raises NotFoundError for a submission of another team, ConflictError if nothing waits.
    """
    with platform.transaction() as session:
        numbers = _own_results(session, actor, submission_id)
        if not numbers:
            raise NotFoundError(f"your team has no submission {submission_id}")
        cancelled = [number for number in numbers if _cancel_result(session, actor, number) is not None]
        if not cancelled:
            raise TooLateError(STARTED)
        session.flush()
        outcomes.record_outcome(session, submission_id)
    platform.cache.expire_versions()


def _own_results(session: Session, actor: Actor, submission_id: int) -> list[int]:
    """Return the results of a submission of the reader's team, in a fixed order, so that two cancellations do not block each other."""
    theirs = rows_for(actor, Action.SUBMIT, team=Method.team_id, challenge=Method.challenge_id)
    statement = (
        select(Result.id)
        .join(Result.method)
        .where(Result.submission_id == submission_id, theirs)
        .order_by(Result.id)
    )
    return list(session.scalars(statement))


def cancel_for_team(platform: Platform, actor: Actor, result_id: int, reason: str) -> None:
    """Cancel a result that waits, as an organiser, and tell its team.

    Raises NotFoundError, MalformedError without a reason, ConflictError if it does not wait.
    """
    reason = reason.strip()
    if not reason:
        raise FieldsError({"reason": "say why it is cancelled; the team reads it"})
    with platform.transaction() as session:
        theirs = rows_for(actor, Action.ORGANISE, challenge=Phase.challenge_id)
        statement = select(Result.id).join(Result.phase)
        if session.scalar(statement.where(Result.id == result_id, theirs)) is None:
            raise NotFoundError(f"there is no result {result_id}")
        result = _cancel_result(session, actor, result_id, reason)
        if result is None:
            raise TooLateError("Too late to cancel: scoring has started, or is over")
        session.flush()
        method = session.get_one(Method, result.method_id)
        methods.record_decision(session, actor, method, "cancelled", reason, result)
        outcomes.record_outcome(session, result.submission_id)
    platform.cache.expire_versions()


def _cancel_result(session: Session, actor: Actor, result_id: int, reason: str = "") -> Result | None:
    """Cancel a result if it still waits, and return it. reason: of an organiser; a team needs none."""
    jobs = queue.lock_jobs_of_result(session, result_id)
    runs = lock_open_runs(session, result_id)
    result = session.get_one(Result, result_id, with_for_update=True)
    challenge_id = session.scalar(select(Phase.challenge_id).where(Phase.id == result.phase_id))
    if not is_waiting(result, runs):
        return None
    for run in runs:
        run.state, run.failure_message = RunState.ABANDONED, "the submission was cancelled"
        run.finished_at = func.clock_timestamp()
    for job in jobs:
        session.delete(job)
    result.state, result.withdrawn_by = ResultState.WITHDRAWN, actor.user_id
    result.withdraw_reason = reason or None
    result.withdrawn_at = result.cancelled_at = func.clock_timestamp()
    audit.record(
        session,
        actor.user_id,
        "result.cancel",
        f"result {result_id}",
        challenge_id=challenge_id,
        reason=reason,
        before={"state": ResultState.PENDING.value},
        after={"state": ResultState.WITHDRAWN.value},
        details={"submission": result.submission_id, "competition": result.competition},
    )
    return result


def is_waiting(result: Result, runs: list[Run]) -> bool:
    """Whether a result has no score yet, and no worker has its runs."""
    never_shown = result.state is ResultState.PENDING and result.published_run_id is None
    return never_shown and all(run.state is RunState.QUEUED for run in runs)


def refund(platform: Platform, actor: Actor, result_id: int, reason: str) -> int:
    """Give the quota of a result back to its team; its score stays. Return the id of its submission.

    An extra slot that it used can be used again. Raises NotFoundError for a result in a challenge that the reader does not
    organise, MalformedError without a reason, ConflictError if it costs nothing.
    """
    reason = reason.strip()
    if not reason:
        raise FieldsError({"reason": "say why the quota is given back; the team reads it"})
    with platform.transaction() as session:
        row = session.execute(
            select(Method, Phase.challenge_id, Phase.id, Challenge.dataset)
            .select_from(Result)
            .join(Result.method)
            .join(Result.phase)
            .join(Phase.challenge)
            .where(Result.id == result_id, rows_for(actor, Action.ORGANISE, challenge=Phase.challenge_id))
        ).one_or_none()
        if row is None:
            raise NotFoundError(f"there is no result {result_id}")
        method, challenge_id, phase_id, dataset = row
        require_active(session, challenge_id)
        teams.lock_team(session, method.team_id)  # whose confirmation may be reading its quota now
        result = session.get_one(Result, result_id, with_for_update=True)
        is_counted = session.scalar(select(Result.id).where(Result.id == result_id, counts()))
        if method.is_baseline or is_counted is None:
            raise ConflictError("This result costs no quota, or its quota has already been given back.")
        audit.record(
            session,
            actor.user_id,
            "quota.refund",
            f"result {result_id}",
            challenge_id=challenge_id,
            reason=reason,
            before={"extra_slot": result.extra_slot_id},
            details={
                "team": method.team_id,
                "submission": result.submission_id,
                "competition": result.competition,
            },
        )
        result.extra_slot_id = None
        result.refunded_at, result.refund_reason = func.clock_timestamp(), reason
        events.record(
            session,
            EventKind.QUOTA,
            challenge_id=challenge_id,
            phase_id=phase_id,
            team_id=method.team_id,
            by=actor.user_id,
            method=method.id,
            submission=result.submission_id,
            competition=name_of(dataset, result.competition),
            reason=reason,
        )
        return result.submission_id
