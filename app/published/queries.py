"""Historical editions that this server shows, in the database."""

from sqlalchemy import delete, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.models import Artefact, PublishedEdition


def codes(session: Session) -> list[str]:
    """The codes of the historical editions that are shown."""
    return list(session.scalars(select(PublishedEdition.code).order_by(PublishedEdition.code)))


def is_shown(session: Session, code: str) -> bool:
    """Whether a historical edition is shown."""
    return session.get(PublishedEdition, code) is not None


def add(session: Session, code: str) -> bool:
    """Show a historical edition; False if it is shown already."""
    statement = insert(PublishedEdition).values(code=code).on_conflict_do_nothing()
    return session.scalar(statement.returning(PublishedEdition.code)) is not None


def remove(session: Session, code: str, subject: str) -> bool:
    """Show a historical edition no longer, with what was drawn of it below `subject`; whether it was shown."""
    session.execute(delete(Artefact).where(Artefact.subject.startswith(subject, autoescape=True)))
    gone = delete(PublishedEdition).where(PublishedEdition.code == code)
    return session.scalar(gone.returning(PublishedEdition.code)) is not None
