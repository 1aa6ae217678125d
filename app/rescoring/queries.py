"""Re-scorings in the database; all of them work on sets, so that ten thousand entries are a few statements."""

from typing import Any

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
from sqlalchemy.orm import Session, aliased

from app.access import Actor
from app.editions.queries import organised_by
from app.evaluation.rules import ENDED
from app.jobs import queue
from app.models import Board, Entry, EntryState, Job, Method, Phase, Rescore, Run, RunState
from app.rescoring.schemas import Following, RescoreView, UndecidedRun
from app.row_pages import RowPage, page_of

MOST_UNDECIDED = 50  # on a page
UNFINISHED = (RunState.QUEUED, RunState.RUNNING)
UNSCORED = (RunState.REFUSED, RunState.FAILED)
NEW_RUN = ("entry_id", "rescore_id", "ground_truth_id", "protocol", "scorer", "team_id")


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
    """Queue a run for every entry on the boards that has none of this re-scoring yet; returns how many."""
    mine = aliased(Run)
    has_run = exists().where(mine.entry_id == Entry.id, mine.rescore_id == rescore.id)
    chosen = (
        select(
            Entry.id, literal(rescore.id), literal(rescore.ground_truth_id), Board.protocol,
            literal(rescore.scorer), Method.team_id,
        )
        .join(Method, Entry.method_id == Method.id)
        .join(Board, (Board.phase_id == Entry.phase_id) & (Board.competition == Entry.competition))
        .where(
            Entry.phase_id == rescore.phase_id,
            Entry.state == EntryState.SCORED,
            Entry.id == rescore.entry_id if rescore.entry_id is not None else true(),
            ~has_run,
        )
        .order_by(Entry.id)
    )  # fmt: skip
    return _queue(session, chosen)


def _queue(session: Session, chosen: Select[*tuple[Any, ...]]) -> int:
    """Queue the runs that a statement makes; how many."""
    runs = session.scalars(insert(Run).from_select(NEW_RUN, chosen).returning(Run.id)).all()
    queue.add_runs(session, runs)
    return len(runs)


def queue_outdated_entries(session: Session) -> int:
    """Queue a run for every result that does not stand because its board has other versions by now; returns how many.

    Such are results that were recorded while their board was switched, and entries whose only run ended under the
    versions before. Entries that the new versions refused or failed are left alone.
    """
    mine = aliased(Run)
    is_covered = exists().where(
        mine.entry_id == Entry.id,
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
        Entry.state == EntryState.PENDING,
        and_(Entry.state == EntryState.SCORED, Entry.published_generation < Board.generation),
    )
    return _queue_live(session, is_outdated, ~is_covered)


def _queue_live(session: Session, *which: ColumnElement[bool]) -> int:
    """Queue a run under the versions of its board for each of these entries, as for one that was just confirmed; how many."""
    chosen = (
        select(
            Entry.id, null(), Board.ground_truth_id, Board.protocol, Board.scorer, Method.team_id,
        )
        .join(Method, Entry.method_id == Method.id)
        .join(Board, (Board.phase_id == Entry.phase_id) & (Board.competition == Entry.competition))
        .where(*which)
    )  # fmt: skip
    return _queue(session, chosen)


def queue_entry(session: Session, entry_id: int) -> None:
    """Queue a run of one entry."""
    _queue_live(session, Entry.id == entry_id)


def locked_entry(session: Session, entry_id: int) -> Entry:
    """An entry that is there, locked."""
    return session.get_one(Entry, entry_id, with_for_update=True)


def has_other_result(session: Session, entry: Entry) -> bool:
    """Whether the method of an entry has, or waits for, another result in its place."""
    statement = select(Entry.id).where(
        Entry.id != entry.id,
        Entry.method_id == entry.method_id,
        Entry.phase_id == entry.phase_id,
        Entry.competition == entry.competition,
        Entry.state.in_((EntryState.PENDING, EntryState.SCORED)),
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
        .join(Entry, Run.entry_id == Entry.id)
        .join(Board, (Board.phase_id == Entry.phase_id) & (Board.competition == Entry.competition))
        .where(
            Entry.phase_id == phase_id,
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
            Run.id, Entry.id, Entry.submission_id, Entry.competition, Method.name, Run.state, Run.failure_message
        )
        .join(Entry, Run.entry_id == Entry.id)
        .join(Method, Entry.method_id == Method.id)
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


def phase_of_entry(session: Session, actor: Actor | None, entry_id: int) -> int | None:
    """The phase that an entry was made in, if the actor organises it; actor: None for the command line."""
    statement = select(Phase.id).join(Entry, Entry.phase_id == Phase.id)
    theirs = organised_by(actor) if actor else true()
    return session.scalar(statement.where(Entry.id == entry_id, theirs))


def edition_of_phase(session: Session, phase_id: int) -> int:
    """The edition that a phase belongs to."""
    return session.get_one(Phase, phase_id).edition_id


def edition_of_rescore(session: Session, rescore_id: int) -> int | None:
    """The edition that a re-scoring belongs to."""
    statement = select(Phase.edition_id).join(Rescore, Rescore.phase_id == Phase.id)
    return session.scalar(statement.where(Rescore.id == rescore_id))
