"""Storage use, for admins."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import case, func, select, true, update
from sqlalchemy.orm import Session

from app.models import AuditRecord, DamagedContent, Job, Upload, UploadState
from app.platform import Platform
from app.submissions.retention import (
    STORED,
    SUBJECT,
    SWEPT_ACTION,
    WITH_CONTENT,
    Retention,
    expires_at,
    is_confirmed,
    retention_of,
)
from app.web.formats import size

MAX_LISTED: Final = 200  # damaged files


@dataclass(frozen=True, slots=True)
class StorageLine:
    """How much storage one kind of upload uses."""

    kind: str
    uploads: int
    bytes: int
    next_removal: datetime | None  # when the first of them is removed; None: they are kept
    due_within_day: int  # uploads to be removed


@dataclass(frozen=True, slots=True)
class DamagedContentView:
    """A stored file whose bytes have changed."""

    what: str  # e.g. "stored archive"
    store: str  # "archives", "descriptions", "artefacts", "files", "intake" or "truth", as backups name them
    key: str
    found_at: datetime
    checked_at: datetime  # when it was last found damaged; before it was found: is checked again soon
    runs: int  # how many wait for its repair


@dataclass(frozen=True, slots=True)
class LastSweep:
    """The last sweep that removed files without a row."""

    at: datetime
    contents: int
    bytes: int


@dataclass(frozen=True, slots=True)
class StorageView:
    """Archives by kind, what the last sweep removed, and the damaged files of all stores."""

    lines: tuple[StorageLine, ...]
    contents: int  # archives
    content_bytes: int
    retention: Retention
    max_stored: int  # bytes that one person's unconfirmed uploads may use
    damaged: tuple[DamagedContentView, ...]  # those found first
    damaged_contents: int
    last_sweep: LastSweep | None

    @property
    def stacked(self) -> list[tuple[str, int]]:
        """The bytes of each kind, with its words."""
        return [(f"{line.kind}: {size(line.bytes)}", line.bytes) for line in self.lines]


def storage(platform: Platform) -> StorageView:
    """Return what the stores hold, and when it is removed."""
    retention = retention_of(platform)
    with platform.snapshot() as session:
        archives = select(func.count(), func.coalesce(func.sum(Upload.received), 0))
        contents, content_bytes = session.execute(archives.where(Upload.state.in_(WITH_CONTENT))).one()
        return StorageView(
            lines=tuple(_lines(session, retention)),
            contents=int(contents),
            content_bytes=int(content_bytes),
            retention=retention,
            max_stored=platform.settings.max_stored,
            damaged=_damaged(session),
            damaged_contents=count_damaged(session),
            last_sweep=_last_sweep(session),
        )


def _lines(session: Session, retention: Retention) -> list[StorageLine]:
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
            func.count().label("uploads"),
            func.sum(stored.c.received).label("bytes"),
            func.min(stored.c.due).label("next_removal"),
            func.count().filter(soon).label("due_within_day"),
        )
        .group_by(stored.c.kind)
        .order_by(stored.c.kind)
    )
    return [
        StorageLine(row.kind, row.uploads, int(row.bytes), row.next_removal, row.due_within_day)
        for row in session.execute(statement)
    ]


def check_soon(platform: Platform) -> None:
    """Have the next sweep of each worker check which damaged files are repaired, and release what waits for them."""
    before = DamagedContent.found_at - timedelta(days=1)
    with platform.transaction() as session:
        session.execute(update(DamagedContent).values(checked_at=before))


def _damaged(session: Session) -> tuple[DamagedContentView, ...]:
    """Return the damaged files found first, with the number of runs waiting for each."""
    jobs = select(func.count()).where(Job.damaged_content_id == DamagedContent.id)
    runs = jobs.correlate(DamagedContent).scalar_subquery()
    statement = select(DamagedContent, runs).order_by(DamagedContent.id).limit(MAX_LISTED)
    return tuple(
        DamagedContentView(row.what, row.store, row.key, row.found_at, row.checked_at, runs)
        for row, runs in session.execute(statement)
    )


def count_damaged(session: Session) -> int:
    """Count the stored files that are known to be damaged."""
    return session.scalar(select(func.count()).select_from(DamagedContent)) or 0


def _last_sweep(session: Session) -> LastSweep | None:
    statement = select(AuditRecord.at, AuditRecord.details).where(
        AuditRecord.subject == SUBJECT, AuditRecord.action == SWEPT_ACTION
    )
    row = session.execute(statement.order_by(AuditRecord.id.desc()).limit(1)).one_or_none()
    return LastSweep(row.at, row.details["contents"], row.details["bytes"]) if row else None
