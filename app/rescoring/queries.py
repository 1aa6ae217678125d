"""Re-scorings in the database, and the switch of a board."""

from collections.abc import Sequence

from sqlalchemy import and_, func, select, update
from sqlalchemy.orm import Session, aliased

from app.evaluation.rules import ENDED
from app.models import Board, Entry, EntryState, Rescore, Run, RunState
from app.rescoring.schemas import RescoreView


def unpublished_rescores(session: Session) -> list[int]:
    """Re-scorings that have neither been published nor abandoned."""
    statement = select(Rescore.id).where(Rescore.published_at.is_(None), Rescore.abandoned_at.is_(None))
    return list(session.scalars(statement.order_by(Rescore.id)))


def open_rescore(session: Session, rescore_id: int) -> Rescore | None:
    """A re-scoring that is still under way, locked."""
    statement = select(Rescore).where(
        Rescore.id == rescore_id, Rescore.published_at.is_(None), Rescore.abandoned_at.is_(None)
    )
    return session.scalar(statement.with_for_update())


def locked_boards(session: Session, phase_id: int) -> list[Board]:
    """All boards of a phase, locked in one order."""
    statement = select(Board).where(Board.phase_id == phase_id).order_by(Board.competition).with_for_update()
    return list(session.scalars(statement))


def entries_to_rescore(session: Session, rescore: Rescore) -> list[Entry]:
    """What stands on the boards within the re-scoring's reach and has no run of it yet."""
    mine = aliased(Run)
    has_run = select(mine.id).where(mine.entry_id == Entry.id, mine.rescore_id == rescore.id).exists()
    statement = select(Entry).where(
        Entry.phase_id == rescore.phase_id,
        Entry.state == EntryState.SCORED,
        Entry.shown_run_id.is_not(None),
        ~has_run,
    )
    if rescore.entry_id is not None:
        statement = statement.where(Entry.id == rescore.entry_id)
    return list(session.scalars(statement.order_by(Entry.id)))


def runs_of_rescore(session: Session, rescore_id: int) -> list[Run]:
    """The runs of a re-scoring."""
    return list(session.scalars(select(Run).where(Run.rescore_id == rescore_id).order_by(Run.id)))


def end_waiting_runs(session: Session, rescore_id: int, sentence: str) -> None:
    """Let the runs of an abandoned re-scoring end; what is under way loses its claim."""
    waiting = and_(Run.rescore_id == rescore_id, Run.state.in_((RunState.QUEUED, RunState.RUNNING)))
    session.execute(
        update(Run)
        .where(waiting)
        .values(state=RunState.FAILED, sentence=sentence, finished_at=func.clock_timestamp())
    )


def open_rescores(session: Session) -> dict[int, RescoreView]:
    """By phase, how far its latest open re-scoring has come."""
    done = func.count().filter(Run.state.in_(ENDED))
    failed = func.count().filter(Run.state.in_((RunState.FAILED, RunState.REFUSED)))
    statement = (
        select(Rescore.phase_id, Rescore.id, func.count(Run.id), done, failed, Rescore.created_at)
        .outerjoin(Run, Run.rescore_id == Rescore.id)
        .where(Rescore.published_at.is_(None), Rescore.abandoned_at.is_(None))
        .group_by(Rescore.id)
        .order_by(Rescore.id)
    )
    return {row[0]: RescoreView(*row[1:]) for row in session.execute(statement)}


def phase_of_rescore(session: Session, rescore_id: int) -> int:
    """Whose boards it will switch."""
    return session.execute(select(Rescore.phase_id).where(Rescore.id == rescore_id)).scalar_one()


def entries_of_runs(session: Session, run_ids: Sequence[int]) -> dict[int, Entry]:
    """By run, its entry, locked."""
    statement = select(Run.id, Entry).join(Entry, Run.entry_id == Entry.id).where(Run.id.in_(run_ids))
    return dict(session.execute(statement.order_by(Entry.id).with_for_update(of=Entry)).all())


def phase_of_entry(session: Session, entry_id: int) -> int | None:
    """The phase that an entry was made in."""
    return session.scalar(select(Entry.phase_id).where(Entry.id == entry_id))
