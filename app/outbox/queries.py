"""The outbox in the database."""

from typing import Any

from sqlalchemy.orm import Session

from app.models import OutboxMessage, Topic


def add(session: Session, topic: Topic, payload: dict[str, Any]) -> None:
    """Write a message that is delivered once this transaction has committed."""
    session.add(OutboxMessage(topic=topic, payload=payload))
