"""Re-scoring: score results again in the background, then switch all boards at once.

For a new ground truth the new scores are a preview for organisers until one of them confirms it (`publishing`). Any other
re-scoring is confirmed from the start.
"""

import enum
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

import structlog
from sqlalchemy import (
    ColumnElement,
    Select,
    and_,
    delete,
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
from app.challenges.challenges import PhaseView, organised_by
from app.core import audit
from app.core.access import Actor, require_active
from app.core.database import violated_constraint
from app.core.errors import ConflictError, NotFoundError
from app.core.paging import RowPage, page_of
from app.evaluation import changed_scores
from app.images import making
from app.images.making import UnusedContents
from app.jobs import events, heartbeats, places, queue
from app.models import (
    Board,
    ClassScore,
    DamagedContent,
    Decision,
    EventKind,
    Exhibit,
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
    RunAnalysis,
    RunState,
    TruthCopy,
    Upload,
)
from app.platform import Platform
from app.results import ladder, recording, withdrawing
from app.submissions import retention, uploads

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
    """A run that a re-scoring could not score. The boards switch once all of these are decided.

    damaged: what must be repaired before it can be scored, such as a stored archive; None for one that was refused or failed.
    """

    run: int
    result: int
    submission: int
    competition: int
    method: str
    state: RunState
    failure_message: str | None
    damaged: str | None = None


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
    confirmed_at: datetime | None = (
        None  # None: the boards switch only when an organiser publishes the new scores
    )
    paused_at: datetime | None = None
    seconds: int | None = (
        None  # until the other runs are scored, as those before took; None if nobody can say
    )

    @property
    def has_preview(self) -> bool:
        """Whether every result is scored or decided, and an organiser has to publish or discard the new scores."""
        return self.confirmed_at is None and self.done == self.total and not self.failed

    @property
    def goes_on(self) -> bool:
        """Whether it changes by itself: runs are waited for or, after these, the switch of the boards."""
        return self.paused_at is None and (
            self.done < self.total or bool(self.confirmed_at and not self.failed)
        )


@dataclass(frozen=True, slots=True)
class RescorePlan:
    """What scoring a phase again would do. seconds: how long it would take; None if no worker of this version is alive.

    confirmed: whether the boards would switch by themselves, and not only when an organiser publishes the new scores.
    """

    runs: int
    seconds: int | None
    version: int  # of the ground truth that the results would be scored under
    shown: int  # the version that the boards show
    confirmed: bool


@dataclass(frozen=True, slots=True)
class Unscored:
    """How many results of a board a re-scoring has still to score. first: that were there when it started; late: that arrived since."""

    first: int
    late: int


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
OUTDATED_LOCK: Final = 0x4F55_5444  # advisory lock: one process at a time looks for outdated results
ABANDONED: Final = "the re-scoring was abandoned"
DAMAGED: Final = "it waited until damaged data on the server would be repaired"
UNSYNCHRONISED: Final = {"synchronize_session": False}
NEW_RUN_COLUMNS = ("result_id", "rescore_id", "ground_truth_id", "protocol", "scorer", "team_id")


def is_open() -> ColumnElement[bool]:
    """The condition for re-scorings that have neither switched their boards nor been abandoned."""
    return and_(Rescore.activated_at.is_(None), Rescore.abandoned_at.is_(None))


def open_rescore_ids(session: Session, *which: ColumnElement[bool]) -> list[int]:
    """List open re-scorings that match these conditions."""
    return list(session.scalars(select(Rescore.id).where(is_open(), *which).order_by(Rescore.id)))


def lock_open_rescore(session: Session, rescore_id: int) -> Rescore | None:
    """Load and lock a re-scoring that is still in progress."""
    statement = select(Rescore).where(Rescore.id == rescore_id, is_open())
    return session.scalar(statement.with_for_update().execution_options(populate_existing=True))


def has_open_rescore(session: Session, phase_id: int) -> bool:
    """Whether a re-scoring of the phase is in progress."""
    statement = select(Rescore.id).where(Rescore.phase_id == phase_id, is_open())
    return session.scalar(statement.limit(1)) is not None


def lock_boards(session: Session, phase_id: int) -> list[Board]:
    """Lock all boards of a phase, always in the same order."""
    statement = select(Board).where(Board.phase_id == phase_id).order_by(Board.competition).with_for_update()
    return list(session.scalars(statement))


def _is_scored_again(phase_id: int) -> ColumnElement[bool]:
    """The condition for results that a re-scoring of a phase scores: those on its boards, and withdrawn ones whose means these show."""
    is_step = and_(Result.state == ResultState.WITHDRAWN, ladder.is_step())
    return and_(Result.phase_id == phase_id, or_(Result.state == ResultState.SCORED, is_step))


def queue_missing_runs(session: Session, rescore: Rescore) -> int:
    """Queue a run for every result that is scored again and has no run of this re-scoring yet. Returns the number of runs."""
    new_runs = (
        select(
            Result.id, literal(rescore.id), literal(rescore.ground_truth_id), Board.protocol,
            literal(rescore.scorer), Method.team_id,
        )
        .join(Result.method)
        .join(Board, (Board.phase_id == Result.phase_id) & (Board.competition == Result.competition))
        .where(_lacks_run(rescore))
        .order_by(Result.id)
    )  # fmt: skip
    return _queue(session, new_runs)


def _lacks_run(rescore: Rescore) -> ColumnElement[bool]:
    """The condition for results that a re-scoring scores, and that have no run of it yet."""
    existing = aliased(Run)
    has_run = exists().where(existing.result_id == Result.id, existing.rescore_id == rescore.id)
    is_chosen = Result.id == rescore.result_id if rescore.result_id is not None else true()
    return and_(_is_scored_again(rescore.phase_id), is_chosen, ~has_run)


def unscored(session: Session, rescore: Rescore) -> dict[int, Unscored]:
    """Count, for each board, the results that an open re-scoring has still to score."""
    is_late = Run.queued_at > rescore.created_at
    runs = (
        select(Result.competition, func.count().filter(~is_late), func.count().filter(is_late))
        .join(Run.result)
        .where(Run.rescore_id == rescore.id, Run.state.in_(UNFINISHED))
        .group_by(Result.competition)
    )
    found = {competition: Unscored(first, late) for competition, first, late in session.execute(runs)}
    arrived = select(Result.competition, func.count()).where(_lacks_run(rescore)).group_by(Result.competition)
    for competition, count in session.execute(arrived):
        before = found.get(competition, Unscored(0, 0))
        found[competition] = replace(before, late=before.late + count)
    return found


def _queue(session: Session, new_runs: Select[*tuple[Any, ...]]) -> int:
    """Insert and queue the selected runs. Returns their number."""
    runs = session.scalars(insert(Run).from_select(NEW_RUN_COLUMNS, new_runs).returning(Run.id)).all()
    queue.add_runs(session, runs)
    return len(runs)


def queue_outdated_results(session: Session) -> int:
    """Queue a run for every result that is missing from its board because the board has switched versions.

    These are results that were recorded during a switch, and results whose only run ended under the previous versions. Results
    that were refused or failed under the new versions are left alone. Returns the number of runs; 0 if another process is
    queueing them, because neither sees the runs that the other one adds.
    """
    if not session.scalar(select(func.pg_try_advisory_xact_lock(OUTDATED_LOCK))):
        return 0
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


def _waits_for_repair() -> ColumnElement[bool]:
    """The condition for runs whose job waits until damaged content is repaired."""
    damaged = exists().where(Job.run_id == Run.id, Job.damaged_content_id.is_not(None)).correlate(Run)
    return and_(Run.state == RunState.QUEUED, damaged)


def _is_undecided() -> ColumnElement[bool]:
    """The condition for runs of a re-scoring that an organiser can decide about."""
    return and_(Run.decision.is_(None), or_(Run.state.in_(UNSCORED), _waits_for_repair()))


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


def discard_runs(session: Session, rescore_id: int) -> None:
    """End the runs of an abandoned re-scoring, and delete what was scored, also of results that were withdrawn meanwhile.

    Running ones lose their claim. The statistics in private storage are swept once nothing refers to them.
    """
    own = (Run.rescore_id == rescore_id, Run.state.in_((*UNFINISHED, RunState.SCORED)))
    queue.delete_runs(session, *own)
    runs = select(Run.id).where(*own)
    for table in (ClassScore, Exhibit, RunAnalysis):
        session.execute(delete(table).where(table.run_id.in_(runs)), execution_options=UNSYNCHRONISED)
    values = {
        "state": RunState.ABANDONED, "failure_message": ABANDONED, "statistics_key": None, "receipt": None, "plain_receipt": None,
        "finished_at": func.coalesce(Run.finished_at, func.clock_timestamp()),
    }  # fmt: skip
    session.execute(update(Run).where(*own).values(values), execution_options=UNSYNCHRONISED)


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
            func.count().filter(Run.state.not_in(UNFINISHED)).label("done"),
            func.count().filter(_is_undecided()).label("failed"),
        )
        .outerjoin(Run, Run.rescore_id == Rescore.id)
        .where(Rescore.phase_id.in_(phases), is_open())
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
            confirmed_at=rescore.confirmed_at,
            paused_at=rescore.paused_at,
            seconds=pace(session, rescore.scorer).expected_seconds(row.total - row.done),
        )
    return views


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast runs are scored. slots: of live workers; seconds: that a run took lately, None if none was scored."""

    slots: int
    seconds: float | None

    def expected_seconds(self, runs: int) -> int | None:
        """Return how long so many runs take in an empty queue; None if nobody can say.

        >>> Pace(2, 70.0).expected_seconds(5), Pace(0, 70.0).expected_seconds(5)
        (240, None)
        """
        known = runs and self.slots and self.seconds is not None
        return places.expected_wait(runs, self.slots, self.seconds or 0) if known else None


def pace(session: Session, scorer: str = heldout_scoring.SCORER) -> Pace:
    """Return how fast runs of a scorer version are scored now."""
    return Pace(heartbeats.slots_by_scorer(session).get(scorer, 0), places.typical_run_seconds(session))


def count_undecided(session: Session, rescore_id: int) -> int:
    """Count the runs of a re-scoring that await a decision."""
    return session.scalar(select(func.count(Run.id)).where(_is_open(rescore_id), _is_undecided())) or 0


def undecided_runs(session: Session, rescore_id: int, after: int) -> RowPage[UndecidedRun]:
    """Return a page of the runs of a re-scoring that await a decision."""
    statement = (
        select(Run, DamagedContent.what)
        .outerjoin(Job, Job.run_id == Run.id)
        .outerjoin(DamagedContent, DamagedContent.id == Job.damaged_content_id)
        .options(joinedload(Run.result).joinedload(Result.method).load_only(Method.name))
        .where(_is_open(rescore_id), _is_undecided(), Run.id > after)
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
            damaged=damaged,
        )
        for run, damaged in session.execute(statement)
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
            _is_undecided(),
            is_open(),
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

    It is confirmed at once unless there is something to look at before the boards switch: results under a new ground truth.
    actor: None for the command line. Returns the id of the re-scoring. Raises NotFoundError if the actor does not organise the
    phase or it has no ground truth. Raises ConflictError if the phase is already being scored again, a worker is applying a data set
    to it, or its newest version lacks a competition with a board; for a single result, if it has no score or would get another ground
    truth or scorer than the rest of its board.
    """
    with platform.transaction() as session:
        phase = _phase(session, actor, phase_id)
        boards = lock_boards(session, phase_id)
        truth = _new_truth(session, phase_id, boards)
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
        if not needs_confirmation(phase, boards, truth, count):
            rescore.confirmed_at = func.clock_timestamp()
        record(session, actor, "rescore.request", rescore, phase.challenge_id, runs=count)
    platform.cache.expire_versions()
    log.info("rescore requested", rescore=rescore.id, runs=count)
    platform.notifier.wake_workers(count=min(count, platform.settings.workers))
    return rescore.id


