"""Uploads in the database."""

import uuid
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import and_, delete, func, select, true, update
from sqlalchemy.orm import Session

from app.access import Actor
from app.models import Edition, Phase, Upload, UploadState
from app.uploads.schemas import UploadView


@dataclass(frozen=True, slots=True)
class ToCheck:
    """Where an archive and the description that it is checked against lie."""

    sha256: str
    filename: str
    description_key: str
    competitions: tuple[int, ...] | None


def upload_of(session: Session, actor: Actor, upload_id: uuid.UUID) -> UploadView | None:
    """An upload of the reader's own team; organisers see all."""
    columns = (
        Upload.id, Edition.code, Phase.image_set, Upload.filename, Upload.size, Upload.received, Upload.sha256,
        Upload.state, Upload.valid, Upload.report, Upload.started_at, Upload.checked_at,
    )  # fmt: skip
    own = true() if actor.is_organiser else Upload.team_id == actor.team_id
    statement = (
        select(*columns)
        .join(Phase, Upload.phase_id == Phase.id)
        .join(Edition)
        .where(Upload.id == upload_id, own)
    )
    row = session.execute(statement).one_or_none()
    return UploadView(*row) if row else None


def advance(session: Session, upload_id: uuid.UUID, offset: int, received: int, *, final: bool) -> bool:
    """Note that bytes up to `received` have arrived, `final` the last; whether the upload still stood at `offset`."""
    values = {"received": received, **({"size": received} if final else {})}
    statement = (
        update(Upload)
        .where(Upload.id == upload_id, Upload.received == offset, Upload.state == UploadState.RECEIVING)
        .values(values)
        .returning(Upload.id)
    )
    return session.scalar(statement) is not None


def locked(session: Session, upload_id: uuid.UUID) -> Upload | None:
    """An upload's row, locked until the end of the transaction."""
    return session.scalar(select(Upload).where(Upload.id == upload_id).with_for_update())


def to_check(session: Session, upload_id: uuid.UUID) -> ToCheck | None:
    """What a check needs of an upload that waits for one."""
    statement = (
        select(Upload.sha256, Upload.filename, Phase.description_key, Upload.competitions)
        .join(Phase, Upload.phase_id == Phase.id)
        .where(Upload.id == upload_id, Upload.state == UploadState.RECEIVED)
    )
    row = session.execute(statement).one_or_none()
    if row is None:
        return None
    asked = tuple(row.competitions) if row.competitions else None
    return ToCheck(row.sha256 or "", row.filename, row.description_key, asked)


def forget_stale_uploads(session: Session, age: timedelta) -> list[uuid.UUID]:
    """Delete uploads that were never completed; their numbers, so that their bytes can go too."""
    stale = and_(Upload.state == UploadState.RECEIVING, Upload.started_at < func.now() - age)
    return list(session.scalars(delete(Upload).where(stale).returning(Upload.id)))
