"""Re-scoring: score results again in the background, then switch all boards at once."""

import enum
from collections.abc import Collection
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
from sqlalchemy.orm import Session, aliased, joinedload

import heldout_scoring
from app.challenges import challenges, news, versions
from app.challenges.challenges import organised_by
from app.core import audit
from app.core.access import Actor
from app.core.database import violated_constraint
from app.core.errors import ConflictError, NotFoundError
from app.core.paging import RowPage, page_of
from app.evaluation.changed_scores import record_changed_scores
from app.evaluation.scoring import ENDED
from app.images import making
from app.images.making import UnusedContents
from app.jobs import events, queue
from app.models import (
    Board,
    Decision,
    EventKind,
    GroundTruth,
    Intake,
    IntakeState,
    Job,
    Method,
    Phase,
    Rescore,
    Result,
    ResultState,
    Run,
    RunState,
)
from app.platform import Platform
from app.results import ladder, recording, withdrawing

log = structlog.get_logger()


class RescoreChoice(enum.StrEnum):
    """The options of an organiser for a result that a re-scoring could not score."""

    KEEP = "keep"  # the old score stays on the board, marked as outdated
    WITHDRAW = "withdraw"
    RETRY = "retry"


@dataclass(frozen=True, slots=True)
class UndecidedCursor:
    """Which page of a re-scoring's undecided runs to show: those after this run."""

    rescore: int
    run: int


@dataclass(frozen=True, slots=True)
class UndecidedRun:
    """A run that a re-scoring could not score. The boards switch once all of these are decided."""

    run: int
    result: int
    submission: int
    competition: int
    method: str
    state: RunState
    failure_message: str | None


@dataclass(frozen=True, slots=True)
class RescoreView:
    """The progress of a re-scoring."""

    id: int
    total: int
    done: int
    failed: int  # could not be scored and are not decided yet
    created_at: datetime
    undecided: tuple[UndecidedRun, ...] = ()  # one page of them
    next: int | None = None  # the last run of the page, None if it is the last page


def rescore_refusal(state: ResultState) -> str | None:
    """Return why a result in this state cannot be scored again, or None if it can.

    >>> rescore_refusal(ResultState.WITHDRAWN), rescore_refusal(ResultState.FAILED)
    ('was withdrawn', None)
    """
    return {
        ResultState.PENDING: "is not scored yet; it is in the queue",
        ResultState.WITHDRAWN: "was withdrawn",
        ResultState.REPLACED: "was replaced by a newer result of its method",
    }.get(state)


MOST_UNDECIDED = 50  # runs per page
UNFINISHED = (RunState.QUEUED, RunState.RUNNING)
UNSCORED = (RunState.REFUSED, RunState.FAILED)
NEW_RUN_COLUMNS = ("result_id", "rescore_id", "ground_truth_id", "protocol", "scorer", "team_id")


def open_rescore_ids(session: Session) -> list[int]:
    """List re-scorings that have neither switched their boards nor been abandoned."""
    statement = select(Rescore.id).where(Rescore.activated_at.is_(None), Rescore.abandoned_at.is_(None))
    return list(session.scalars(statement.order_by(Rescore.id)))


def lock_open_rescore(session: Session, rescore_id: int) -> Rescore | None:
    """Load and lock a re-scoring that is still in progress."""
    statement = select(Rescore).where(
        Rescore.id == rescore_id, Rescore.activated_at.is_(None), Rescore.abandoned_at.is_(None)
    )
    return session.scalar(statement.with_for_update())


def has_open_rescore(session: Session, phase_id: int) -> bool:
    """Whether a re-scoring of the phase is in progress."""
    statement = select(Rescore.id).where(
        Rescore.phase_id == phase_id, Rescore.activated_at.is_(None), Rescore.abandoned_at.is_(None)
    )
    return session.scalar(statement.limit(1)) is not None


def lock_boards(session: Session, phase_id: int) -> list[Board]:
    """Lock all boards of a phase, always in the same order."""
    statement = select(Board).where(Board.phase_id == phase_id).order_by(Board.competition).with_for_update()
    return list(session.scalars(statement))


