"""Artefacts: drawn figures, images and tables, stored under the version of what they were drawn from."""

import uuid
from collections.abc import Collection
from datetime import datetime
from hashlib import sha256

from sqlalchemy import case, delete, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.models import Artefact
from app.platform import Platform
from app.storage import digest_of


def find(session: Session, kind: str, subject: str) -> Artefact | None:
    """Return the artefact of this kind and subject, without its content."""
    return session.scalar(select(Artefact).where(Artefact.kind == kind, Artefact.subject == subject))


def versions(session: Session, kind: str, subjects: Collection[str]) -> dict[str, str]:
    """Return the versions of the existing artefacts among these, by subject."""
    statement = select(Artefact.subject, Artefact.version).where(
        Artefact.kind == kind, Artefact.subject.in_(subjects)
    )
    return dict(session.execute(statement).all())


def remove(session: Session, kind: str, subject: str) -> None:
    """Remove an artefact's row, if it exists."""
    session.execute(delete(Artefact).where(Artefact.kind == kind, Artefact.subject == subject))


def store(
    platform: Platform,
    kind: str,
    subject: str,
    version: str,
    media_type: str,
    content: bytes,
    *,
    as_of: datetime | None = None,
) -> None:
    """Store an artefact, replacing the previous one of its kind and subject.

    version: of its source; as_of: when the source was read, by the database's clock (default: now), so that of two workers the
    one with later data wins. Repeating it has no effect.
    """
    with platform.transaction() as session:
        moment = as_of or session.execute(select(func.clock_timestamp())).scalar_one()
        before = find(session, kind, subject)
        is_same = before is not None and digest_of(before.key) == sha256(content).hexdigest()
        if before is not None and is_same and _renew(session, before, version, moment):
            return
    # a separate content: a shared one could not be removed safely
    key = platform.artefacts.put(content, uuid.uuid4())
    values = {
        "version": version,
        "key": key,
        "media_type": media_type,
        "size": len(content),
        "as_of": moment,
        "created_at": func.now(),
    }
    statement = insert(Artefact).values(kind=kind, subject=subject, **values)
    with platform.transaction() as session:
        session.execute(
            statement.on_conflict_do_update(
                index_elements=[Artefact.kind, Artefact.subject], set_=values, where=Artefact.as_of <= moment
            )
        )


def _renew(session: Session, same: Artefact, version: str, as_of: datetime) -> bool:
    """Update the version of an artefact with unchanged content. Return whether it still exists with this content."""
    statement = (
        update(Artefact)
        .where(Artefact.id == same.id, Artefact.key == same.key)
        .values(
            version=case((Artefact.as_of <= as_of, version), else_=Artefact.version),
            as_of=func.greatest(Artefact.as_of, as_of),
        )
    )
    return session.scalar(statement.returning(Artefact.id)) is not None


def read(platform: Platform, kind: str, subject: str) -> bytes | None:
    """Return the content of an artefact; None if it does not exist yet."""
    with platform.transaction() as session:
        found = find(session, kind, subject)
    return content_of(platform, found) if found else None


def content_of(platform: Platform, artefact: Artefact) -> bytes:
    """Return the content of an artefact."""
    with platform.artefacts.open(artefact.key) as stream:
        return stream.read()
