"""What organisers' programs can do."""

from fastapi import APIRouter

from app.access import Action
from app.editions import service as editions
from app.organisers import service
from app.organisers.schemas import OrganiserPhase
from app.rescoring import service as rescoring
from app.web import CurrentActor, ThePlatform, requires

router = APIRouter(prefix="/api/organise", tags=["organisers"], dependencies=[requires(Action.ORGANISE)])


@router.get("")
def overview(platform: ThePlatform) -> tuple[OrganiserPhase, ...]:
    """Every phase with its queue, its ground truth and a re-scoring that is under way."""
    return service.overview(platform)


@router.post("/entries/{entry_id}/rescore", status_code=202)
def rescore_entry(platform: ThePlatform, actor: CurrentActor, entry_id: int) -> dict[str, int]:
    """Score one entry again."""
    return {"rescore": rescoring.request_entry(platform, entry_id, asked_by=actor.user_id)}


@router.post("/{edition}/{image_set}/rescore", status_code=202)
def rescore(platform: ThePlatform, actor: CurrentActor, edition: str, image_set: str) -> dict[str, int]:
    """Score everything on a phase's boards again; they switch all at once when all is through."""
    phase = editions.phase_page(platform, edition, image_set)
    return {"rescore": rescoring.request(platform, phase.id, asked_by=actor.user_id)}
