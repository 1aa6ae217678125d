"""Re-scoring: results are scored again in the background, and all boards switch at once."""

import enum
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import structlog
from sqlalchemy import (
    ColumnElement,
    Select,
    and_,
    exists,
    func,
    insert,
    literal,
    null,
    or_,
    select,
    true,
    update,
)
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, aliased

import scoring
from app.challenges import challenges
from app.challenges.challenges import organised_by
from app.core import audit
from app.core.access import Actor
from app.core.database import violated_constraint
from app.core.errors import ConflictError, NotFoundError
from app.core.paging import RowPage, page_of
from app.evaluation.scoring import ENDED
from app.jobs import queue
from app.models import Board, Decision, Job, Method, Phase, Rescore, Result, ResultState, Run, RunState
from app.platform import Platform
from app.results import ladder, recording, withdrawing


class Choice(enum.StrEnum):
    """What an organiser can do with a result that a re-scoring could not score."""

    KEEP = "keep"  # its old score stays on the board, marked
    WITHDRAW = "withdraw"
    RETRY = "retry"


@dataclass(frozen=True, slots=True)
class Following:
    """Which page of a re-scoring's undecided runs is asked for: those after this run."""

    rescore: int
    run: int


@dataclass(frozen=True, slots=True)
class UndecidedRun:
    """A run that a re-scoring could not score; the boards switch once all of them are decided."""

    run: int
    result: int
    submission: int
    competition: int
    method: str
    state: RunState
    failure_message: str | None


@dataclass(frozen=True, slots=True)
class RescoreView:
    """How far a re-scoring has come."""

    id: int
    total: int
    done: int
    failed: int  # not scored, and not decided yet
    created_at: datetime
    undecided: tuple[UndecidedRun, ...] = ()  # some of them
    next: int | None = None  # the last of these runs, if others follow


def rescore_refusal(state: ResultState) -> str | None:
    """Why a result in this state is not scored again; none if it may be.

    >>> rescore_refusal(ResultState.WITHDRAWN), rescore_refusal(ResultState.FAILED)
    ('was withdrawn', None)
    """
    return {
        ResultState.PENDING: "is not scored yet; it is in the queue",
        ResultState.WITHDRAWN: "was withdrawn",
        ResultState.REPLACED: "was replaced by a newer result of its method",
    }.get(state)


MOST_UNDECIDED = 50  # on a page
UNFINISHED = (RunState.QUEUED, RunState.RUNNING)
UNSCORED = (RunState.REFUSED, RunState.FAILED)
NEW_RUN = ("result_id", "rescore_id", "ground_truth_id", "protocol", "scorer", "team_id")


def open_rescore_ids(session: Session) -> list[int]:
    """Re-scorings that have neither switched their boards nor been abandoned."""
    statement = select(Rescore.id).where(Rescore.activated_at.is_(None), Rescore.abandoned_at.is_(None))
    return list(session.scalars(statement.order_by(Rescore.id)))


def locked_rescore(session: Session, rescore_id: int) -> Rescore | None:
    """A re-scoring that is still under way, locked."""
    statement = select(Rescore).where(
        Rescore.id == rescore_id, Rescore.activated_at.is_(None), Rescore.abandoned_at.is_(None)
    )
    return session.scalar(statement.with_for_update())


def has_open_rescore(session: Session, phase_id: int) -> bool:
    """Whether a re-scoring of the phase is under way."""
    statement = select(Rescore.id).where(
        Rescore.phase_id == phase_id, Rescore.activated_at.is_(None), Rescore.abandoned_at.is_(None)
    )
    return session.scalar(statement.limit(1)) is not None


def locked_boards(session: Session, phase_id: int) -> list[Board]:
    """All boards of a phase, locked in one order."""
    statement = select(Board).where(Board.phase_id == phase_id).order_by(Board.competition).with_for_update()
    return list(session.scalars(statement))


