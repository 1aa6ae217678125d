"""Withdrawing results."""

from sqlalchemy import and_, func, or_, select, true
from sqlalchemy.orm import Session

from app.core import audit
from app.core.access import Action, Actor, ResultVisibility, rows_for
from app.core.errors import ConflictError, ForbiddenError, MalformedError, NotFoundError
from app.jobs import queue
from app.models import Decision, Method, Phase, Result, ResultState, Run, RunState
from app.platform import Platform
from app.results import ladder, outcomes, recording
from app.submissions import methods
from app.submissions.acceptance import COUNTED_STATES


def lock_open_runs(session: Session, result_id: int) -> list[Run]:
    """Lock the runs of a result that are waiting, running, or awaiting a decision; always before the result itself."""
    is_open = or_(
        Run.state.in_((RunState.QUEUED, RunState.RUNNING)),
        and_(
            Run.state.in_((RunState.REFUSED, RunState.FAILED)),
            Run.rescore_id.is_not(None),
            Run.decision.is_(None),
        ),
    )
    statement = select(Run).where(Run.result_id == result_id, is_open).order_by(Run.id).with_for_update()
    return list(session.scalars(statement))


def lock_result(session: Session, actor: Actor, result_id: int) -> tuple[Result, Method, int] | None:
    """Lock a result that the reader could withdraw, whatever its state is now; return it with its method and its challenge's id."""
    theirs = rows_for(
        actor,
        Action.WITHDRAW,
        team=Method.team_id,
        challenge=Phase.challenge_id,
        states=dict.fromkeys(ResultVisibility, true()),  # `withdrawal_refusal` decides about the state
    )
    statement = (
        select(Result, Method, Phase.challenge_id)
        .join(Result.method)
        .join(Result.phase)
        .where(Result.id == result_id, theirs)
        .with_for_update(of=Result)
    )
    row = session.execute(statement).one_or_none()
    return (row[0], row[1], row[2]) if row else None


def withdraw(platform: Platform, actor: Actor, result_id: int, reason: str | None) -> int:
    """Withdraw a result from its board, or end it before it is scored. Return the id of its submission.

    The archive stays as confirmed. On a held-out phase the method's name stays retired and the quota stays used.
    Raises NotFoundError if the reader may not manage the result, and the refusal of `withdrawal_refusal`.
    """
    with platform.transaction() as session:
        submission_id = withdraw_in(session, actor, result_id, reason)
    platform.cache.expire_versions()
    return submission_id


def _is_ended(run: Run, *, is_step: bool) -> bool:
    """Whether a withdrawal ends a run. A re-scoring scores a result on whose mean a ladder shows for another one."""
    return run.rescore_id is None or not is_step or run.state in (RunState.REFUSED, RunState.FAILED)


def withdraw_in(session: Session, actor: Actor, result_id: int, reason: str | None) -> int:
    """Withdraw a result as `withdraw` does, in the transaction of the caller; nothing is changed if this raises."""
    reason = (reason or "").strip() or None
    jobs = queue.lock_jobs_of_result(session, result_id)
    runs = lock_open_runs(session, result_id)
    found = lock_result(session, actor, result_id)
    if found is None:
        raise NotFoundError(f"your team has no result {result_id}")
    result, method, challenge_id = found
    refusal = withdrawal_refusal(
        result.state,
        is_organiser=actor.organises_challenge(challenge_id),
        is_public=method.public_at is not None,
        reason=reason,
    )
    if refusal is not None:
        raise refusal
    is_step = bool(session.scalar(select(ladder.is_step()).where(Result.id == result_id)))
    ended = [run for run in runs if _is_ended(run, is_step=is_step)]
    for run in ended:
        _end_for_withdrawal(run, actor)
    for job in jobs:
        if job.run_id in {run.id for run in ended}:
            session.delete(job)
    recording.take_off_board(session, result)
    audit.record(
        session,
        actor.user_id,
        "result.withdraw",
        f"result {result_id}",
        challenge_id=challenge_id,
        reason=reason or "",
        before={"state": result.state.value},
        after={"state": ResultState.WITHDRAWN.value},
        details={"method": method.name, "competition": result.competition},
    )
    was_pending = result.state is ResultState.PENDING
    result.state, result.withdrawn_at = ResultState.WITHDRAWN, func.clock_timestamp()
    result.withdrawn_by, result.withdraw_reason = actor.user_id, reason
    submission_id = result.submission_id
    session.flush()
    if actor.organises_challenge(challenge_id):
        methods.record_decision(session, actor, method, "withdrew", reason or "", result)
    if was_pending:
        outcomes.record_outcome(session, submission_id)
    return submission_id


def _end_for_withdrawal(run: Run, actor: Actor) -> None:
    """Abandon a run that is not final; if a re-scoring awaits a decision about it, the withdrawal is the decision."""
    if run.state in (RunState.REFUSED, RunState.FAILED):
        run.decision, run.decided_by = Decision.WITHDRAW, actor.user_id
        return
    run.state, run.failure_message = RunState.ABANDONED, "the result was withdrawn"
    run.finished_at = func.clock_timestamp()


def withdrawal_refusal(
    state: ResultState, *, is_organiser: bool, is_public: bool, reason: str | None
) -> Exception | None:
    """Return why a result may not be withdrawn by its team or an organiser, or None if it may."""
    if state is ResultState.WITHDRAWN:
        return ConflictError("This result has already been withdrawn.")
    if state not in COUNTED_STATES:
        return ConflictError(f"This result has no score to withdraw; its state is {state.value}.")
    if is_organiser:
        return None if reason else MalformedError("Give a reason; organisers need one to withdraw a result.")
    if is_public:
        return ForbiddenError("This method is public; ask an organiser to withdraw its results.")
    return None
