"""The audit in the database: rows are added and never change."""

from collections.abc import Mapping
from typing import Any, TypedDict, Unpack

from sqlalchemy.orm import Session

from app.models import AuditRecord


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