def queue_missing_runs(session: Session, rescore: Rescore) -> int:
    """Queue a run for every result on the boards that has none of this re-scoring yet; returns how many."""
    mine = aliased(Run)
    has_run = exists().where(mine.result_id == Result.id, mine.rescore_id == rescore.id)
    chosen = (
        select(
            Result.id, literal(rescore.id), literal(rescore.ground_truth_id), Board.protocol,
            literal(rescore.scorer), Method.team_id,
        )
        .join(Method, Result.method_id == Method.id)
        .join(Board, (Board.phase_id == Result.phase_id) & (Board.competition == Result.competition))
        .where(
            Result.phase_id == rescore.phase_id,
            Result.state == ResultState.SCORED,
            Result.id == rescore.result_id if rescore.result_id is not None else true(),
            ~has_run,
        )
        .order_by(Result.id)
    )  # fmt: skip
    return _queue(session, chosen)


def _queue(session: Session, chosen: Select[*tuple[Any, ...]]) -> int:
    """Queue the runs that a statement makes; how many."""
    runs = session.scalars(insert(Run).from_select(NEW_RUN, chosen).returning(Run.id)).all()
    queue.add_runs(session, runs)
    return len(runs)


def queue_outdated_results(session: Session) -> int:
    """Queue a run for every result that does not stand because its board has other versions by now; returns how many.

    Such are results that were recorded while their board was switched, and those whose only run ended under the
    versions before. Results that the new versions refused or failed are left alone.
    """
    mine = aliased(Run)
    is_covered = exists().where(
        mine.result_id == Result.id,
        or_(
            mine.state.in_(UNFINISHED),
            and_(
                mine.rescore_id.is_(None),
                mine.state.in_(UNSCORED),
                mine.ground_truth_id == Board.ground_truth_id,
                mine.scorer == Board.scorer,
            ),
        ),
    )
    is_outdated = or_(
        Result.state == ResultState.PENDING,
        and_(Result.state == ResultState.SCORED, Result.published_generation < Board.generation),
    )
    return _queue_live(session, is_outdated, ~is_covered)


def _queue_live(session: Session, *which: ColumnElement[bool]) -> int:
    """Queue a run under the versions of its board for each of these results, as for one that was just confirmed; how many."""
    chosen = (
        select(
            Result.id, null(), Board.ground_truth_id, Board.protocol, Board.scorer, Method.team_id,
        )
        .join(Method, Result.method_id == Method.id)
        .join(Board, (Board.phase_id == Result.phase_id) & (Board.competition == Result.competition))
        .where(*which)
    )  # fmt: skip
    return _queue(session, chosen)


def queue_result(session: Session, result_id: int) -> None:
    """Queue a run of one result."""
    _queue_live(session, Result.id == result_id)


def locked_result(session: Session, result_id: int) -> Result:
    """A result that is there, locked."""
    return session.get_one(Result, result_id, with_for_update=True)


def has_other_result(session: Session, result: Result) -> bool:
    """Whether the method of a result has, or waits for, another result in its place."""
    statement = select(Result.id).where(
        Result.id != result.id,
        Result.method_id == result.method_id,
        Result.phase_id == result.phase_id,
        Result.competition == result.competition,
        Result.state.in_((ResultState.PENDING, ResultState.SCORED)),
    )
    return session.scalar(statement.limit(1)) is not None


def _is_open(rescore_id: int) -> ColumnElement[bool]:
    """Runs that a re-scoring waits for: unfinished ones, and those that an organiser has to decide."""
    return and_(Run.rescore_id == rescore_id, Run.state.in_((*UNFINISHED, *UNSCORED)), Run.decision.is_(None))


def is_waiting(session: Session, rescore_id: int) -> bool:
    """Whether a re-scoring still waits for a run, or for an organiser's decision on one."""
    return session.scalar(select(Run.id).where(_is_open(rescore_id)).limit(1)) is not None


