"""Checks in the database: whose turn it is, what is checked, and the report."""

import uuid
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import func, or_, select, update
from sqlalchemy.orm import Session, aliased

from app.memberships import queries as memberships
from app.models import Phase, Upload, UploadState
from app.storage import content_key


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose upload it is: a person, in a team."""

    user_id: int
    team_id: int


@dataclass(frozen=True, slots=True)
class Task:
    """An archive and the description that it is checked against."""

    key: str
    filename: str
    description_key: str
    competitions: tuple[int, ...] | None


def owner_of(session: Session, upload_id: uuid.UUID) -> Owner | None:
    """Whose upload this is, if it waits to be checked."""
    statement = select(Upload.user_id, Upload.team_id).where(
        Upload.id == upload_id, Upload.state == UploadState.RECEIVED
    )
    row = session.execute(statement).one_or_none()
    return Owner(*row) if row else None


def claim(session: Session, upload_id: uuid.UUID, owner: Owner, lease: timedelta) -> bool:
    """Begin the check of an upload unless another of its person or its team is under way; whether it may begin."""
    memberships.lock_person(session, owner.user_id)
    memberships.lock_team(session, owner.team_id)
    other = aliased(Upload)
    busy = select(other.id).where(
        or_(other.user_id == owner.user_id, other.team_id == owner.team_id),
        other.check_until > func.clock_timestamp(),
    )
    statement = (
        update(Upload)
        .where(Upload.id == upload_id, Upload.state == UploadState.RECEIVED, ~busy.exists())
        .values(check_until=func.clock_timestamp() + lease)
        .returning(Upload.id)
    )
    return session.scalar(statement) is not None


def extend(session: Session, upload_id: uuid.UUID, lease: timedelta) -> None:
    """Keep the turn for another lease."""
    session.execute(
        update(Upload)
        .where(Upload.id == upload_id, Upload.check_until.is_not(None))
        .values(check_until=func.clock_timestamp() + lease)
    )


def release(session: Session, upload_id: uuid.UUID) -> None:
    """Let the next archive of the same person and team be checked."""
    session.execute(update(Upload).where(Upload.id == upload_id).values(check_until=None))


def task_of(session: Session, upload_id: uuid.UUID) -> Task | None:
    """What a check needs of an upload that waits for one."""
    statement = (
        select(Upload.sha256, Upload.filename, Phase.description_key, Upload.competitions)
        .join(Phase, Upload.phase_id == Phase.id)
        .where(Upload.id == upload_id, Upload.state == UploadState.RECEIVED)
    )
    row = session.execute(statement).one_or_none()
    if row is None:
        return None
    competitions = tuple(row.competitions) if row.competitions else None
    return Task(content_key(row.sha256 or "", upload_id), row.filename, row.description_key, competitions)


def record_report(session: Session, upload_id: uuid.UUID, report: dict[str, Any]) -> None:
    """Store the report of a check, unless the upload has ended in the meantime."""
    session.execute(
        update(Upload)
        .where(Upload.id == upload_id, Upload.state == UploadState.RECEIVED)
        .values(
            state=UploadState.CHECKED,
            report=report,
            valid=bool(report["valid"]),
            checked_at=func.clock_timestamp(),
            check_until=None,
        )
    )
