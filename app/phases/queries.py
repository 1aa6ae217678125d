"""Rules of phases in the database."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.models import Phase, Publication


def lock_phase(session: Session, phase_id: int) -> Phase:
    """The row of a phase, locked until the end of the transaction."""
    return session.get_one(Phase, phase_id, with_for_update={"key_share": True})


def has_results(session: Session, phase_id: int) -> bool:
    """Whether somebody's score was ever recorded in a phase."""
    statement = select(Publication.id).where(
        Publication.phase_id == phase_id, Publication.run_id.is_not(None)
    )
    return session.scalar(statement.limit(1)) is not None
