"""Recording results. Only this module puts results on boards and takes them off."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import (
    CTE,
    BigInteger,
    Cast,
    ColumnElement,
    Integer,
    SQLColumnExpression,
    Subquery,
    Update,
    and_,
    case,
    cast,
    exists,
    func,
    insert,
    literal,
    null,
    or_,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session, aliased

from app.challenges.disclosure import HELD_OUT_DECIMALS
from app.jobs import queue
from app.models import (
    Board,
    Challenge,
    ChallengeOrganiser,
    ChallengeRole,
    ChallengeVisibility,
    ClassScore,
    Decision,
    JobKind,
    Method,
    Phase,
    Publication,
    Result,
    ResultState,
    Role,
    Run,
    RunState,
    Submission,
    User,
)
from app.results import outcomes
from app.submissions.methods import SHOWN_STATES

# created once: an alias costs more than the rest of a statement
OTHER_RESULT, PLACED_RESULT, PUBLISHED_RESULT = aliased(Result), aliased(Result), aliased(Result)
NO_RUN: Final[Cast[int | None]] = cast(null(), BigInteger)


def publish(session: Session, *which: ColumnElement[bool]) -> int:
    """Put the scored runs that match the conditions on Run on their boards. Return how many.

    Skips runs with other versions than their board's, and withdrawn results. The board's row is read without a lock: a
    concurrent switch raises its generation, so results published under the earlier one are not on the board
    (`is_on_board`). If the annotation is public, a newer result replaces the one before.
    """
    placed = _placed(Run.state == RunState.SCORED, *which)
    _replace_older(session, placed)
    statement = (
        update(Result)
        .where(
            Result.id == placed.c.result_id,
            Result.state.in_((ResultState.PENDING, ResultState.SCORED)),
            *_fits_board(placed),
        )
        .values(
            state=ResultState.SCORED,
            published_run_id=placed.c.run_id,
            published_generation=Board.generation,
            rank_key=_rank_key(placed.c.run_id),
            ladder_rank_key=case(
                (placed.c.ladder_run_id.is_not(None), _rank_key(placed.c.ladder_run_id)), else_=None
            ),
        )
    )
    return _append(session, statement)


def _rank_key(run: ColumnElement[int]) -> ColumnElement[int]:
    """Return a run's mean as an integer, rounded as shown, so that no order reveals more digits; -1 without a mean."""
    shown = func.round(ClassScore.held_out_value * 10**HELD_OUT_DECIMALS)
    headline = ClassScore.run_id == run, ClassScore.class_name.is_(None)
    return func.coalesce(select(cast(shown, Integer)).where(*headline).scalar_subquery(), -1)


def _fits_board(placed: CTE) -> tuple[ColumnElement[bool], ...]:
    """Whether a run has the versions of its board."""
    return (
        Board.phase_id == placed.c.phase_id,
        Board.competition == placed.c.competition,
        Board.ground_truth_id == placed.c.ground_truth_id,
        Board.scorer == placed.c.scorer,
        Board.protocol == placed.c.protocol,
    )


def _replace_older(session: Session, placed: CTE) -> None:
    """Mark a method's results as replaced that newer ones are about to replace. Their runs stay readable."""
    older = (
        update(Result)
        .where(
            OTHER_RESULT.id == placed.c.result_id,
            OTHER_RESULT.state == ResultState.PENDING,
            OTHER_RESULT.method_id == Result.method_id,
            OTHER_RESULT.phase_id == Result.phase_id,
            OTHER_RESULT.competition == Result.competition,
            Result.state == ResultState.SCORED,
            Result.is_replaceable,
            *_fits_board(placed),
        )
        .values(state=ResultState.REPLACED)
    )
    _append(session, older, NO_RUN)


def keep(session: Session, rescore_id: int) -> int:
    """Keep on the boards the results that a re-scoring could not score and an organiser chose to keep. Return how many."""
    placed = _placed(Run.rescore_id == rescore_id, Run.decision == Decision.KEEP)
    statement = (
        update(Result)
        .where(
            Result.id == placed.c.result_id,
            Result.state == ResultState.SCORED,
            Board.phase_id == placed.c.phase_id,
            Board.competition == placed.c.competition,
        )
        .values(published_generation=Board.generation)
    )
    return _append(session, statement)


