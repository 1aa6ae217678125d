"""JSON API: similar results."""

from fastapi import APIRouter

from app.core.access import Action
from app.evaluation import similarity
from app.evaluation.similarity import Dismissal, PairList
from app.web.dependencies import CurrentActor, ThePlatform, requires

router = APIRouter(prefix="/api/v1/organise", tags=["organisers"], dependencies=[requires(Action.ORGANISE)])


@router.get("/phases/{phase_id}/alike")
def pairs(
    platform: ThePlatform,
    actor: CurrentActor,
    phase_id: int,
    before: int | None = None,
    *,
    dismissed: bool = False,
) -> PairList:
    """List pairs of results so similar that the methods may be the same, newest first, 50 per page."""
    return similarity.pairs(platform, actor, phase_id, before, dismissed=dismissed)


@router.post("/alike/{pair_id}/dismiss", status_code=204)
def dismiss(platform: ThePlatform, actor: CurrentActor, pair_id: int, dismissal: Dismissal) -> None:
    """Dismiss a pair of similar results, with a reason."""
    similarity.dismiss(platform, actor, pair_id, dismissal)


@router.post("/alike/{pair_id}/restore", status_code=204)
def restore(platform: ThePlatform, actor: CurrentActor, pair_id: int) -> None:
    """Restore a dismissed pair."""
    similarity.restore(platform, actor, pair_id)
