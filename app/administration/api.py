"""What admins' programs can do."""

from fastapi import APIRouter

from app.access import Action
from app.administration import service
from app.delivery import service as delivery
from app.delivery.schemas import DeadMessage
from app.web import CurrentActor, ThePlatform, requires

router = APIRouter(prefix="/api/v1/admin", tags=["admins"])

JOBS = requires(Action.MANAGE_JOBS)


@router.get("/messages", dependencies=[JOBS])
def dead_messages(platform: ThePlatform) -> tuple[DeadMessage, ...]:
    """Messages of the outbox that were given up after several attempts, the latest first."""
    return service.dead_messages(platform)


@router.post("/messages/{message_id}/retry", status_code=204, dependencies=[JOBS])
def retry_message(platform: ThePlatform, message_id: int) -> None:
    """Deliver a message again that was given up."""
    delivery.retry(platform, message_id)


@router.delete("/messages/{message_id}", status_code=204, dependencies=[JOBS])
def discard_message(platform: ThePlatform, actor: CurrentActor, message_id: int) -> None:
    """Delete a message that was given up."""
    delivery.discard(platform, actor, message_id)