def _placed(*which: ColumnElement[bool]) -> CTE:
    """Select runs with the phase and competition of their results.

    Materialised in two steps, because with old statistics the planner joins every run of a board with every result of it:
    for 10,000 results that takes more than a minute instead of a second.
    """
    runs = (
        select(
            Run.id.label("run_id"),
            Run.ladder_run_id,
            Run.result_id,
            Run.ground_truth_id,
            Run.scorer,
            Run.protocol,
        )
        .where(*which)
        .cte("runs")
        .prefix_with("MATERIALIZED")
    )
    return (
        select(runs, PLACED_RESULT.phase_id, PLACED_RESULT.competition)
        .join(PLACED_RESULT, PLACED_RESULT.id == runs.c.result_id)
        .cte("placed")
        .prefix_with("MATERIALIZED")
    )


def _append(
    session: Session, published: Update, run: SQLColumnExpression[int | None] = Result.published_run_id
) -> int:
    """Append a publication of `run` (None: taken off) for every result that an update changes. Return how many."""
    changed = published.returning(
        Result.phase_id, Result.competition, Result.id, run.label("run_id"), Result.published_generation
    ).cte("changed")
    columns = ("phase_id", "competition", "result_id", "run_id", "generation", "is_test", "by_organisers")
    statement = (
        insert(Publication)
        .from_select(columns, select(changed, is_test(changed.c.phase_id), by_organisers(changed.c.id)))
        .returning(Publication.phase_id, Publication.competition)
    )
    rows = session.execute(statement, execution_options={"synchronize_session": False}).all()
    for phase_id, competition in sorted(set(map(tuple, rows))):
        queue.add_board(session, phase_id, competition)
    return len(rows)


def is_test(phase_id: SQLColumnExpression[int]) -> ColumnElement[bool]:
    """Whether a publication in a phase is now of a test run, which is every one in a draft."""
    visibility = select(Challenge.visibility).join(Phase, Phase.challenge_id == Challenge.id)
    return visibility.where(Phase.id == phase_id).scalar_subquery() == ChallengeVisibility.DRAFT


def by_organisers(result_id: SQLColumnExpression[int]) -> ColumnElement[bool]:
    """Whether whoever submitted a result organises its challenge now, or is an admin."""
    submission = aliased(Submission)
    organises = exists().where(
        ChallengeOrganiser.challenge_id == Phase.challenge_id,
        ChallengeOrganiser.user_id == submission.user_id,
        ChallengeOrganiser.role != ChallengeRole.VIEWER,
    )
    is_admin = exists().where(User.id == submission.user_id, User.role == Role.ADMIN)
    return (
        select(or_(organises, is_admin))
        .select_from(PUBLISHED_RESULT)
        .join(submission, submission.id == PUBLISHED_RESULT.submission_id)
        .join(Phase, Phase.id == PUBLISHED_RESULT.phase_id)
        .where(PUBLISHED_RESULT.id == result_id)
        .scalar_subquery()
    )


def take_off_board(session: Session, result: Result) -> None:
    """End the publication of a result, if it has one. Its board's figures are redrawn in any case."""
    queue.add_board(session, result.phase_id, result.competition)
    if result.published_generation is not None:
        session.add(
            Publication(
                phase_id=result.phase_id,
                competition=result.competition,
                result_id=result.id,
                run_id=None,
                generation=result.published_generation,
                is_test=session.scalar(select(is_test(literal(result.phase_id)))),
                by_organisers=session.scalar(select(by_organisers(literal(result.id)))),
            )
        )
    result.published_run_id, result.published_generation = None, None


def end_without_result(session: Session, result_id: int, state: ResultState) -> None:
    """End a result whose run was refused or failed, unless it is on its board or withdrawn."""
    board = select(Board.generation).where(
        Board.phase_id == Result.phase_id, Board.competition == Result.competition
    )
    has_no_result = or_(
        Result.state == ResultState.PENDING,
        and_(
            Result.state == ResultState.SCORED,
            Result.published_generation != board.correlate(Result).scalar_subquery(),
        ),
    )
    session.execute(
        update(Result)
        .where(Result.id == result_id, has_no_result)
        .values(state=state, published_run_id=None, published_generation=None)
    )


