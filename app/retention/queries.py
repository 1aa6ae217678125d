"""When uploads are removed, and the removal of their rows and contents in the database."""

import uuid
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict
from datetime import timedelta
from typing import Any

from sqlalchemy import ColumnElement, and_, case, delete, func, not_, null, select, true, union, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.models import (
    DamagedContent,
    GroundTruth,
    Heartbeat,
    Job,
    Phase,
    PictureBatch,
    Removal,
    Run,
    Service,
    Submission,
    UnusedContent,
    Upload,
    UploadState,
)
from app.retention.schemas import DamagedContentView, Retention, StorageLine, UnusedContentView, Usage
from app.storage import Content, digest_of, owner_of

LEFTOVER_TURN = "leftovers"  # row of the heartbeat table: when leftovers were last looked for
STORED = (UploadState.RECEIVING, UploadState.RECEIVED, UploadState.CHECKED)
WITH_CONTENT = (UploadState.RECEIVED, UploadState.CHECKED)


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


def unconfirmed(session: Session, whose: ColumnElement[bool], max_upload: int) -> Usage:
    """How much these uploads take that are not confirmed; one of unknown size counts as `max_upload`."""
    reserved = case(
        (Upload.state == UploadState.RECEIVING, func.coalesce(Upload.size, max_upload)), else_=Upload.received
    )
    statement = select(func.coalesce(func.sum(reserved), 0), func.count()).where(
        whose, Upload.state.in_(STORED), not_(is_confirmed())
    )
    return Usage(*map(int, session.execute(statement).one()))