def switch_boards(session: Session, rescore: Rescore) -> None:
    """Give the phase's boards the versions of a re-scoring; results under other versions stand there no longer."""
    is_other = or_(Board.ground_truth_id != rescore.ground_truth_id, Board.scorer != rescore.scorer)
    session.execute(
        update(Board)
        .where(Board.phase_id == rescore.phase_id, is_other)
        .values(
            ground_truth_id=rescore.ground_truth_id,
            scorer=rescore.scorer,
            generation=Board.generation + 1,
            activated_at=func.clock_timestamp(),
        ),
        execution_options={"synchronize_session": False},
    )


def move_queued_runs(session: Session, phase_id: int) -> int:
    """Give runs that wait under versions that their board no longer has those of the board; returns how many.

    Under an old version of the scorer they would wait for ever once no worker of that version is left.
    """
    waiting = (
        select(Run.id, Job.id.label("job"), Job.turn, Board.ground_truth_id, Board.scorer)
        .join(Job, Job.run_id == Run.id)
        .join(Result, Run.result_id == Result.id)
        .join(Board, (Board.phase_id == Result.phase_id) & (Board.competition == Result.competition))
        .where(
            Result.phase_id == phase_id,
            queue.is_waiting(),
            Run.rescore_id.is_(None),
            or_(Run.ground_truth_id != Board.ground_truth_id, Run.scorer != Board.scorer),
        )
        .with_for_update(of=Job, skip_locked=True)  # a run that is being claimed is queued anew by the sweep
        .cte("waiting")
        .prefix_with("MATERIALIZED")
    )
    first = select(func.min(waiting.c.turn)).scalar_subquery()
    moved = (
        update(Job)
        .where(Job.id == waiting.c.job)
        .values(
            scorer=waiting.c.scorer,
            turn=waiting.c.turn - first,  # the queue of another version counts its own rounds
            damaged_content_id=None,  # it may have been the ground truth of before
        )
        .cte("moved")
    )
    statement = (
        update(Run)
        .where(Run.id == waiting.c.id)
        .values(ground_truth_id=waiting.c.ground_truth_id, scorer=waiting.c.scorer)
        .add_cte(moved)
        .returning(Run.id)
    )
    return len(session.scalars(statement, execution_options={"synchronize_session": False}).all())


def abandon_runs(session: Session, rescore_id: int, message: str) -> None:
    """Let the runs of an abandoned re-scoring end; what is under way loses its claim."""
    unfinished = (Run.rescore_id == rescore_id, Run.state.in_(UNFINISHED))
    queue.delete_runs(session, *unfinished)
    values = {"state": RunState.ABANDONED, "failure_message": message, "finished_at": func.clock_timestamp()}
    session.execute(update(Run).where(*unfinished).values(values))


def requeue_unscored(session: Session, rescore_id: int, run_id: int | None = None) -> int:
    """Queue undecided runs of a re-scoring again, all or one; returns how many. Attempts go on counting."""
    statement = (
        update(Run)
        .where(
            _is_open(rescore_id),
            Run.state.in_(UNSCORED),
            Run.id == run_id if run_id is not None else true(),
        )
        .values(state=RunState.QUEUED, failure_message=None, finished_at=None)
    )
    runs = session.scalars(statement.returning(Run.id)).all()
    queue.add_runs(session, runs)
    return len(runs)


def open_rescores(session: Session, following: Following | None = None) -> dict[int, RescoreView]:
    """By phase, how far its latest open re-scoring has come, with a page of its undecided runs: by default the first."""
    statement = (  # with how many of their runs there are, have ended, and ended without a score that is decided on
        select(
            Rescore.phase_id, Rescore.id, func.count(Run.id), func.count().filter(Run.state.in_(ENDED)),
            func.count().filter(Run.state.in_(UNSCORED), Run.decision.is_(None)), Rescore.created_at,
        )
        .outerjoin(Run, Run.rescore_id == Rescore.id)
        .where(Rescore.activated_at.is_(None), Rescore.abandoned_at.is_(None))
        .group_by(Rescore.id)
        .order_by(Rescore.id)
    )  # fmt: skip
    views = {}
    for row in session.execute(statement):
        after = following.run if following and following.rescore == row[1] else 0
        page = undecided_runs(session, row[1], after)
        views[row[0]] = RescoreView(*row[1:], undecided=page.rows, next=page.next)
    return views


