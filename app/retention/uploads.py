"""How long uploads are kept that nobody confirms, how much of them people may store, and their removal."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import structlog
from sqlalchemy import ColumnElement, and_, case, delete, func, not_, null, select, true, update
from sqlalchemy.orm import Session

from app.errors import StoredBytesError
from app.memberships import queries as memberships
from app.models import Submission, Upload, UploadState
from app.platform import Platform
from app.retention.contents import ARCHIVES, removable
from app.storage import content_key

log = structlog.get_logger()

MiB: Final = 1 << 20
MAX_UPLOADS: Final = 1000  # of one person that are not confirmed
BATCH: Final = 100  # uploads of one transaction
ROW_AGE: Final = timedelta(days=30)  # how long the row of a removed upload is kept
STORED: Final = (UploadState.RECEIVING, UploadState.RECEIVED, UploadState.CHECKED)


@dataclass(frozen=True, slots=True)
class Retention:
    """How long archives are kept that were not confirmed."""

    unconfirmed: timedelta  # checked and valid, or never checked
    invalid: timedelta
    partial: timedelta


@dataclass(frozen=True, slots=True)
class Usage:
    """What a person's uploads that are not confirmed take."""

    bytes: int
    uploads: int


def retention_of(platform: Platform) -> Retention:
    """How long this installation keeps what."""
    settings = platform.settings
    return Retention(
        unconfirmed=timedelta(days=settings.keep_unconfirmed_days),
        invalid=timedelta(days=settings.keep_invalid_days),
        partial=timedelta(days=settings.keep_partial_days),
    )


def is_confirmed() -> ColumnElement[bool]:
    """Whether an upload was confirmed as a submission."""
    return select(Submission.id).where(Submission.upload_id == Upload.id).correlate(Upload).exists()


def expires_at(retention: Retention) -> ColumnElement[Any]:
    """When an upload is removed; null for what is confirmed and for what has been removed."""
    checked = Upload.state == UploadState.CHECKED
    return case(
        (is_confirmed(), null()),
        (Upload.state == UploadState.RECEIVING, Upload.started_at + retention.partial),
        (Upload.state == UploadState.RECEIVED, Upload.received_at + retention.unconfirmed),
        (and_(checked, Upload.valid.is_(true())), Upload.checked_at + retention.unconfirmed),
        (checked, Upload.checked_at + retention.invalid),
        else_=null(),
    )


def unconfirmed(session: Session, whose: ColumnElement[bool]) -> Usage:
    """How much these uploads take that are not confirmed; one that is arriving counts as what was declared."""
    reserved = case((Upload.state == UploadState.RECEIVING, Upload.size), else_=Upload.received)
    statement = select(func.coalesce(func.sum(reserved), 0), func.count()).where(
        whose, Upload.state.in_(STORED), not_(is_confirmed())
    )
    return Usage(*map(int, session.execute(statement).one()))


def refuse_beyond_share(platform: Platform, session: Session, user_id: int, team_id: int, size: int) -> None:
    """Raise StoredBytesError where unconfirmed uploads of a person or a team would take more than they may, with one of `size` bytes.

    Until the end of the transaction no other upload of this person or team is started.
    """
    settings = platform.settings
    memberships.lock_person(session, user_id)
    memberships.lock_team(session, team_id)
    shares = (
        ("Your", Upload.user_id == user_id, settings.max_stored, MAX_UPLOADS),
        ("Your team's", Upload.team_id == team_id, settings.max_stored_team, 2 * MAX_UPLOADS),
    )
    for whose, condition, most, most_uploads in shares:
        used = unconfirmed(session, condition)
        if used.bytes + size > most or used.uploads >= most_uploads:
            raise StoredBytesError(
                f"{whose} {used.uploads} uploads that are not confirmed take {used.bytes // MiB} of "
                f"{most // MiB} MiB; delete some at /uploads, or confirm them"
            )


def sweep(platform: Platform) -> None:
    """Remove uploads whose time is over, and the rows of those that were removed long ago."""
    while count := _expire(platform):
        log.info("uploads expired", count=count)
    with platform.transaction() as session:
        old = Upload.removed_at < func.clock_timestamp() - ROW_AGE
        session.execute(delete(Upload).where(old))


def _expire(platform: Platform) -> int:
    with platform.transaction() as session:
        due = _lock_due(session, retention_of(platform))
        expired = expire(session, due) if due else []
        stored = [content_key(upload.sha256, upload.id) for upload in expired if upload.sha256]
        keys = removable(session, ARCHIVES, stored)
    for upload in expired:
        platform.archives.discard(upload.id)
    for key in keys:
        platform.archives.delete(key)
    return len(expired)


def _lock_due(session: Session, retention: Retention) -> list[uuid.UUID]:
    """Uploads whose time is over, locked; those that somebody confirms at this moment are left out."""
    statement = (
        select(Upload.id)
        .where(Upload.state.in_(STORED), expires_at(retention) < func.clock_timestamp())
        .limit(BATCH)
        .with_for_update(skip_locked=True)
    )
    return list(session.scalars(statement))


def expire(session: Session, upload_ids: Sequence[uuid.UUID]) -> list[Upload]:
    """Mark locked uploads as expired and return them, except what was confirmed before they were locked.

    A statement of its own: only what begins after the locks are held sees every confirmation.
    """
    statement = (
        update(Upload)
        .where(Upload.id.in_(upload_ids), not_(is_confirmed()))
        .values(state=UploadState.EXPIRED, removed_at=func.clock_timestamp())
        .returning(Upload)
    )
    return list(session.scalars(statement))
