"""Retention: how long uploads are kept, how much people may store, and removal of unreferenced contents."""

import uuid
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any, Final, TypeVar

import structlog
from sqlalchemy import (
    ColumnElement,
    SQLColumnExpression,
    and_,
    case,
    delete,
    func,
    not_,
    null,
    select,
    true,
    union,
    update,
)
from sqlalchemy.orm import Session

from app.core import audit, database
from app.core.errors import StoredBytesError
from app.core.units import MiB
from app.jobs import heartbeats
from app.models import (
    Artefact,
    DataFile,
    DataUpload,
    GroundTruth,
    Intake,
    IntakeSegment,
    MadeFile,
    NextPictureBatch,
    Phase,
    PictureBatch,
    PictureSource,
    Run,
    Submission,
    Upload,
    UploadState,
)
from app.people import teams
from app.people.locking import lock_person
from app.platform import Platform
from app.storage import content_key, digest_of, owner_of

log = structlog.get_logger()

Item = TypeVar("Item")

ARCHIVES: Final = "archives"
FILES: Final = "files"
INTAKE: Final = "intake"
# the columns that reference the contents of each store; archives are referenced by their uploads
NAMING: Final[tuple[tuple[str, SQLColumnExpression[Any]], ...]] = (
    ("descriptions", Phase.description_key),
    ("descriptions", GroundTruth.description_key),
    ("artefacts", Artefact.key),
    (FILES, DataFile.key),
    (FILES, PictureSource.archive_key),
    (FILES, MadeFile.key),
    (INTAKE, IntakeSegment.key),
    (INTAKE, Intake.kept_key),
    ("truth", GroundTruth.key),
    ("truth", GroundTruth.image_labels_key),
    ("truth", Run.statistics_key),
    ("truth", PictureBatch.copy_key),
    ("truth", NextPictureBatch.copy_key),
)
SWEPT: Final = (
    ARCHIVES,
    "descriptions",
    "artefacts",
    FILES,
    INTAKE,
    "truth",
)  # not "keys": a lost key cannot be recreated
WITH_CONTENT: Final = (UploadState.RECEIVED, UploadState.CHECKED)
EVERY: Final = timedelta(days=1)
GRACE: Final = timedelta(hours=24)  # for an unreferenced content, whose row may be about to be written
BATCH: Final = 100  # contents in one transaction
SWEPT_ACTION: Final = "storage.sweep"  # the action of the audit record of a sweep
SUBJECT: Final = "storage"


def removable(session: Session, store: str, keys: Collection[str]) -> set[str]:
    """Return which of these contents can be removed after this transaction: unreferenced ones, or none during a backup.

    What remains because of a backup or a crash is removed by a sweep.
    """
    return set(keys) - _named(session, store, keys) if keys and database.removals_allowed(session) else set()


def _named(session: Session, store: str, keys: Collection[str]) -> set[str]:
    if store == ARCHIVES:
        return _of_uploads(session, keys)
    columns = (column for each, column in NAMING if each == store)
    return set(session.scalars(union(*(select(column).where(column.in_(keys)) for column in columns))))


def _of_uploads(session: Session, keys: Collection[str]) -> set[str]:
    """Return the contents that belong to an upload, or were stored for one that has not recorded them yet."""
    owners = {key: owner_of(key) for key in keys}
    statement = select(Upload.id, Upload.sha256).where(
        Upload.id.in_([owner for owner in owners.values() if owner]),
        Upload.state.in_((UploadState.RECEIVING, *WITH_CONTENT)),
    )
    digests = dict(session.execute(statement).all())
    return {
        key for key, owner in owners.items() if owner in digests and digests[owner] in (None, digest_of(key))
    }


def sweep_contents(platform: Platform) -> None:
    """Remove contents, partial uploads, and drafts that are unreferenced and older than a day.

    This lists whole stores, so each is swept once a day; those of ground truth only in a process that has access to them.
    """
    count = size = 0
    for name, store in platform.stores_by_name.items():
        with platform.transaction() as session:
            if not heartbeats.start_if_due(session, f"contents of {name}", EVERY):
                continue
        if name in SWEPT:
            removed = remove_unnamed(platform, name)
            count, size = count + len(removed), size + sum(removed)
        if name in RECEIVED_IN:
            _discard_partials(platform, name)
        store.sweep(GRACE)
    if count:
        log.info("unreferenced contents removed", count=count, bytes=size)
        with platform.transaction() as session:
            audit.record(session, None, SWEPT_ACTION, SUBJECT, details={"contents": count, "bytes": size})


def remove_unnamed(platform: Platform, name: str) -> list[int]:
    """Remove the contents of a store that are unreferenced and older than a day. Return the size of each."""
    store, before = platform.stores_by_name[name], datetime.now(UTC) - GRACE
    removed: list[int] = []
    for some in _batches(each for each in store.contents() if each.stored_at < before):
        sizes = {each.key: each.size for each in some}
        with platform.transaction() as session:
            keys = removable(session, name, sizes)
        for key in keys:
            store.delete(key)
            removed.append(sizes[key])
    return removed