def undecided_runs(session: Session, rescore_id: int, after: int) -> RowPage[UndecidedRun]:
    """A page of the runs of a re-scoring that an organiser has to decide."""
    statement = (
        select(
            Run.id, Result.id, Result.submission_id, Result.competition, Method.name, Run.state, Run.failure_message
        )
        .join(Result, Run.result_id == Result.id)
        .join(Method, Result.method_id == Method.id)
        .where(_is_open(rescore_id), Run.state.in_(UNSCORED), Run.id > after)
        .order_by(Run.id)
        .limit(MOST_UNDECIDED + 1)
    )  # fmt: skip
    rows = [UndecidedRun(*row) for row in session.execute(statement)]
    return page_of(rows, MOST_UNDECIDED, number=lambda row: row.run)


def locked_undecided_run(session: Session, actor: Actor, run_id: int) -> Run | None:
    """A run of an open re-scoring that waits for a decision of the actor, locked."""
    statement = (
        select(Run)
        .join(Rescore, Run.rescore_id == Rescore.id)
        .join(Phase, Rescore.phase_id == Phase.id)
        .where(
            organised_by(actor),
            Run.id == run_id,
            Run.state.in_(UNSCORED),
            Run.decision.is_(None),
            Rescore.activated_at.is_(None),
            Rescore.abandoned_at.is_(None),
        )
        .with_for_update(of=Run)
    )
    return session.scalar(statement)


def phase_of_result(session: Session, actor: Actor | None, result_id: int) -> int | None:
    """The phase that a result was made in, if the actor organises it; actor: None for the command line."""
    statement = select(Phase.id).join(Result, Result.phase_id == Phase.id)
    theirs = organised_by(actor) if actor else true()
    return session.scalar(statement.where(Result.id == result_id, theirs))


def challenge_of_phase(session: Session, phase_id: int) -> int:
    """The challenge that a phase belongs to."""
    return session.get_one(Phase, phase_id).challenge_id


def challenge_of_rescore(session: Session, rescore_id: int) -> int | None:
    """The challenge that a re-scoring belongs to."""
    statement = select(Phase.challenge_id).join(Rescore, Rescore.phase_id == Phase.id)
    return session.scalar(statement.where(Rescore.id == rescore_id))


log = structlog.get_logger()


def request(platform: Platform, actor: Actor | None, phase_id: int, *, result_id: int | None = None) -> int:
    """Score a phase's results, or one of them, again under its newest ground truth and this scorer.

    actor: None for the command line. Returns the id of the re-scoring. Raises NotFoundError for a phase that the actor does
    not organise or that has no ground truth, ConflictError when the phase is already being scored again, or one result has no
    result or should get another ground truth or scorer than the rest of its board.
    """
    with platform.transaction() as session:
        challenge_id = _organised_challenge(session, actor, phase_id, f"there is no phase {phase_id}")
        boards = locked_boards(session, phase_id)
        truth = challenges.newest_truth(session, phase_id)
        if truth is None:
            raise NotFoundError("this phase has no ground truth; import it first")
        if has_open_rescore(session, phase_id):
            raise ConflictError(
                "this phase is already being scored again; wait for the end, or abandon it first"
            )
        versions = {(board.ground_truth_id, board.scorer) for board in boards}
        if result_id is not None and versions != {(truth.id, scoring.SCORER)}:
            raise ConflictError(
                "there is a newer ground truth or scorer; score the whole phase again instead"
            )
        rescore = Rescore(
            phase_id=phase_id,
            result_id=result_id,
            ground_truth_id=truth.id,
            scorer=scoring.SCORER,
            requested_by=actor.user_id if actor else None,
        )
        session.add(rescore)
        session.flush()
        count = queue_missing_runs(session, rescore)
        if result_id is not None and not count:
            raise ConflictError(f"result {result_id} has no score any more")
        _record(session, actor, "rescore.request", rescore, challenge_id, runs=count)
    platform.cache.forget_versions()
    log.info("rescore requested", rescore=rescore.id, runs=count)
    platform.notifier.wake_workers(count=min(count, platform.settings.workers))
    return rescore.id


