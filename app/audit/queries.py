"""The audit in the database: rows are added and never change."""

from collections.abc import Mapping
from typing import Any, TypedDict, Unpack

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from app.access import Action, Actor
from app.audit.schemas import Record, Search
from app.models import AuditRecord, Edition, User
from app.visibility import rows_for


class Facts(TypedDict, total=False):
    """What else a record says."""

    edition_id: int | None  # whose organisers may read it; none: admins alone
    reason: str
    before: Mapping[str, Any]  # what changed, as it was
    after: Mapping[str, Any]  # and as it is
    details: Mapping[str, Any]


def record(session: Session, by: int | None, action: str, subject: str, **facts: Unpack[Facts]) -> None:
    """Write down, in the transaction of the change itself, who did what to what, and why.

    by: the id of a person, None for the command line; action: "noun.verb" such as "role.grant"; subject: "noun id" such
    as "entry 7".
    """
    session.add(AuditRecord(user_id=by, action=action, subject=subject, **facts))


def visible_records(actor: Actor) -> ColumnElement[bool]:
    """The records that somebody may read: admins all, organisers those of their editions."""
    return rows_for(actor, Action.READ_AUDIT, edition=AuditRecord.edition_id)


def records(session: Session, actor: Actor, search: Search, limit: int) -> list[Record]:
    """Records that somebody may read, newest first."""
    found = [visible_records(actor)]
    if search.action:
        found.append(AuditRecord.action.startswith(search.action, autoescape=True))
    if search.subject:
        found.append(AuditRecord.subject == search.subject)
    if search.by is not None:
        found.append(AuditRecord.user_id == search.by)
    if search.before is not None:
        found.append(AuditRecord.id < search.before)
    statement = (
        select(
            AuditRecord.id, AuditRecord.at, AuditRecord.user_id, User.name, AuditRecord.action, AuditRecord.subject,
            Edition.code, AuditRecord.reason, AuditRecord.before, AuditRecord.after, AuditRecord.details,
        )
        .outerjoin(User, AuditRecord.user_id == User.id)
        .outerjoin(Edition, AuditRecord.edition_id == Edition.id)
        .where(*found)
        .order_by(AuditRecord.id.desc())
        .limit(limit)
    )  # fmt: skip
    return [Record(*row) for row in session.execute(statement)]