def queue_missing_runs(session: Session, rescore: Rescore) -> int:
    """Queue a run for every result on the boards that has no run of this re-scoring yet. Returns the number of runs."""
    existing = aliased(Run)
    has_run = exists().where(existing.result_id == Result.id, existing.rescore_id == rescore.id)
    new_runs = (
        select(
            Result.id, literal(rescore.id), literal(rescore.ground_truth_id), Board.protocol,
            literal(rescore.scorer), Method.team_id,
        )
        .join(Result.method)
        .join(Board, (Board.phase_id == Result.phase_id) & (Board.competition == Result.competition))
        .where(
            Result.phase_id == rescore.phase_id,
            Result.state == ResultState.SCORED,
            Result.id == rescore.result_id if rescore.result_id is not None else true(),
            ~has_run,
        )
        .order_by(Result.id)
    )  # fmt: skip
    return _queue(session, new_runs)


def _queue(session: Session, new_runs: Select[*tuple[Any, ...]]) -> int:
    """Insert and queue the selected runs. Returns their number."""
    runs = session.scalars(insert(Run).from_select(NEW_RUN_COLUMNS, new_runs).returning(Run.id)).all()
    queue.add_runs(session, runs)
    return len(runs)


def queue_outdated_results(session: Session) -> int:
    """Queue a run for every result that is missing from its board because the board has switched versions.

    These are results that were recorded during a switch, and results whose only run ended under the previous versions. Results
    that were refused or failed under the new versions are left alone. Returns the number of runs.
    """
    existing = aliased(Run)
    is_covered = exists().where(
        existing.result_id == Result.id,
        or_(
            existing.state.in_(UNFINISHED),
            and_(
                existing.rescore_id.is_(None),
                existing.state.in_(UNSCORED),
                existing.ground_truth_id == Board.ground_truth_id,
                existing.scorer == Board.scorer,
            ),
        ),
    )
    is_outdated = or_(
        Result.state == ResultState.PENDING,
        and_(Result.state == ResultState.SCORED, Result.published_generation < Board.generation),
    )
    return _queue_ordinary_runs(session, is_outdated, ~is_covered)


def _queue_ordinary_runs(session: Session, *conditions: ColumnElement[bool]) -> int:
    """Queue a run for each of these results under the versions of its board, as for a new submission. Returns their number."""
    new_runs = (
        select(
            Result.id, null(), Board.ground_truth_id, Board.protocol, Board.scorer, Method.team_id,
        )
        .join(Result.method)
        .join(Board, (Board.phase_id == Result.phase_id) & (Board.competition == Result.competition))
        .where(*conditions)
    )  # fmt: skip
    return _queue(session, new_runs)


def queue_result(session: Session, result_id: int) -> None:
    """Queue a run of one result."""
    _queue_ordinary_runs(session, Result.id == result_id)


def lock_result(session: Session, result_id: int) -> Result:
    """Load and lock an existing result."""
    return session.get_one(Result, result_id, with_for_update=True)


def has_other_result(session: Session, result: Result) -> bool:
    """Whether the method of a result has another result in the same competition, scored or pending."""
    statement = select(Result.id).where(
        Result.id != result.id,
        Result.method_id == result.method_id,
        Result.phase_id == result.phase_id,
        Result.competition == result.competition,
        Result.state.in_((ResultState.PENDING, ResultState.SCORED)),
    )
    return session.scalar(statement.limit(1)) is not None


def _is_open(rescore_id: int) -> ColumnElement[bool]:
    """The condition for runs that a re-scoring waits for: unfinished, or awaiting an organiser's decision."""
    return and_(Run.rescore_id == rescore_id, Run.state.in_((*UNFINISHED, *UNSCORED)), Run.decision.is_(None))


def is_waiting(session: Session, rescore_id: int) -> bool:
    """Whether a re-scoring still waits for a run or for an organiser's decision."""
    return session.scalar(select(Run.id).where(_is_open(rescore_id)).limit(1)) is not None


