"""Entries and methods in the database, locked."""

from sqlalchemy import and_, or_, select, true
from sqlalchemy.orm import Session

from app.access import Action, Actor, State
from app.models import Entry, Method, Phase, Run, RunState
from app.visibility import rows_for


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


def lock_entry(session: Session, actor: Actor, entry_id: int) -> tuple[Entry, Method, int] | None:
    """An entry that somebody may withdraw in one state or another, locked, with its method and its edition's id."""
    theirs = rows_for(
        actor,
        Action.WITHDRAW,
        team=Method.team_id,
        edition=Phase.edition_id,
        states=dict.fromkeys(State, true()),  # whether in this state is for `withdrawal_refusal` to explain
    )
    statement = (
        select(Entry, Method, Phase.edition_id)
        .join(Method, Entry.method_id == Method.id)
        .join(Phase, Entry.phase_id == Phase.id)
        .where(Entry.id == entry_id, theirs)
        .with_for_update(of=Entry)
    )
    row = session.execute(statement).one_or_none()
    return (row[0], row[1], row[2]) if row else None