def request_entry(
    platform: Platform, actor: Actor | None, result_id: int, phase_id: int | None = None
) -> int | None:
    """Score one result again; the id of the re-scoring, none for a result without a score, which is queued as at first.

    actor: None for the command line; phase_id: where the result has to be. Raises NotFoundError, and ConflictError as
    `request` does and for a result that waits already or may have no score.
    """
    with platform.transaction() as session:
        place = phase_of_result(session, actor, result_id)
    if place is None or phase_id not in (None, place):
        raise NotFoundError(f"there is no result {result_id}" + (" in this phase" if place else ""))
    if not _queue_without_result(platform, actor, result_id):
        return request(platform, actor, place, result_id=result_id)
    platform.cache.forget_versions()
    log.info("result queued again", result=result_id)
    platform.notifier.wake_workers()
    return None


def _queue_without_result(platform: Platform, actor: Actor | None, result_id: int) -> bool:
    """Queue a result again that was refused or has failed; False for one with a score."""
    try:
        with platform.transaction() as session:
            result = locked_result(session, result_id)
            if result.state is ResultState.SCORED:
                return False
            if refusal := rescore_refusal(result.state):
                raise ConflictError(f"result {result_id} {refusal}")
            if has_other_result(session, result):
                raise ConflictError(
                    f"result {result_id} cannot be scored: its method has another result by now"
                )
            audit.record(
                session,
                actor.user_id if actor else None,
                "result.rescore",
                f"result {result_id}",
                challenge_id=challenge_of_phase(session, result.phase_id),
                before={"state": result.state.value},
                after={"state": ResultState.PENDING.value},
            )
            result.state = ResultState.PENDING
            session.flush()
            queue_result(session, result_id)
    except IntegrityError as error:
        is_slot = violated_constraint(error) == "uq_result_extra_slot"
        reason = "its extra slot was used for" if is_slot else "its method has"
        raise ConflictError(
            f"result {result_id} cannot be scored: {reason} another result{'' if is_slot else ' by now'}"
        ) from error
    return True


def _organised_challenge(session: Session, actor: Actor | None, phase_id: int, missing: str) -> int:
    """The challenge of a phase, which the actor organises or the command line names; else NotFoundError."""
    phase = challenges.phase_of_id(session, phase_id)
    if phase is None or not (actor is None or actor.runs(phase.challenge_id)):
        raise NotFoundError(missing)
    return phase.challenge_id


def _record(
    session: Session, actor: Actor | None, action: str, rescore: Rescore, challenge_id: int, **details: int
) -> None:
    facts = {"phase": rescore.phase_id, "result": rescore.result_id, **details}
    by = actor.user_id if actor else None
    audit.record(session, by, action, f"re-scoring {rescore.id}", challenge_id=challenge_id, details=facts)


def activate_complete(platform: Platform) -> int:
    """Switch the boards of every re-scoring that is complete; returns how many were switched.

    Safe at any time and from several workers. While runs are missing this is one look at an index.
    """
    with platform.transaction() as session:
        waiting = {number: is_waiting(session, number) for number in open_rescore_ids(session)}
    return sum(_activate_if_complete(platform, number) for number, waits in waiting.items() if not waits)


