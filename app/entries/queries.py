"""Entries and methods in the database, locked."""

from sqlalchemy import and_, or_, select, true
from sqlalchemy.orm import Session

from app.access import Actor
from app.models import Entry, Method, Run, RunState


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


def lock_entry(session: Session, actor: Actor, entry_id: int) -> tuple[Entry, Method] | None:
    """An entry of the reader's team, for organisers any, locked, with its method."""
    is_theirs = true() if actor.is_organiser else Method.team_id.in_(actor.teams)
    statement = (
        select(Entry, Method)
        .join(Method, Entry.method_id == Method.id)
        .where(Entry.id == entry_id, is_theirs)
        .with_for_update(of=Entry)
    )
    row = session.execute(statement).one_or_none()
    return (row[0], row[1]) if row else None


def lock_method(session: Session, actor: Actor, method_id: int) -> Method | None:
    """A method of the reader's team, locked."""
    statement = select(Method).where(Method.id == method_id, Method.team_id.in_(actor.teams))
    return session.scalar(statement.with_for_update())
