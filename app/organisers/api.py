"""What organisers' programs can do."""

from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from app.access import Action
from app.delivery import service as delivery
from app.delivery.schemas import DeadMessage
from app.editions import service as editions
from app.organisers import service
from app.organisers.schemas import OrganiserPhase
from app.rescoring import service as rescoring
from app.rescoring.schemas import Choice
from app.web import CurrentActor, ThePlatform, requires

router = APIRouter(prefix="/api/v1/organise", tags=["organisers"], dependencies=[requires(Action.ORGANISE)])


class NewDecision(BaseModel):
    """What happens to an entry that a re-scoring could not score."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True)

    choice: Annotated[
        Choice, Field(description="keep its old score on the board, marked; withdraw it; or retry")
    ]
    reason: Annotated[str, Field(max_length=1000, description="required to withdraw")] = ""


@router.get("")
def overview(platform: ThePlatform) -> tuple[OrganiserPhase, ...]:
    """Every phase with its queue, its ground truth and a re-scoring that is under way."""
    return service.overview(platform)


@router.post("/entries/{entry_id}/rescore", status_code=202)
def rescore_entry(platform: ThePlatform, actor: CurrentActor, entry_id: int) -> dict[str, int]:
    """Score one entry again."""
    return {"rescore": rescoring.request_entry(platform, entry_id, requested_by=actor.user_id)}


@router.post("/{edition}/{image_set}/rescore", status_code=202)
def rescore(platform: ThePlatform, actor: CurrentActor, edition: str, image_set: str) -> dict[str, int]:
    """Score everything on a phase's boards again; they switch all at once when every entry is scored or decided."""
    phase = editions.phase_page(platform, edition, image_set)
    return {"rescore": rescoring.request(platform, phase.id, requested_by=actor.user_id)}


@router.post("/runs/{run_id}/decision", status_code=204)
def decide(platform: ThePlatform, actor: CurrentActor, run_id: int, decision: NewDecision) -> None:
    """Decide about an entry that a re-scoring could not score; the boards switch after the last decision."""
    rescoring.decide(platform, actor, run_id, decision.choice, decision.reason)


@router.post("/rescores/{rescore_id}/retry")
def retry(platform: ThePlatform, rescore_id: int) -> dict[str, int]:
    """Queue everything again that a re-scoring could not score and nobody has decided; returns how many runs."""
    return {"runs": rescoring.retry(platform, rescore_id)}


@router.post("/rescores/{rescore_id}/abandon", status_code=204)
def abandon(platform: ThePlatform, rescore_id: int) -> None:
    """Drop a re-scoring; the boards stay as they are."""
    rescoring.abandon(platform, rescore_id)


@router.get("/messages")
def dead_messages(platform: ThePlatform) -> tuple[DeadMessage, ...]:
    """Messages of the outbox that were given up after several attempts, the latest first."""
    return service.dead_messages(platform)


@router.post("/messages/{message_id}/retry", status_code=204)
def retry_message(platform: ThePlatform, message_id: int) -> None:
    """Deliver a message again that was given up."""
    delivery.retry(platform, message_id)


@router.delete("/messages/{message_id}", status_code=204)
def discard_message(platform: ThePlatform, actor: CurrentActor, message_id: int) -> None:
    """Delete a message that was given up."""
    delivery.discard(platform, actor, message_id)