def _phase(session: Session, actor: Actor | None, phase_id: int) -> PhaseView:
    """Return a phase that may be scored again. actor: None for the command line."""
    if actor:
        phase = challenges.require_phase(session, actor, phase_id)
    else:
        phase = challenges.find_phase_of_id(session, phase_id)
    require_active(session, phase.challenge_id)
    return phase


def _new_truth(session: Session, phase_id: int, boards: Sequence[Board]) -> GroundTruth:
    """Return the ground truth under which a phase can be scored again. Raises NotFoundError, ConflictError."""
    truth = challenges.newest_truth(session, phase_id)
    if truth is None:
        raise NotFoundError("this phase has no ground truth; import it first")
    if is_being_applied(session, phase_id):
        raise ConflictError(
            "a worker is applying a data set to this phase; score it again once that is done, or the scores would be"
            " those of the version before"
        )
    if (copy := session.get(TruthCopy, phase_id)) and not copy.message:
        does = "applies corrected labels" if copy.is_corrected else f"goes back to version {copy.version}"
        raise ConflictError(
            f"a worker {does} of this phase; score it again once that is done, or the scores would be"
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
            "this phase is already being scored again; wait until its new scores are published, or discard the re-scoring"
        )
    return truth


def needs_confirmation(phase: PhaseView, boards: Iterable[Board], truth: GroundTruth, runs: int) -> bool:
    """Whether organisers look at the new scores before the boards switch: there are any, of a new ground truth, and the
    challenge is no draft.
    """
    is_new = any(board.ground_truth_id != truth.id for board in boards)
    return is_new and runs > 0 and not phase.is_draft


