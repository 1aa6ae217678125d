"""API: what scoring a phase again would do, the preview of a re-scoring, and what organisers do with it."""

from fastapi import APIRouter

from app.challenges import challenges
from app.core.access import Action
from app.evaluation import publishing, rescoring
from app.evaluation.publishing import Publishing
from app.evaluation.rescoring import RescorePlan
from app.organising import previews
from app.organising.preview_pages import BoardNumber, OnlyMoved, PageNumber
from app.organising.previews import Preview
from app.web.dependencies import CurrentActor, ThePlatform, requires

router = APIRouter(prefix="/api/v1/organise", tags=["organisers"], dependencies=[requires(Action.ORGANISE)])


@router.get("/{challenge}/{image_set}/rescore")
def plan(platform: ThePlatform, actor: CurrentActor, challenge: str, image_set: str) -> RescorePlan:
    """Get what scoring a phase again would do, without starting it."""
    phase = challenges.phase_page(platform, challenge, image_set)
    return rescoring.plan(platform, actor, phase.id)


@router.get("/rescores/{rescore_id}")
def preview(
    platform: ThePlatform,
    actor: CurrentActor,
    rescore_id: int,
    *,
    competition: BoardNumber = None,
    page: PageNumber = 1,
    moved: OnlyMoved = False,
) -> Preview:
    """Get the progress of a re-scoring, and what publishing it changes: old and new scores and ranks of a board."""
    return previews.preview(platform, actor, rescore_id, competition, only_moved=moved, page=page)


@router.post("/rescores/{rescore_id}/publish", status_code=204)
def publish(platform: ThePlatform, actor: CurrentActor, rescore_id: int, asked: Publishing) -> None:
    """Publish the new scores of a re-scoring: all boards of its phase switch at once."""
    publishing.publish(platform, actor, rescore_id, asked)


@router.post("/rescores/{rescore_id}/pause", status_code=204)
def pause(platform: ThePlatform, actor: CurrentActor, rescore_id: int) -> None:
    """Pause a re-scoring; runs that were started are finished."""
    publishing.pause(platform, actor, rescore_id)


@router.post("/rescores/{rescore_id}/resume", status_code=204)
def resume(platform: ThePlatform, actor: CurrentActor, rescore_id: int) -> None:
    """Let a paused re-scoring go on."""
    publishing.resume(platform, actor, rescore_id)
