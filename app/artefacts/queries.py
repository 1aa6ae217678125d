"""Artefacts in the database."""

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import case, delete, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.artefacts.schemas import ArtefactView
from app.models import Artefact

VIEW = (
    Artefact.kind, Artefact.subject, Artefact.version, Artefact.key, Artefact.media_type, Artefact.size,
    Artefact.created_at,
)  # fmt: skip


def find(session: Session, kind: str, subject: str) -> ArtefactView | None:
    """The artefact of this kind that shows this subject."""
    statement = select(*VIEW).where(Artefact.kind == kind, Artefact.subject == subject)
    row = session.execute(statement).one_or_none()
    return ArtefactView(*row) if row else None


def versions(session: Session, kind: str, subjects: Collection[str]) -> dict[str, str]:
    """The version of each of these artefacts that is there."""
    statement = select(Artefact.subject, Artefact.version).where(
        Artefact.kind == kind, Artefact.subject.in_(subjects)
    )
    return dict(session.execute(statement).all())


def put(session: Session, new: ArtefactView, as_of: datetime) -> None:
    """Write an artefact's row in place of the one before, unless that was made from later data."""
    values = {
        "version": new.version,
        "key": new.key,
        "media_type": new.media_type,
        "size": new.size,
        "as_of": as_of,
        "created_at": func.now(),
    }
    statement = insert(Artefact).values(kind=new.kind, subject=new.subject, **values)
    session.execute(
        statement.on_conflict_do_update(
            index_elements=[Artefact.kind, Artefact.subject], set_=values, where=Artefact.as_of <= as_of
        )
    )


def renew(session: Session, same: ArtefactView, version: str, as_of: datetime) -> bool:
    """Give an artefact whose content stays as it is another version; whether it is still there with this content."""
    statement = (
        update(Artefact)
        .where(Artefact.kind == same.kind, Artefact.subject == same.subject, Artefact.key == same.key)
        .values(
            version=case((Artefact.as_of <= as_of, version), else_=Artefact.version),
            as_of=func.greatest(Artefact.as_of, as_of),
        )
    )
    return session.scalar(statement.returning(Artefact.id)) is not None


def remove(session: Session, kind: str, subject: str) -> None:
    """Remove an artefact's row, if it is there; a sweep removes its content."""
    session.execute(delete(Artefact).where(Artefact.kind == kind, Artefact.subject == subject))


def named(session: Session, keys: Collection[str]) -> set[str]:
    """Which of these contents are an artefact's."""
    return set(session.scalars(select(Artefact.key).where(Artefact.key.in_(keys))))


def now(session: Session) -> datetime:
    """The database's clock."""
    moment: datetime = session.execute(select(func.clock_timestamp())).scalar_one()
    return moment