def is_confirmed(platform: Platform, rescore_id: int) -> bool:
    """Whether the boards of a re-scoring switch by themselves."""
    with platform.transaction() as session:
        return session.get_one(Rescore, rescore_id).confirmed_at is not None


def plan(platform: Platform, actor: Actor, phase_id: int) -> RescorePlan:
    """Return what scoring a phase again would do, and start nothing. Raises as `rescore_phase` does."""
    with platform.snapshot() as session:
        phase = _phase(session, actor, phase_id)
        boards = session.scalars(select(Board).where(Board.phase_id == phase_id)).all()
        truth = _new_truth(session, phase_id, boards)
        shown = versions.shown_truth(session, phase_id)
        runs = session.scalar(select(func.count(Result.id)).where(_is_scored_again(phase_id))) or 0
        return RescorePlan(
            runs=runs,
            seconds=pace(session).expected_seconds(runs),
            version=truth.version,
            shown=shown.version if shown else 0,
            confirmed=not needs_confirmation(phase, boards, truth, runs),
        )


def is_being_applied(session: Session, phase_id: int) -> bool:
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
        if own_phase is not None:
            require_active(session, challenge_of_phase(session, own_phase))
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


def record(
    session: Session, actor: Actor | None, action: str, rescore: Rescore, challenge_id: int, **details: int
) -> None:
    """Record in the audit log what was done to a re-scoring. actor: None for the command line and the server."""
    facts = {"phase": rescore.phase_id, "result": rescore.result_id, **details}
    by = actor.user_id if actor else None
    audit.record(session, by, action, f"re-scoring {rescore.id}", challenge_id=challenge_id, details=facts)