def announce_new_truth(session: Session, rescore: Rescore) -> None:
    """Announce the ground truth of a re-scoring, unless the boards already use it."""
    truth, phase = (
        session.get_one(GroundTruth, rescore.ground_truth_id),
        session.get_one(Phase, rescore.phase_id),
    )
    is_old = exists().where(Board.phase_id == phase.id, Board.ground_truth_id != truth.id)
    if session.scalar(select(is_old)):
        news.announce_ground_truth(session, phase.challenge_id, phase.image_set, truth.version)


def move_queued_runs(session: Session, phase_id: int) -> int:
    """Move queued runs to the current versions of their boards. Returns the number of runs.

    Under an old scorer version they would wait forever once no worker runs that version.
    """
    waiting = (
        select(Run.id, Job.id.label("job"), Job.turn, Board.ground_truth_id, Board.scorer)
        .join(Job, Job.run_id == Run.id)
        .join(Run.result)
        .join(Board, (Board.phase_id == Result.phase_id) & (Board.competition == Result.competition))
        .where(
            Result.phase_id == phase_id,
            queue.is_waiting(),
            Run.rescore_id.is_(None),
            or_(Run.ground_truth_id != Board.ground_truth_id, Run.scorer != Board.scorer),
        )
        .with_for_update(of=Job, skip_locked=True)  # the sweep queues a new run for one that is being claimed
        .cte("waiting")
        .prefix_with("MATERIALIZED")
    )
    first = select(func.min(waiting.c.turn)).scalar_subquery()
    moved = (
        update(Job)
        .where(Job.id == waiting.c.job)
        .values(
            scorer=waiting.c.scorer,
            turn=waiting.c.turn - first,  # each scorer version counts its own rounds
            damaged_content_id=None,  # the damage may concern the previous ground truth
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
    """End the unfinished runs of an abandoned re-scoring. Running ones lose their claim."""
    unfinished = (Run.rescore_id == rescore_id, Run.state.in_(UNFINISHED))
    queue.delete_runs(session, *unfinished)
    values = {"state": RunState.ABANDONED, "failure_message": message, "finished_at": func.clock_timestamp()}
    session.execute(update(Run).where(*unfinished).values(values))


def requeue_undecided_runs(session: Session, rescore_id: int, run_id: int | None = None) -> int:
    """Queue all undecided runs of a re-scoring again, or one. Returns their number. Attempt counts are kept."""
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


def open_rescores(
    session: Session, phases: Collection[int], following: UndecidedCursor | None = None
) -> dict[int, RescoreView]:
    """Return the progress of the latest open re-scoring of each of these phases, with a page of its undecided runs.

    following: which page to show for which re-scoring; the first page by default.
    """
    statement = (  # counts all runs, finished runs, and unscored runs without a decision
        select(
            Rescore,
            func.count(Run.id).label("total"),
            func.count().filter(Run.state.in_(ENDED)).label("done"),
            func.count().filter(Run.state.in_(UNSCORED), Run.decision.is_(None)).label("failed"),
        )
        .outerjoin(Run, Run.rescore_id == Rescore.id)
        .where(Rescore.phase_id.in_(phases), Rescore.activated_at.is_(None), Rescore.abandoned_at.is_(None))
        .group_by(Rescore.id)
        .order_by(Rescore.id)
    )
    views = {}
    for row in session.execute(statement):
        rescore = row[0]
        after = following.run if following and following.rescore == rescore.id else 0
        page = undecided_runs(session, rescore.id, after)
        views[rescore.phase_id] = RescoreView(
            id=rescore.id,
            total=row.total,
            done=row.done,
            failed=row.failed,
            created_at=rescore.created_at,
            undecided=page.rows,
            next=page.next,
        )
    return views


def undecided_runs(session: Session, rescore_id: int, after: int) -> RowPage[UndecidedRun]:
    """Return a page of the runs of a re-scoring that await a decision."""
    statement = (
        select(Run)
        .options(joinedload(Run.result).joinedload(Result.method).load_only(Method.name))
        .where(_is_open(rescore_id), Run.state.in_(UNSCORED), Run.id > after)
        .order_by(Run.id)
        .limit(MOST_UNDECIDED + 1)
    )
    rows = [
        UndecidedRun(
            run=run.id,
            result=run.result_id,
            submission=run.result.submission_id,
            competition=run.result.competition,
            method=run.result.method.name,
            state=run.state,
            failure_message=run.failure_message,
        )
        for run in session.scalars(statement)
    ]
    return page_of(rows, MOST_UNDECIDED, number=lambda row: row.run)


def lock_undecided_run(session: Session, actor: Actor, run_id: int) -> Run | None:
    """Load and lock a run of an open re-scoring that awaits the actor's decision."""
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


def organised_phase_of_result(session: Session, actor: Actor | None, result_id: int) -> int | None:
    """Return the phase of a result if the actor organises it. actor: None for the command line."""
    statement = select(Phase.id).join(Result, Result.phase_id == Phase.id)
    is_organised = organised_by(actor) if actor else true()
    return session.scalar(statement.where(Result.id == result_id, is_organised))


def challenge_of_phase(session: Session, phase_id: int) -> int:
    """Return the id of a phase's challenge."""
    return session.get_one(Phase, phase_id).challenge_id


def challenge_of_rescore(session: Session, rescore_id: int) -> int | None:
    """Return the id of a re-scoring's challenge."""
    statement = select(Phase.challenge_id).join(Rescore, Rescore.phase_id == Phase.id)
    return session.scalar(statement.where(Rescore.id == rescore_id))


def rescore_phase(
    platform: Platform, actor: Actor | None, phase_id: int, *, result_id: int | None = None
) -> int:
    """Start to score a phase's results, or one of them, again under its newest ground truth and this scorer.

    actor: None for the command line. Returns the id of the re-scoring. Raises NotFoundError if the actor does not organise the
    phase or it has no ground truth. Raises ConflictError if the phase is already being scored again, a worker is applying a data set
    to it, or its newest version lacks a competition with a board; for a single result, if it has no score or would get another ground
    truth or scorer than the rest of its board.
    """
    with platform.transaction() as session:
        phase = (
            challenges.require_phase(session, actor, phase_id)
            if actor
            else challenges.find_phase_of_id(session, phase_id)
        )
        boards = lock_boards(session, phase_id)
        truth = challenges.newest_truth(session, phase_id)
        if truth is None:
            raise NotFoundError("this phase has no ground truth; import it first")
        if _is_being_applied(session, phase_id):
            raise ConflictError(
                "a worker is applying a data set to this phase; score it again once that is done, or the scores would be"
                " those of the version before"
            )
        lost = [
            f"comp{board.competition}: {reason}"
            for board in boards
            if (reason := (truth.not_offered or {}).get(str(board.competition)))
        ]
        if lost:
            raise ConflictError(
                f"version {truth.version} lacks what competitions with a board need ({'; '.join(lost)}); apply annotation"
                " that has it first"
            )
        if has_open_rescore(session, phase_id):
            raise ConflictError(
                "this phase is already being scored again; wait until it is done, or abandon the re-scoring"
            )
        versions = {(board.ground_truth_id, board.scorer) for board in boards}
        if result_id is not None and versions != {(truth.id, heldout_scoring.SCORER)}:
            raise ConflictError(
                "there is a newer ground truth or scorer; score the whole phase again instead"
            )
        rescore = Rescore(
            phase_id=phase_id,
            result_id=result_id,
            ground_truth_id=truth.id,
            scorer=heldout_scoring.SCORER,
            requested_by=actor.user_id if actor else None,
        )
        session.add(rescore)
        session.flush()
        count = queue_missing_runs(session, rescore)
        if result_id is not None and not count:
            raise ConflictError(f"result {result_id} no longer has a score")
        _record(session, actor, "rescore.request", rescore, phase.challenge_id, runs=count)
    platform.cache.expire_versions()
    log.info("rescore requested", rescore=rescore.id, runs=count)
    platform.notifier.wake_workers(count=min(count, platform.settings.workers))
    return rescore.id


def _is_being_applied(session: Session, phase_id: int) -> bool:
    """Whether a worker applies a data set to this phase, or soon will."""
    phase = session.get_one(Phase, phase_id)
    requests = session.scalars(
        select(Intake.request).where(
            Intake.challenge_id == phase.challenge_id, Intake.state == IntakeState.APPLYING
        )
    )
    return any(
        each["phase"] == phase.image_set
        for asked in requests
        if asked
        for each in (asked, *asked.get("then", ()))
    )


def rescore_one_result(
    platform: Platform, actor: Actor | None, result_id: int, phase_id: int | None = None
) -> int | None:
    """Score one result again.

    A result without a score is queued like a new submission, and None is returned; otherwise the id of the re-scoring. actor:
    None for the command line; phase_id: the phase that the result must belong to, if given. Raises NotFoundError, and
    ConflictError as `rescore_phase` does or if the result is already queued or cannot be scored.
    """
    with platform.transaction() as session:
        own_phase = organised_phase_of_result(session, actor, result_id)
    if own_phase is None or phase_id not in (None, own_phase):
        raise NotFoundError(f"there is no result {result_id}" + (" in this phase" if own_phase else ""))
    if not _queue_unscored_result(platform, actor, result_id):
        return rescore_phase(platform, actor, own_phase, result_id=result_id)
    platform.cache.expire_versions()
    log.info("result queued again", result=result_id)
    platform.notifier.wake_workers()
    return None


def _queue_unscored_result(platform: Platform, actor: Actor | None, result_id: int) -> bool:
    """Queue a refused or failed result again. Returns False if the result has a score."""
    try:
        with platform.transaction() as session:
            result = lock_result(session, result_id)
            if result.state is ResultState.SCORED:
                return False
            if refusal := rescore_refusal(result.state):
                raise ConflictError(f"result {result_id} {refusal}")
            if has_other_result(session, result):
                raise ConflictError(f"result {result_id} cannot be scored: its method now has another result")
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
        reason = "its extra slot was used for" if is_slot else "its method now has"
        raise ConflictError(f"result {result_id} cannot be scored: {reason} another result") from error
    return True


def _record(
    session: Session, actor: Actor | None, action: str, rescore: Rescore, challenge_id: int, **details: int
) -> None:
    facts = {"phase": rescore.phase_id, "result": rescore.result_id, **details}
    by = actor.user_id if actor else None
    audit.record(session, by, action, f"re-scoring {rescore.id}", challenge_id=challenge_id, details=facts)


def activate_complete(platform: Platform) -> int:
    """Switch the boards of every complete re-scoring. Returns the number of re-scorings.

    Safe at any time and from several workers. If no re-scoring is complete, this takes only one index lookup each.
    """
    with platform.transaction() as session:
        waiting = {number: is_waiting(session, number) for number in open_rescore_ids(session)}
    return sum(_activate_if_complete(platform, number) for number, waits in waiting.items() if not waits)


def _activate_if_complete(platform: Platform, rescore_id: int) -> bool:
    with platform.transaction() as session:
        truth_id = session.get_one(Rescore, rescore_id).ground_truth_id
    if not versions.describe(platform, truth_id):
        return False  # the sweep of a process that can describe it switches the boards
    with platform.transaction() as session:
        rescore = lock_open_rescore(session, rescore_id)
        if rescore is None or is_waiting(session, rescore_id):
            return False
        late = queue_missing_runs(session, rescore)  # for results published since the re-scoring started
        unused = None if late else _activate(session, rescore)
    if late:
        platform.notifier.wake_workers()
    if unused:
        unused.remove(platform)
    return not late


def _activate(session: Session, rescore: Rescore) -> UnusedContents | None:
    """Switch the boards to the new runs and versions. Readers see either the old board or the new one.

    Returns what is left of images that came to an end with it.
    """
    unused = None
    if rescore.result_id is None:
        announce_new_truth(session, rescore)
        unused = _switch_boards(session, rescore)
        move_queued_runs(session, rescore.phase_id)
    ladder.carry_over(session, rescore.id)
    told = record_changed_scores(session, rescore)
    count = recording.publish(session, Run.rescore_id == rescore.id)
    kept = recording.keep(session, rescore.id)
    rescore.activated_at = func.clock_timestamp()
    if rescore.result_id is None:
        _record_truth_in_use(session, rescore)
    log.info("rescore activated", rescore=rescore.id, runs=count, kept=kept, teams=told)
    return unused


def _switch_boards(session: Session, rescore: Rescore) -> UnusedContents:
    """Switch all boards of a phase, its images and what is public of it to the versions of a re-scoring.

    Confirmations lock the phase, too: each is decided before the switch or after it.
    """
    phase = challenges.lock_phase(session, rescore.phase_id)
    truth = session.get_one(GroundTruth, rescore.ground_truth_id, populate_existing=True)
    before = versions.shown_truth(session, phase.id)
    versions.show(session, phase, truth, rescore.scorer)
    audit.record(
        session, rescore.requested_by, "rescore.switch", f"phase {phase.id}", challenge_id=phase.challenge_id,
        before={"version": before and before.version}, after={"version": truth.version},
        details={"rescore": rescore.id, "scorer": rescore.scorer},
    )  # fmt: skip
    return making.show_next(session, phase.id)


def _record_truth_in_use(session: Session, rescore: Rescore) -> None:
    """Record for organisers that the boards now use the ground truth of a re-scoring."""
    events.record(
        session,
        EventKind.TRUTH_READY,
        challenge_id=challenge_of_phase(session, rescore.phase_id),
        phase_id=rescore.phase_id,
        version=session.get_one(GroundTruth, rescore.ground_truth_id).version,
        is_shown=True,
    )


def queue_outdated(platform: Platform) -> int:
    """Queue runs for results that a switch left off their boards. Returns the number of runs."""
    with platform.transaction() as session:
        count = queue_outdated_results(session)
    if count:
        log.info("outdated results queued", runs=count)
        platform.notifier.wake_workers()
    return count


def decide(platform: Platform, actor: Actor, run_id: int, choice: RescoreChoice, reason: str = "") -> None:
    """Decide on a result that a re-scoring could not score: keep its old score, withdraw it, or retry.

    The first sweep after the last decision switches the boards. Raises NotFoundError if the run awaits no decision,
    MalformedError for a withdrawal without a reason.
    """
    with platform.transaction() as session:
        run = lock_undecided_run(session, actor, run_id)
        if run is None or run.rescore_id is None:
            raise NotFoundError(f"there is no run {run_id} that awaits a decision")
        result_id = run.result_id
        if choice is RescoreChoice.KEEP:
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
        elif choice is RescoreChoice.RETRY:
            requeue_undecided_runs(session, run.rescore_id, run_id)
    if choice is RescoreChoice.WITHDRAW:
        withdrawing.withdraw(platform, actor, result_id, reason)
    platform.notifier.wake_workers()


def retry(platform: Platform, actor: Actor, rescore_id: int) -> int:
    """Queue all refused and failed runs of a re-scoring again. Returns their number.

    Raises NotFoundError if it is no longer in progress or the actor does not organise its challenge.
    """
    with platform.transaction() as session:
        rescore, challenge_id = _open_rescore(session, actor, rescore_id)
        count = requeue_undecided_runs(session, rescore_id)
        _record(session, actor, "rescore.retry", rescore, challenge_id, runs=count)
    platform.notifier.wake_workers()
    return count


def abandon(platform: Platform, actor: Actor, rescore_id: int) -> None:
    """Abandon a re-scoring. The boards stay as they are.

    Raises NotFoundError if it is no longer in progress or the actor does not organise its challenge.
    """
    with platform.transaction() as session:
        rescore, challenge_id = _open_rescore(session, actor, rescore_id)
        _record(session, actor, "rescore.abandon", rescore, challenge_id)
        rescore.abandoned_at = func.clock_timestamp()
        abandon_runs(session, rescore_id, "the re-scoring was abandoned")
    platform.cache.expire_versions()


def _open_rescore(session: Session, actor: Actor, rescore_id: int) -> tuple[Rescore, int]:
    """Lock an open re-scoring that the actor organises. Returns it with the id of its challenge."""
    rescore = lock_open_rescore(session, rescore_id)
    phase = challenges.phase_of_id(session, rescore.phase_id) if rescore else None
    if rescore is None or phase is None or not actor.organises_challenge(phase.challenge_id):
        raise NotFoundError(f"there is no open re-scoring {rescore_id}")
    return rescore, phase.challenge_id