# of each store that receives uploads, those that can be resumed
RECEIVED_IN: Final = {
    ARCHIVES: select(Upload.id).where(Upload.state == UploadState.RECEIVING),
    FILES: select(DataUpload.id),
}


def _discard_partials(platform: Platform, name: str) -> None:
    """Remove partial uploads that can no longer be resumed."""
    store, before = platform.stores_by_name[name], datetime.now(UTC) - GRACE
    partials = (each.upload_id for each in store.partials() if each.changed_at < before)
    for some in _batches(partials):
        with platform.transaction() as session:
            receiving = set(session.scalars(RECEIVED_IN[name]))
        for upload_id in set(some) - receiving:
            store.discard(upload_id)


def _batches(items: Iterable[Item]) -> Iterator[list[Item]]:
    rest = iter(items)
    while batch := list(islice(rest, BATCH)):
        yield batch


MAX_UPLOADS: Final = 1000  # unconfirmed uploads of one person
ROW_AGE: Final = timedelta(days=30)  # how long the row of a removed upload is kept
STORED: Final = (UploadState.RECEIVING, UploadState.RECEIVED, UploadState.CHECKED)


@dataclass(frozen=True, slots=True)
class Retention:
    """How long unconfirmed archives are kept."""

    unconfirmed: timedelta  # checked and valid, or never checked
    invalid: timedelta
    partial: timedelta


@dataclass(frozen=True, slots=True)
class StorageUse:
    """The storage used by unconfirmed uploads."""

    bytes: int
    uploads: int


def retention_of(platform: Platform) -> Retention:
    """Return this installation's retention times."""
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
    """When an upload expires; null for confirmed and removed uploads."""
    checked = Upload.state == UploadState.CHECKED
    return case(
        (is_confirmed(), null()),
        (Upload.state == UploadState.RECEIVING, Upload.started_at + retention.partial),
        (Upload.state == UploadState.RECEIVED, Upload.received_at + retention.unconfirmed),
        (and_(checked, Upload.valid.is_(true())), Upload.checked_at + retention.unconfirmed),
        (checked, Upload.checked_at + retention.invalid),
        else_=null(),
    )


def unconfirmed(session: Session, whose: ColumnElement[bool]) -> StorageUse:
    """Return the storage used by these unconfirmed uploads. An upload in progress counts with its declared size."""
    reserved = case((Upload.state == UploadState.RECEIVING, Upload.size), else_=Upload.received)
    statement = select(func.coalesce(func.sum(reserved), 0), func.count()).where(
        whose, Upload.state.in_(STORED), not_(is_confirmed())
    )
    return StorageUse(*map(int, session.execute(statement).one()))


def check_storage_quota(platform: Platform, session: Session, user_id: int, team_id: int, size: int) -> None:
    """Raise StoredBytesError if one more upload of `size` bytes would exceed the storage of its person or team.

    Until the end of the transaction no other upload of this person or team can start.
    """
    settings = platform.settings
    lock_person(session, user_id)
    teams.lock_team(session, team_id)
    shares = (
        ("Your", Upload.user_id == user_id, settings.max_stored, MAX_UPLOADS),
        ("Your team's", Upload.team_id == team_id, settings.max_stored_team, 2 * MAX_UPLOADS),
    )
    for whose, condition, most, most_uploads in shares:
        used = unconfirmed(session, condition)
        if used.bytes + size > most or used.uploads >= most_uploads:
            raise StoredBytesError(
                f"{whose} {used.uploads} uploads that are not submitted take {used.bytes // MiB} of "
                f"{most // MiB} MiB; delete some at /uploads or submit them"
            )


def sweep_uploads(platform: Platform) -> None:
    """Remove expired uploads, and the rows of those removed long ago."""
    while count := _expire(platform):
        log.info("uploads expired", count=count)
    with platform.transaction() as session:
        old = Upload.removed_at < func.clock_timestamp() - ROW_AGE
        session.execute(delete(Upload).where(old))
        unfinished = DataUpload.started_at < func.clock_timestamp() - retention_of(platform).partial
        session.execute(delete(DataUpload).where(unfinished))


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
    """Return expired uploads, locked, except those being confirmed right now."""
    statement = (
        select(Upload.id)
        .where(Upload.state.in_(STORED), expires_at(retention) < func.clock_timestamp())
        .limit(BATCH)
        .with_for_update(skip_locked=True)
    )
    return list(session.scalars(statement))


def expire(session: Session, upload_ids: Sequence[uuid.UUID]) -> list[Upload]:
    """Mark locked uploads as expired and return them, except any confirmed before they were locked.

    This needs a separate statement: only one that begins after the locks are held sees every confirmation.
    """
    statement = (
        update(Upload)
        .where(Upload.id.in_(upload_ids), not_(is_confirmed()))
        .values(state=UploadState.EXPIRED, removed_at=func.clock_timestamp())
        .returning(Upload)
    )
    return list(session.scalars(statement))
