"""The outbox as the processes that deliver it see it."""

from collections.abc import Collection
from datetime import timedelta

from sqlalchemy import ColumnElement, and_, delete, func, not_, select, true, tuple_, update
from sqlalchemy.orm import Session, aliased

from app.delivery.schemas import DeadMessage, Delivery
from app.models import OutboxMessage, Topic
from app.row_pages import RowPage, page_of

MOST_DEAD = 100  # on a page
HIDDEN = {"address", "fields"}  # of a mail: where it goes, and what it says


def _is_due() -> ColumnElement[bool]:
    return and_(
        OutboxMessage.delivered_at.is_(None),
        OutboxMessage.dead_at.is_(None),
        OutboxMessage.not_before <= func.clock_timestamp(),
    )


def _is_under_way() -> ColumnElement[bool]:
    """Whether somebody delivers another message with the same key at this moment."""
    other = aliased(OutboxMessage)
    return (
        select(other.id)
        .where(
            other.topic == OutboxMessage.topic,
            other.key == OutboxMessage.key,
            other.id != OutboxMessage.id,
            other.attempt > 0,
            other.not_before > func.clock_timestamp(),
            other.delivered_at.is_(None),
            other.dead_at.is_(None),
        )
        .correlate(OutboxMessage)
        .exists()
    )


def claim_next(session: Session, lease: timedelta, topics: Collection[Topic]) -> Delivery | None:
    """Take the message of these topics that has been due for the longest time; nobody else gets it for a lease's length.

    Those of the same key that wait with it count as delivered from now on: all of them are committed, so whoever delivers
    this one sees what they speak of. One that is written later is delivered later.
    """
    first = (
        select(OutboxMessage.id)
        .where(_is_due(), OutboxMessage.topic.in_(topics), not_(_is_under_way()))
        .order_by(OutboxMessage.not_before, OutboxMessage.id)
        .limit(1)
        .with_for_update(skip_locked=True, of=OutboxMessage)
        .scalar_subquery()
    )
    statement = (
        update(OutboxMessage)
        .where(OutboxMessage.id == first)
        .values(attempt=OutboxMessage.attempt + 1, not_before=func.clock_timestamp() + lease)
        .returning(
            OutboxMessage.key, OutboxMessage.id, OutboxMessage.topic, OutboxMessage.payload, OutboxMessage.attempt
        )
    )  # fmt: skip
    row = session.execute(statement).one_or_none()
    if row is None:
        return None
    key, *claimed = row
    delivery = Delivery(*claimed)
    if key is not None:
        _absorb(session, delivery, key)
    return delivery


def _absorb(session: Session, delivery: Delivery, key: str) -> None:
    """Mark the messages delivered that wait with the same key; one that another process has locked is left to it."""
    waiting = (
        select(OutboxMessage.id)
        .where(
            OutboxMessage.topic == delivery.topic,
            OutboxMessage.key == key,
            OutboxMessage.id != delivery.id,
            OutboxMessage.attempt == 0,
            OutboxMessage.delivered_at.is_(None),
            OutboxMessage.dead_at.is_(None),
        )
        .with_for_update(skip_locked=True)
    )
    absorbed = update(OutboxMessage).where(OutboxMessage.id.in_(waiting.scalar_subquery()))
    session.execute(
        absorbed.values(delivered_at=func.clock_timestamp()),
        execution_options={"synchronize_session": False},
    )


def _is_mine(delivery: Delivery) -> ColumnElement[bool]:
    return and_(
        OutboxMessage.id == delivery.id,
        OutboxMessage.attempt == delivery.attempt,
        OutboxMessage.delivered_at.is_(None),
    )


def extend(session: Session, delivery: Delivery, lease: timedelta) -> bool:
    """Extend the lease; whether this attempt is still the latest."""
    statement = update(OutboxMessage).where(_is_mine(delivery))
    extended = statement.values(not_before=func.clock_timestamp() + lease).returning(OutboxMessage.id)
    return session.scalar(extended) is not None


def mark_delivered(session: Session, delivery: Delivery) -> None:
    """Note that a message has been delivered, if this attempt is still the latest."""
    statement = update(OutboxMessage).where(_is_mine(delivery))
    session.execute(statement.values(delivered_at=func.clock_timestamp(), error=None))


def postpone(session: Session, delivery: Delivery, pause: timedelta, error: str, *, counts: bool) -> None:
    """Let a message be delivered again after a pause; `counts`: this attempt was one of those that it has."""
    statement = update(OutboxMessage).where(_is_mine(delivery))
    attempt = delivery.attempt if counts else delivery.attempt - 1
    session.execute(statement.values(not_before=func.clock_timestamp() + pause, error=error, attempt=attempt))


def give_up(session: Session, delivery: Delivery, error: str) -> None:
    """Give a message up; organisers see it."""
    statement = update(OutboxMessage).where(_is_mine(delivery))
    session.execute(statement.values(dead_at=func.clock_timestamp(), error=error))


def count_due(session: Session, topics: Collection[Topic], most: int) -> int:
    """How many messages of these topics are due; counts no further than `most`."""
    due = select(OutboxMessage.id).where(_is_due(), OutboxMessage.topic.in_(topics)).limit(most).subquery()
    return session.scalar(select(func.count()).select_from(due)) or 0


def forget_delivered(session: Session, age: timedelta) -> int:
    """Delete messages that were delivered longer ago than `age`; how many."""
    statement = delete(OutboxMessage).where(OutboxMessage.delivered_at < func.clock_timestamp() - age)
    return len(session.scalars(statement.returning(OutboxMessage.id)).all())


def dead_messages(session: Session, before: int | None = None) -> RowPage[DeadMessage]:
    """A page of the messages that were given up, the latest first; before: the last one of the page before, if it is still one of them."""
    order = (OutboxMessage.dead_at, OutboxMessage.id)
    last = session.execute(
        select(*order).where(OutboxMessage.id == before, order[0].is_not(None))
    ).one_or_none()
    statement = (
        select(
            OutboxMessage.id, OutboxMessage.topic, OutboxMessage.payload, OutboxMessage.attempt,
            func.coalesce(OutboxMessage.error, ""), OutboxMessage.dead_at,
        )
        .where(OutboxMessage.dead_at.is_not(None), tuple_(*order) < tuple_(*last) if last else true())
        .order_by(*(each.desc() for each in order))
        .limit(MOST_DEAD + 1)
    )  # fmt: skip
    found = [
        DeadMessage(id_, topic, {name: payload[name] for name in payload if name not in HIDDEN}, *rest)
        for id_, topic, payload, *rest in session.execute(statement)
    ]
    return page_of(found, MOST_DEAD, number=lambda message: message.id)


def revive(session: Session, message_id: int) -> bool:
    """Let a message that was given up be delivered again; whether there was one."""
    statement = (
        update(OutboxMessage)
        .where(OutboxMessage.id == message_id, OutboxMessage.dead_at.is_not(None))
        .values(dead_at=None, attempt=0, not_before=func.clock_timestamp())
    )
    return session.scalar(statement.returning(OutboxMessage.id)) is not None


def discard(session: Session, message_id: int) -> bool:
    """Delete a message that was given up; whether there was one."""
    statement = delete(OutboxMessage).where(
        OutboxMessage.id == message_id, OutboxMessage.dead_at.is_not(None)
    )
    return session.scalar(statement.returning(OutboxMessage.id)) is not None