@dataclass(frozen=True, slots=True)
class EndedRun:
    """A run that has ended, with the result that it is of. result_state: before the outcome is recorded."""

    state: RunState
    is_rescore: bool
    submission_id: int
    result_state: ResultState


def _ended(session: Session, run_id: int, result_id: int) -> EndedRun:
    statement = (
        select(Run.state, Run.rescore_id.is_not(None), Result.submission_id, Result.state)
        .join(Run.result)
        .where(Run.id == run_id, Result.id == result_id)
    )
    return EndedRun(*session.execute(statement).one())


def former_results(phase_id: int, competition: int, before: datetime) -> Subquery:
    """Select the results that were on a board at a moment, each with its run: result_id, run_id.

    A result counts if its last publication before that moment is of the newest generation of the board at the time. Results
    withdrawn since, and methods not public then, are left out.
    """
    of_board = (
        Publication.phase_id == phase_id, Publication.competition == competition, Publication.published_at < before
    )  # fmt: skip
    last = (
        select(Publication.result_id, Publication.run_id, Publication.generation)
        .ext(distinct_on(Publication.result_id))
        .where(*of_board)
        .order_by(Publication.result_id, Publication.id.desc())
        .subquery()
    )
    newest = select(func.max(Publication.generation)).where(*of_board).scalar_subquery()
    statement = (
        select(last.c.result_id, last.c.run_id)
        .join(Result, Result.id == last.c.result_id)
        .join(Result.method)
        .where(
            last.c.run_id.is_not(None), last.c.generation == newest,
            Result.state.in_(SHOWN_STATES), Method.public_at < before,
        )
    )  # fmt: skip
    return statement.subquery()


def is_no_preview(run: type[Run] = Run) -> ColumnElement[bool]:
    """Whether a run is more than a preview for organisers: an ordinary one, or one of a re-scoring that a board has shown."""
    shown = exists().where(Publication.result_id == run.result_id, Publication.run_id == run.id)
    return or_(run.rescore_id.is_(None), shown.correlate(run))


def current_results(phase_id: int, competition: int) -> Subquery:
    """Select the results on a board now, each with its run: result_id, run_id."""
    statement = (
        select(Result.id.label("result_id"), Result.published_run_id.label("run_id"))
        .join(Board, is_on_board())
        .where(Result.phase_id == phase_id, Result.competition == competition)
    )
    return statement.subquery()


def record_result(session: Session, result_id: int, run_id: int) -> None:
    """Record the outcome of a run: publish its score and queue the follow-up jobs.

    Call it in the transaction that ends the run and holds the lock on it. It then locks the result, but never the board. Runs
    of a re-scoring are published later, when their boards switch. A score under versions that the board no longer has is not
    published; the next sweep queues another run of the result.
    """
    run, owner = _ended(session, run_id, result_id), queue.owner_of_run(session, run_id)
    if run.state is RunState.SCORED:
        queue.add(session, JobKind.INTERVALS, {"run_id": run_id}, owner=owner)
    if run.state is RunState.FAILED:
        outcomes.record_failure(session, result_id)
    if run.is_rescore:
        return
    if run.state is RunState.SCORED:
        queue.add(session, JobKind.SIMILARITY, {"result_id": result_id}, owner=owner)
        publish(session, Run.id == run_id)
    else:
        end_without_result(session, result_id, ResultState(run.state.value))
    if _ended(session, run_id, result_id).result_state is not run.result_state:
        outcomes.record_outcome(session, run.submission_id)


def is_on_board(result: type[Result] = Result) -> ColumnElement[bool]:
    """Whether a result is on its board, for statements that join Result and Board."""
    return and_(
        Board.phase_id == result.phase_id,
        Board.competition == result.competition,
        Board.generation == result.published_generation,
        result.state == ResultState.SCORED,
    )