def activate_complete(platform: Platform) -> int:
    """Switch the boards of every complete re-scoring that is confirmed. Returns the number of re-scorings.

    Safe at any time and from several workers. If no re-scoring is complete, this takes only one index lookup each.
    """
    with platform.transaction() as session:
        confirmed = open_rescore_ids(session, Rescore.confirmed_at.is_not(None))
        waiting = {number: is_waiting(session, number) for number in confirmed}
    return sum(_activate_if_complete(platform, number) for number, waits in waiting.items() if not waits)


def _activate_if_complete(platform: Platform, rescore_id: int) -> bool:
    with platform.transaction() as session:
        truth_id = session.get_one(Rescore, rescore_id).ground_truth_id
    if not versions.describe(platform, truth_id):
        return False  # the sweep of a process that can describe it switches the boards
    with platform.transaction() as session:
        rescore = lock_open_rescore(session, rescore_id)
        if rescore is None or rescore.confirmed_at is None or is_waiting(session, rescore_id):
            return False
        late = queue_missing_runs(session, rescore)  # for results published since the re-scoring started
        unused = None if late else activate(session, rescore)
    if late:
        platform.notifier.wake_workers()
    if unused:
        unused.remove(platform)
    return not late


def activate(session: Session, rescore: Rescore) -> UnusedContents | None:
    """Switch the boards to the new runs and versions of a locked re-scoring. Readers see either the old board or the new one.

    Returns what is left of images that came to an end with it.
    """
    unused, before = None, changed_scores.public_ranks(session, rescore)
    if rescore.result_id is None:
        announce_new_truth(session, rescore)
        unused = _switch_boards(session, rescore)
        move_queued_runs(session, rescore.phase_id)
    ladder.carry_over(session, rescore.id)
    changed = changed_scores.changed_results(session, rescore)
    count = recording.publish(session, Run.rescore_id == rescore.id)
    kept = recording.keep(session, rescore.id)
    after = changed_scores.public_ranks(session, rescore)
    told = changed_scores.record(session, rescore, changed, before, after)
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
    _tell_outdated_uploads(session, phase)
    audit.record(
        session, rescore.confirmed_by or rescore.requested_by, "rescore.switch", f"phase {phase.id}", challenge_id=phase.challenge_id,
        before={"version": before and before.version}, after={"version": truth.version},
        details={"rescore": rescore.id, "scorer": rescore.scorer},
    )  # fmt: skip
    return making.show_next(session, phase.id)


