"""Jobs that failed, for admins."""

from app.delivery import queries as delivery
from app.delivery.schemas import DeadMessage
from app.platform import Platform


def dead_messages(platform: Platform) -> tuple[DeadMessage, ...]:
    """Messages of the outbox that were given up."""
    with platform.transaction() as session:
        return delivery.dead_messages(session)
