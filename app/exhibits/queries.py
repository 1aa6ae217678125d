"""The exhibits of runs in the database."""

from typing import Any

from sqlalchemy import and_, or_, select, true
from sqlalchemy.orm import Session

from app.access import Actor
from app.models import Entry, Exhibit, Method, Phase, Run


def exhibits_of(session: Session, run_id: int) -> list[dict[str, Any]]:
    """The exhibits of a run, as they were written down."""
    return list(
        session.scalars(select(Exhibit.content).where(Exhibit.run_id == run_id).order_by(Exhibit.position))
    )


def visible_run(session: Session, actor: Actor, run_id: int) -> tuple[Run, Phase] | None:
    """A run whose submission the reader may see, with its phase; of others' runs only what a board shows."""
    shown = (
        true()
        if actor.is_organiser
        else or_(
            and_(Method.public_at.is_not(None), Entry.published_run_id == Run.id),
            Method.team_id.in_(actor.teams),
        )
    )
    statement = (
        select(Run, Phase)
        .join(Entry, Run.entry_id == Entry.id)
        .join(Phase, Entry.phase_id == Phase.id)
        .join(Method, Entry.method_id == Method.id)
        .where(Run.id == run_id, shown)
    )
    return session.execute(statement).one_or_none()