def _tell_outdated_uploads(session: Session, phase: Phase) -> None:
    """Record for each team with a valid archive that it has not submitted that another version than the one shown checked it."""
    if not challenges.is_announced(session, phase.challenge_id):
        return
    details = func.jsonb_build_object("version", _version_of(phase.id), "uploads", func.count())
    teams = (
        select(
            literal(phase.challenge_id).label("challenge_id"), literal(phase.id).label("phase_id"),
            Upload.team_id, details.label("details"),
        )
        .join(Upload.phase)
        .where(Upload.phase_id == phase.id, Upload.valid.is_(True), uploads.is_outdated(), ~retention.is_confirmed())
        .group_by(Upload.team_id)
    )  # fmt: skip
    events.record_each(session, EventKind.UPLOAD_OUTDATED, teams)


def _version_of(phase_id: int) -> ColumnElement[int]:
    """The version that the boards of a phase show."""
    shown = select(func.min(GroundTruth.version)).join(Board, Board.ground_truth_id == GroundTruth.id)
    return shown.where(Board.phase_id == phase_id).scalar_subquery()


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

    The first sweep after the last decision switches the boards if the re-scoring is confirmed. Raises NotFoundError if the run
    awaits no decision, MalformedError for a withdrawal without a reason, ConflictError to retry what waits for a repair.
    """
    with platform.transaction() as session:
        run = lock_undecided_run(session, actor, run_id)
        if run is None or run.rescore_id is None:
            raise NotFoundError(f"there is no run {run_id} that awaits a decision")
        result_id = run.result_id
        challenge_id = challenge_of_rescore(session, run.rescore_id)
        assert challenge_id is not None
        require_active(session, challenge_id)
        if choice is RescoreChoice.RETRY and run.state is RunState.QUEUED:
            raise ConflictError("this result is scored by itself once the damaged data is repaired")
        if choice is RescoreChoice.KEEP:
            if run.state is RunState.QUEUED:
                queue.delete_runs(session, Run.id == run.id)
                run.state, run.failure_message = RunState.FAILED, DAMAGED
                run.finished_at = func.clock_timestamp()
            run.decision, run.decision_reason, run.decided_by = Decision.KEEP, reason, actor.user_id
            audit.record(
                session,
                actor.user_id,
                "rescore.keep",
                f"result {result_id}",
                challenge_id=challenge_id,
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

    Raises NotFoundError if the actor does not organise its challenge, ConflictError if it is no longer in progress.
    """
    with platform.transaction() as session:
        rescore, challenge_id = require_open(session, actor, rescore_id)
        count = requeue_undecided_runs(session, rescore_id)
        record(session, actor, "rescore.retry", rescore, challenge_id, runs=count)
    platform.notifier.wake_workers()
    return count


def abandon(platform: Platform, actor: Actor, rescore_id: int) -> None:
    """Discard the new scores of a re-scoring. The boards stay as they are.

    Raises NotFoundError if the actor does not organise its challenge, ConflictError if it is no longer in progress.
    """
    with platform.transaction() as session:
        rescore, _ = require_open(session, actor, rescore_id)
        discard(session, actor, rescore)
    platform.cache.expire_versions()


def discard(session: Session, actor: Actor | None, rescore: Rescore) -> None:
    """Discard the new scores of a locked re-scoring. actor: None for the server, which does it after some weeks."""
    record(session, actor, "rescore.abandon", rescore, challenge_of_phase(session, rescore.phase_id))
    rescore.abandoned_at = func.clock_timestamp()
    discard_runs(session, rescore.id)


def require_open(session: Session, actor: Actor, rescore_id: int) -> tuple[Rescore, int]:
    """Lock an open re-scoring that the actor organises. Returns it with the id of its challenge.

    Raises NotFoundError if the actor does not organise its challenge, ConflictError with what became of it or if that is archived.
    """
    challenge_id = challenge_of_rescore(session, rescore_id)
    if challenge_id is None or not actor.organises_challenge(challenge_id):
        raise NotFoundError(f"there is no re-scoring {rescore_id}")
    require_active(session, challenge_id)
    rescore = lock_open_rescore(session, rescore_id)
    if rescore is None:
        ended = session.get_one(Rescore, rescore_id, populate_existing=True)
        what = "its boards have switched already" if ended.activated_at else "its new scores were discarded"
        raise ConflictError(f"re-scoring {rescore_id} is over: {what}")
    return rescore, challenge_id
