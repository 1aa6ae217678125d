"""The audit log: records are added, never changed."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, TypedDict, Unpack

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from app.core.access import Action, Actor, rows_for
from app.models import AuditRecord, Challenge, User

LARGEST_ID = 2**63 - 1


class AuditSearch(BaseModel):
    """Filters for audit records; an empty field matches all."""

    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True, frozen=True)

    action: Annotated[
        str, Field(max_length=80, description="an action or its beginning: role, result.withdraw")
    ] = ""
    subject: Annotated[
        str, Field(max_length=80, description="the object of the action: person 7, result 12")
    ] = ""
    by: Annotated[int | None, Field(ge=1, le=LARGEST_ID, description="id of the person who did it")] = None
    before: Annotated[int | None, Field(ge=1, le=LARGEST_ID, description="`next` of the previous page")] = (
        None
    )


@dataclass(frozen=True, slots=True)
class Record:
    """Who did what, when and why."""

    id: int
    at: datetime
    by: int | None  # None for the command line
    name: str | None  # of that person
    action: str
    subject: str
    challenge: str | None
    reason: str
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    details: Mapping[str, Any]


class RecordFields(TypedDict, total=False):
    """The optional fields of a record."""

    challenge_id: int | None  # its organisers may read the record; None for admins only
    reason: str
    before: Mapping[str, Any]  # the old values of what changed
    after: Mapping[str, Any]  # the new values
    details: Mapping[str, Any]


def record(
    session: Session, by: int | None, action: str, subject: str, **facts: Unpack[RecordFields]
) -> None:
    """Add an audit record in the transaction of the change itself.

    by: the id of a person, None for the command line; action: "noun.verb", such as "role.grant"; subject: "noun id", such
    as "result 7".
    """
    session.add(AuditRecord(user_id=by, action=action, subject=subject, **facts))


def visible_records(actor: Actor) -> ColumnElement[bool]:
    """The condition for records that an actor may read: admins all, organisers those of their challenges."""
    return rows_for(actor, Action.READ_AUDIT, challenge=AuditRecord.challenge_id)


def records(
    session: Session, actor: Actor, search: AuditSearch, limit: int, *more: ColumnElement[bool]
) -> list[Record]:
    """Return the matching records that the actor may read, newest first; more: other conditions on records and users."""
    found = [visible_records(actor), *more]
    if search.action:
        found.append(AuditRecord.action.startswith(search.action, autoescape=True))
    if search.subject:
        found.append(AuditRecord.subject == search.subject)
    if search.by is not None:
        found.append(AuditRecord.user_id == search.by)
    if search.before is not None:
        found.append(AuditRecord.id < search.before)
    statement = (
        select(AuditRecord, User.name.label("person"), Challenge.code.label("challenge"))
        .outerjoin(User, AuditRecord.user_id == User.id)
        .outerjoin(Challenge, AuditRecord.challenge_id == Challenge.id)
        .where(*found)
        .order_by(AuditRecord.id.desc())
        .limit(limit)
    )
    return [_view(row[0], person=row.person, challenge=row.challenge) for row in session.execute(statement)]


def _view(row: AuditRecord, *, person: str | None, challenge: str | None) -> Record:
    return Record(
        id=row.id,
        at=row.at,
        by=row.user_id,
        name=person,
        action=row.action,
        subject=row.subject,
        challenge=challenge,
        reason=row.reason,
        before=row.before,
        after=row.after,
        details=row.details,
    )
