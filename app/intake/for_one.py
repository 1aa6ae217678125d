"""What a worker makes of hidden annotation for one organiser alone: nobody else finds it, and it is deleted after ten minutes."""

from datetime import timedelta
from typing import Any, Final

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from app.images.packs import PACK
from app.models import Artefact
from app.platform import Platform
from app.results import artefacts

# kinds of artefacts; their subjects end with the id of the person
HIDDEN_PICTURES: Final = "data set, hidden"
SCENES: Final = "labels of an image"
CHANGED_PICTURES: Final = "version diff, drawn"
KINDS: Final = (HIDDEN_PICTURES, SCENES, CHANGED_PICTURES)
KEPT: Final = timedelta(minutes=10)


def find(session: Session, kind: str, subject: str) -> Artefact | None:
    """Return what was made, as long as it may be seen."""
    return session.scalar(
        select(Artefact).where(
            Artefact.kind == kind, Artefact.subject == subject,
            Artefact.created_at > func.clock_timestamp() - KEPT,
        )
    )  # fmt: skip


def store(platform: Platform, kind: str, subject: str, pack: bytes) -> None:
    """Store what was made in place of what was made before, for ten minutes from now."""
    remove(platform, Artefact.kind == kind, Artefact.subject == subject)
    artefacts.store(platform, kind, subject, "1", PACK, pack)


def delete_expired(platform: Platform) -> None:
    """Delete what was made ten minutes ago."""
    remove(platform, Artefact.kind.in_(KINDS), Artefact.created_at <= func.clock_timestamp() - KEPT)


def remove(platform: Platform, *which: Any) -> None:
    """Delete artefacts with their contents."""
    with platform.transaction() as session:
        keys = session.scalars(delete(Artefact).where(*which).returning(Artefact.key)).all()
    for key in keys:
        platform.artefacts.delete(key)
