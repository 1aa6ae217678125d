"""Removing what is not needed any more: archives that nobody confirmed, partial files, expired logins."""

import uuid
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TypeVar

import structlog
from sqlalchemy.orm import Session

from app import removals
from app.artefacts import service as artefacts
from app.errors import StoredBytesError
from app.memberships import queries as memberships
from app.models import Upload
from app.platform import Platform
from app.retention import queries
from app.retention.schemas import Retention, StorageView
from app.sessions import service as sessions
from app.storage import content_key

log = structlog.get_logger()

Item = TypeVar("Item")

REMOVAL_LEASE = timedelta(minutes=2)
MiB = 1 << 20
MAX_UPLOADS = 1000  # of one person that are not confirmed
BATCH = 100  # uploads of one transaction
MAX_LISTED = 200  # contents that are damaged, or that nothing names
ROW_AGE = timedelta(days=30)  # how long the row of a removed upload is kept
LEFTOVER_EVERY = timedelta(days=1)
LEFTOVER_AGE = timedelta(hours=24)  # of files that no upload knows


def retention_of(platform: Platform) -> Retention:
    """How long this installation keeps what."""
    settings = platform.settings
    return Retention(
        unconfirmed=timedelta(days=settings.keep_unconfirmed_days),
        invalid=timedelta(days=settings.keep_invalid_days),
        partial=timedelta(days=settings.keep_partial_days),
    )


def refuse_beyond_share(
    platform: Platform, session: Session, user_id: int, team_id: int, size: int | None
) -> None:
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
        used = queries.unconfirmed(session, condition, settings.max_upload)
        if used.bytes + (size or 1) > most or used.uploads >= most_uploads:
            raise StoredBytesError(
                f"{whose} {used.uploads} uploads that are not confirmed take {used.bytes // MiB} of "
                f"{most // MiB} MiB; delete some at /uploads, or confirm them"
            )


def sweep(platform: Platform) -> int:
    """Remove uploads whose time is over, rows of those removed long ago, and expired logins; how many uploads."""
    count = 0
    while expired := _expire(platform):
        count += len(expired)
    remove_contents(platform)
    with platform.transaction() as session:
        queries.delete_old_rows(session, ROW_AGE)
        is_leftover_turn = queries.take_turn(session, LEFTOVER_EVERY)
    sessions.delete_expired_sessions(platform)
    if is_leftover_turn:
        remove_leftovers(platform)
        note_unused(platform)
        artefacts.remove_unused(platform)
    if count:
        log.info("uploads expired", count=count)
    return count


def _expire(platform: Platform) -> list[uuid.UUID]:
    with platform.transaction() as session:
        due = queries.lock_due(session, retention_of(platform), BATCH)
        expired = queries.expire(session, due) if due else []
        stored = [content_key(upload.sha256, upload.id) for upload in expired if upload.sha256]
        queries.begin_removal(session, stored)
    for upload in expired:
        platform.archives.discard(upload.id)
    return [upload.id for upload in expired]


def remove_contents(platform: Platform) -> None:
    """Remove the contents whose removal was decided, also those that a crash left over; later, while a backup is taken."""
    while True:
        with platform.transaction() as session:
            if not removals.are_allowed(session):
                return
            keys = queries.claim_removals(session, REMOVAL_LEASE, BATCH)
        for key in keys:
            platform.archives.delete(key)
            with platform.transaction() as session:
                queries.end_removal(session, key)
        if len(keys) < BATCH:
            return


def remove_leftovers(platform: Platform) -> int:
    """Remove archives that belong to no upload, and drafts in every store, which a crash has left; how many.

    It lists the whole store, so a sweep does it once a day.
    """
    before, count = datetime.now(UTC) - LEFTOVER_AGE, 0
    partials = (each.upload_id for each in platform.archives.partials() if each.changed_at < before)
    for some in _batches(partials):
        with platform.transaction() as session:
            unknown = set(some) - queries.receiving(session, some)
        for upload_id in unknown:
            platform.archives.discard(upload_id)
        count += len(unknown)
    contents = (each.key for each in platform.archives.contents() if each.stored_at < before)
    for keys in _batches(contents):
        with platform.transaction() as session:
            unused = set(keys) - queries.used_contents(session, keys)
            queries.begin_removal(session, unused)
        count += len(unused)
    remove_contents(platform)
    return count + sum(store.sweep(LEFTOVER_AGE) for store in platform.stores)


def note_unused(platform: Platform) -> None:
    """Note which old descriptions, ground truths and statistics nothing names any more, for organisers to see.

    They are not removed: unlike an archive's, their key is that of their bytes alone, so that an import may be about to
    use one again.
    """
    stores = {"descriptions": platform.descriptions, "ground truth": platform.private}
    for name, store in stores.items():
        if store is None:  # only workers and commands know it
            continue
        old = [each for each in store.contents() if each.stored_at < datetime.now(UTC) - LEFTOVER_AGE]
        with platform.transaction() as session:
            used = {
                key for some in _batches(old) for key in queries.referenced(session, [c.key for c in some])
            }
            queries.replace_unused(session, name, [each for each in old if each.key not in used])


def _batches(items: Iterable[Item]) -> Iterator[list[Item]]:
    rest = iter(items)
    while batch := list(islice(rest, BATCH)):
        yield batch


def storage(platform: Platform) -> StorageView:
    """What the stores hold, and what is removed when."""
    retention = retention_of(platform)
    with platform.snapshot() as session:
        contents, content_bytes = queries.contents(session)
        unused_contents, unused_bytes = queries.total_unused(session)
        return StorageView(
            lines=tuple(queries.storage_lines(session, retention)),
            contents=contents,
            content_bytes=content_bytes,
            removals=queries.count_removals(session),
            retention=retention,
            max_stored=platform.settings.max_stored,
            damaged=queries.damaged(session, MAX_LISTED),
            damaged_contents=queries.count_damaged(session),
            unused=queries.unused(session, MAX_LISTED),
            unused_contents=unused_contents,
            unused_bytes=unused_bytes,
        )