def _activate_if_complete(platform: Platform, rescore_id: int) -> bool:
    with platform.transaction() as session:
        rescore = locked_rescore(session, rescore_id)
        if rescore is None or is_waiting(session, rescore_id):
            return False
        late = queue_missing_runs(session, rescore)  # of results that reached the boards meanwhile
        if not late:
            _activate(session, rescore)
    if late:
        platform.notifier.wake_workers()
    return not late


def _activate(session: Session, rescore: Rescore) -> None:
    """Switch the boards to the new runs and versions; a reader sees the old board or the new one, nothing between."""
    if rescore.result_id is None:
        switch_boards(session, rescore)
        move_queued_runs(session, rescore.phase_id)
    ladder.carry_over(session, rescore.id)
    count = recording.publish(session, Run.rescore_id == rescore.id)
    kept = recording.keep(session, rescore.id)
    rescore.activated_at = func.clock_timestamp()
    log.info("rescore activated", rescore=rescore.id, runs=count, kept=kept)


def queue_outdated(platform: Platform) -> int:
    """Queue runs for results that raced a switch and do not stand on their board; returns how many."""
    with platform.transaction() as session:
        count = queue_outdated_results(session)
    if count:
        log.info("outdated results queued", runs=count)
        platform.notifier.wake_workers()
    return count


def decide(platform: Platform, actor: Actor, run_id: int, choice: Choice, reason: str = "") -> None:
    """Decide about a result that a re-scoring could not score: keep its old score, withdraw it, or try again.

    The boards switch by themselves with the next sweep after the last decision.
    Raises NotFoundError for a run that waits for no decision, MalformedError for a withdrawal without a reason.
    """
    with platform.transaction() as session:
        run = locked_undecided_run(session, actor, run_id)
        if run is None or run.rescore_id is None:
            raise NotFoundError(f"no run {run_id} waits for a decision")
        result_id = run.result_id
        if choice is Choice.KEEP:
            run.decision, run.decision_reason, run.decided_by = Decision.KEEP, reason, actor.user_id
            audit.record(
                session,
                actor.user_id,
                "rescore.keep",
                f"result {result_id}",
                challenge_id=challenge_of_rescore(session, run.rescore_id),
                reason=reason,
                details={"run": run_id, "rescore": run.rescore_id},
            )
        elif choice is Choice.RETRY:
            requeue_unscored(session, run.rescore_id, run_id)
    if choice is Choice.WITHDRAW:
        withdrawing.withdraw(platform, actor, result_id, reason)
    platform.notifier.wake_workers()


def retry(platform: Platform, actor: Actor, rescore_id: int) -> int:
    """Queue what was refused or failed in a re-scoring again; returns how many runs.

    Raises NotFoundError when it is not under way any more, or not in a challenge that the actor organises.
    """
    with platform.transaction() as session:
        rescore, challenge_id = _open_rescore(session, actor, rescore_id)
        count = requeue_unscored(session, rescore_id)
        _record(session, actor, "rescore.retry", rescore, challenge_id, runs=count)
    platform.notifier.wake_workers()
    return count


def abandon(platform: Platform, actor: Actor, rescore_id: int) -> None:
    """Drop a re-scoring; the boards stay as they are.

    Raises NotFoundError when it is not under way any more, or not in a challenge that the actor organises.
    """
    with platform.transaction() as session:
        rescore, challenge_id = _open_rescore(session, actor, rescore_id)
        _record(session, actor, "rescore.abandon", rescore, challenge_id)
        rescore.abandoned_at = func.clock_timestamp()
        abandon_runs(session, rescore_id, "the re-scoring was abandoned")
    platform.cache.forget_versions()


def _open_rescore(session: Session, actor: Actor, rescore_id: int) -> tuple[Rescore, int]:
    """An open re-scoring that the actor may end, with the id of its challenge."""
    missing = f"there is no open re-scoring {rescore_id}"
    rescore = locked_rescore(session, rescore_id)
    if rescore is None:
        raise NotFoundError(missing)
    return rescore, _organised_challenge(session, actor, rescore.phase_id, missing)
