"""Removing stored contents that no row names.

Every content belongs to one row, whose key it has: nobody else can be about to name it, so it does not matter when it is
removed, or how often.
"""

from collections.abc import Collection, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any, Final, TypeVar

import structlog
from sqlalchemy import SQLColumnExpression, func, select, union
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app import removals
from app.audit import queries as audit
from app.models import (
    Artefact,
    GroundTruth,
    Heartbeat,
    Phase,
    PictureBatch,
    Run,
    Service,
    Upload,
    UploadState,
)
from app.platform import Platform
from app.storage import digest_of, owner_of

log = structlog.get_logger()

Item = TypeVar("Item")

# which column of the database names the contents of which store; archives are named by their uploads
NAMING: Final[tuple[tuple[str, SQLColumnExpression[Any]], ...]] = (
    ("descriptions", Phase.description_key),
    ("artefacts", Artefact.key),
    ("truth", GroundTruth.key),
    ("truth", Run.statistics_key),
    ("truth", PictureBatch.copy_key),
)
ARCHIVES: Final = "archives"
SWEPT: Final = (ARCHIVES, "descriptions", "artefacts", "truth")  # not "keys": a lost key is never made again
WITH_CONTENT: Final = (UploadState.RECEIVED, UploadState.CHECKED)
EVERY: Final = timedelta(days=1)
GRACE: Final = timedelta(hours=24)  # of a content that no row names; its row may be about to be written
BATCH: Final = 100  # contents of one transaction
SWEPT_ACTION: Final = "storage.sweep"  # in the audit, of what a sweep has removed
SUBJECT: Final = "storage"


def removable(session: Session, store: str, keys: Collection[str]) -> set[str]:
    """Which of these contents may be removed once this transaction has ended: those that no row names, and none during a backup.

    What is not removed then, because of a backup or a crash, is removed by a sweep.
    """
    return set(keys) - _named(session, store, keys) if keys and removals.are_allowed(session) else set()


def _named(session: Session, store: str, keys: Collection[str]) -> set[str]:
    if store == ARCHIVES:
        return _of_uploads(session, keys)
    columns = (column for each, column in NAMING if each == store)
    return set(session.scalars(union(*(select(column).where(column.in_(keys)) for column in columns))))


def _of_uploads(session: Session, keys: Collection[str]) -> set[str]:
    """The contents that are an upload's, or were stored by one that has not yet written so down."""
    owners = {key: owner_of(key) for key in keys}
    statement = select(Upload.id, Upload.sha256).where(
        Upload.id.in_([owner for owner in owners.values() if owner]),
        Upload.state.in_((UploadState.RECEIVING, *WITH_CONTENT)),
    )
    digests = dict(session.execute(statement).all())
    return {
        key for key, owner in owners.items() if owner in digests and digests[owner] in (None, digest_of(key))
    }


def sweep(platform: Platform) -> None:
    """Remove contents, partial uploads and drafts that nothing names and that are older than a day.

    It lists whole stores, so it looks at each once a day; those of ground truth only in a process that knows them.
    """
    count = size = 0
    for name, store in platform.stores_by_name.items():
        with platform.transaction() as session:
            if not _take_turn(session, name):
                continue
        if name in SWEPT:
            removed = remove_unnamed(platform, name)
            count, size = count + len(removed), size + sum(removed)
        if name == ARCHIVES:
            _discard_partials(platform)
        store.sweep(GRACE)
    if count:
        log.info("contents removed that no row names", count=count, bytes=size)
        with platform.transaction() as session:
            audit.record(session, None, SWEPT_ACTION, SUBJECT, details={"contents": count, "bytes": size})


def _take_turn(session: Session, store: str) -> bool:
    """Whether a store is to be swept now."""
    turn = insert(Heartbeat).values(name=f"contents of {store}", service=Service.SWEEPER)
    statement = turn.on_conflict_do_update(
        index_elements=[Heartbeat.name],
        set_={"seen_at": func.clock_timestamp()},
        where=Heartbeat.seen_at < func.clock_timestamp() - EVERY,
    )
    return session.scalar(statement.returning(Heartbeat.name)) is not None


def remove_unnamed(platform: Platform, name: str) -> list[int]:
    """Remove the contents of a store that no row names and that are older than a day; the size of each."""
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


def _discard_partials(platform: Platform) -> None:
    """Remove partial uploads that nobody can go on with."""
    before = datetime.now(UTC) - GRACE
    partials = (each.upload_id for each in platform.archives.partials() if each.changed_at < before)
    for some in _batches(partials):
        statement = select(Upload.id).where(Upload.id.in_(some), Upload.state == UploadState.RECEIVING)
        with platform.transaction() as session:
            receiving = set(session.scalars(statement))
        for upload_id in set(some) - receiving:
            platform.archives.discard(upload_id)


def _batches(items: Iterable[Item]) -> Iterator[list[Item]]:
    rest = iter(items)
    while batch := list(islice(rest, BATCH)):
        yield batch