def lock_due(session: Session, retention: Retention, limit: int) -> list[uuid.UUID]:
    """Uploads whose time is over, locked; those that somebody confirms at this moment are left out."""
    statement = (
        select(Upload.id)
        .where(Upload.state.in_(STORED), expires_at(retention) < func.clock_timestamp())
        .limit(limit)
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


def begin_removal(session: Session, keys: Iterable[str]) -> None:
    """Note that contents are to be removed, except those that their uploads use, or may be about to.

    A content that is not used will never be: its key is that of one upload, which has ended. So it does not matter when a
    remover deletes it, or how often.
    """
    every = set(keys)
    unused = sorted(every - used_contents(session, every))  # in one order, so that nobody waits in a circle
    if unused:
        session.execute(insert(Removal).values([{"key": key} for key in unused]).on_conflict_do_nothing())


def claim_removals(session: Session, lease: timedelta, limit: int) -> list[str]:
    """Contents to remove now, which no other process removes at this moment."""
    free = (
        select(Removal.key)
        .where(Removal.claimed_until <= func.clock_timestamp())
        .order_by(Removal.begun_at)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    statement = (
        update(Removal)
        .where(Removal.key.in_(free.scalar_subquery()))
        .values(claimed_until=func.clock_timestamp() + lease)
        .returning(Removal.key)
    )
    return list(session.scalars(statement))


def end_removal(session: Session, key: str) -> None:
    """Note that a content is gone."""
    session.execute(delete(Removal).where(Removal.key == key))


def delete_old_rows(session: Session, age: timedelta) -> int:
    """Delete uploads that were removed longer ago than `age`; how many."""
    old = Upload.removed_at < func.clock_timestamp() - age
    return len(session.scalars(delete(Upload).where(old).returning(Upload.id)).all())


def receiving(session: Session, upload_ids: Sequence[uuid.UUID]) -> set[uuid.UUID]:
    """Which of these uploads still wait for bytes."""
    statement = select(Upload.id).where(Upload.id.in_(upload_ids), Upload.state == UploadState.RECEIVING)
    return set(session.scalars(statement))


def used_contents(session: Session, keys: Collection[str]) -> set[str]:
    """Which of these contents are an upload's, or were stored by one that has not yet written so down."""
    owners = {key: owner_of(key) for key in keys}
    statement = select(Upload.id, Upload.sha256, Upload.state).where(
        Upload.id.in_([owner for owner in owners.values() if owner]),
        Upload.state.in_((UploadState.RECEIVING, *WITH_CONTENT)),
    )
    digests = {upload_id: sha256 for upload_id, sha256, _ in session.execute(statement)}
    return {
        key for key, owner in owners.items() if owner in digests and digests[owner] in (None, digest_of(key))
    }


def take_turn(session: Session, every: timedelta) -> bool:
    """Whether leftovers are to be looked for now; the next turn is after `every`."""
    turn = insert(Heartbeat).values(name=LEFTOVER_TURN, service=Service.SWEEPER)
    statement = turn.on_conflict_do_update(
        index_elements=[Heartbeat.name],
        set_={"seen_at": func.clock_timestamp()},
        where=Heartbeat.seen_at < func.clock_timestamp() - every,
    )
    return session.scalar(statement.returning(Heartbeat.name)) is not None


def storage_lines(session: Session, retention: Retention) -> list[StorageLine]:
    """Uploads and their bytes by kind, with the next removal of each."""
    kind = case(
        (is_confirmed(), "confirmed"),
        (Upload.state == UploadState.RECEIVING, "partial"),
        (Upload.state == UploadState.RECEIVED, "not checked"),
        (Upload.valid.is_(true()), "valid, not confirmed"),
        else_="with problems",
    ).label("kind")
    due = expires_at(retention).label("due")
    stored = select(kind, Upload.received, due).where(Upload.state.in_(STORED)).subquery()
    soon = stored.c.due < func.clock_timestamp() + timedelta(days=1)
    statement = (
        select(
            stored.c.kind,
            func.count(),
            func.sum(stored.c.received),
            func.min(stored.c.due),
            func.count().filter(soon),
        )
        .group_by(stored.c.kind)
        .order_by(stored.c.kind)
    )
    return [
        StorageLine(kind, count, int(size), due, soon)
        for kind, count, size, due, soon in session.execute(statement)
    ]


def contents(session: Session) -> tuple[int, int]:
    """How many archives are stored, and their bytes."""
    count, size = session.execute(
        select(func.count(), func.coalesce(func.sum(Upload.received), 0)).where(
            Upload.state.in_(WITH_CONTENT)
        )
    ).one()
    return int(count), int(size)


def referenced(session: Session, keys: Collection[str]) -> set[str]:
    """Which of these contents are a phase's description or copied pictures, a ground truth or the statistics of a run."""
    columns = (Phase.description_key, GroundTruth.key, Run.statistics_key, PictureBatch.copy_key)
    statement = union(*(select(column).where(column.in_(keys)) for column in columns))
    return set(session.scalars(statement))


def replace_unused(session: Session, store: str, contents: Collection[Content]) -> None:
    """Note which contents of a store nothing names, in place of what was noted before."""
    session.execute(delete(UnusedContent).where(UnusedContent.store == store))
    session.add_all(UnusedContent(store=store, **asdict(content)) for content in contents)


def unused(session: Session, limit: int) -> tuple[UnusedContentView, ...]:
    """The oldest contents that nothing names."""
    columns = (UnusedContent.store, UnusedContent.key, UnusedContent.size, UnusedContent.stored_at)
    statement = select(*columns).order_by(UnusedContent.stored_at, UnusedContent.key).limit(limit)
    return tuple(UnusedContentView(*row) for row in session.execute(statement))


def total_unused(session: Session) -> tuple[int, int]:
    """How many contents nothing names, and their bytes."""
    size = func.coalesce(func.sum(UnusedContent.size), 0)
    count, total = session.execute(select(func.count(UnusedContent.key), size)).one()
    return int(count), int(total)


def damaged(session: Session, limit: int) -> tuple[DamagedContentView, ...]:
    """The contents that were found damaged first, with how many runs wait for each."""
    jobs = select(func.count()).where(Job.damaged_content_id == DamagedContent.id)
    statement = select(
        DamagedContent.what, DamagedContent.store, DamagedContent.key, DamagedContent.found_at,
        DamagedContent.checked_at, jobs.correlate(DamagedContent).scalar_subquery(),
    ).order_by(DamagedContent.id)  # fmt: skip
    return tuple(DamagedContentView(*row) for row in session.execute(statement.limit(limit)))


def count_damaged(session: Session) -> int:
    """How many contents are known to be damaged."""
    return session.scalar(select(func.count()).select_from(DamagedContent)) or 0


def count_removals(session: Session) -> int:
    """How many contents wait to be removed."""
    return session.scalar(select(func.count()).select_from(Removal)) or 0
