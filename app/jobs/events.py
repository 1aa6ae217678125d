"""Events that people are told of, recorded in the transaction of what happened."""

from typing import Any

from sqlalchemy import Select, insert, literal, select
from sqlalchemy.dialects.postgresql import insert as insert_if_new
from sqlalchemy.orm import Session

from app.jobs import queue
from app.models import Event, EventKey, EventKind, JobKind


def record(
    session: Session,
    kind: EventKind,
    *,
    challenge_id: int | None = None,
    phase_id: int | None = None,
    team_id: int | None = None,
    user_id: int | None = None,
    **details: Any,
) -> None:
    """Record an event; a job tells everybody whom it concerns after this transaction.

    user_id: the only person it is for, if there is one. details: ids and words that its text needs, never a score. Of them,
    `by` is the id of the person who did it and so is not told; `path` is the address of the page it is about, `title` says in
    words what that is, and `text` is Markdown that its mail shows.
    """
    event = Event(
        kind=kind,
        challenge_id=challenge_id,
        phase_id=phase_id,
        team_id=team_id,
        user_id=user_id,
        details=details,
    )
    session.add(event)
    _tell(session)


def record_once(session: Session, key: str, kind: EventKind, **facts: Any) -> None:
    """Record an event unless one was recorded with this key. facts: as of `record`.

    Another transaction that uses the key at the same time waits for the outcome of this one.
    """
    claimed = insert_if_new(EventKey).values(name=key).on_conflict_do_nothing()
    if session.scalar(claimed.returning(EventKey.name)) is not None:
        record(session, kind, **facts)


def record_each(session: Session, kind: EventKind, rows: Select[*tuple[Any, ...]]) -> int:
    """Record an event for each row of a query, in one statement; return how many.

    rows: columns of `Event`, and `key` if each is recorded only the first time.
    """
    found = rows.cte("found")
    names = [column.name for column in found.c if column.name != "key"]
    chosen = select(literal(kind, Event.kind.type), *(found.c[name] for name in names))
    if "key" in found.c:
        claimed = insert_if_new(EventKey).from_select(["name"], select(found.c.key)).on_conflict_do_nothing()
        first = claimed.returning(EventKey.name).cte("first")
        chosen = chosen.join(first, first.c.name == found.c.key)
    recorded = session.scalars(insert(Event).from_select(["kind", *names], chosen).returning(Event.id)).all()
    if recorded:
        _tell(session)
    return len(recorded)


def _tell(session: Session) -> None:
    queue.add(session, JobKind.NOTIFY, {}, owner=None, key="events")
