"""The outbox in the database."""

from typing import Any

from sqlalchemy import ColumnElement, SQLColumnExpression, and_, select
from sqlalchemy.orm import Session

from app.models import Entry, OutboxMessage, Topic


def add(session: Session, topic: Topic, payload: dict[str, Any]) -> None:
    """Write a message that is delivered once this transaction has committed."""
    session.add(OutboxMessage(topic=topic, payload=payload))


def add_once(session: Session, topic: Topic, key: str, payload: dict[str, Any]) -> None:
    """Write a message that is delivered together with all others of this topic and key that wait by then.

    So what follows from a thousand changes of a board is done once, after the last of them. Nothing is locked: two
    transactions that write the same key do not wait for each other.
    """
    session.add(OutboxMessage(topic=topic, key=key, payload=payload))


def is_waiting(topic: Topic, *keys: str | SQLColumnExpression[str]) -> ColumnElement[bool]:
    """Whether a message of this topic and one of these keys is still to be delivered, and was not given up."""
    waits = and_(OutboxMessage.delivered_at.is_(None), OutboxMessage.dead_at.is_(None))
    return (
        select(OutboxMessage.id)
        .where(OutboxMessage.topic == topic, OutboxMessage.key.in_(keys), waits)
        .correlate_except(OutboxMessage)
        .exists()
    )


def add_board(session: Session, phase_id: int, competition: int) -> None:
    """Have made anew what a board shows beside its rows, because the rows have changed."""
    payload = {"phase_id": phase_id, "competition": competition}
    add_once(session, Topic.BOARD, f"{phase_id}/{competition}", payload)


def add_boards(session: Session, *which: ColumnElement[bool]) -> None:
    """Do so for every board with results of entries that these conditions choose."""
    boards = select(Entry.phase_id, Entry.competition).where(Entry.published_run_id.is_not(None), *which)
    for phase_id, competition in session.execute(boards.distinct()).all():
        add_board(session, phase_id, competition)
