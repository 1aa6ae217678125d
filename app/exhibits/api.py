"""The exhibits of runs for programs."""

from fastapi import APIRouter

from app.access import Action
from app.exhibits import service
from app.exhibits.schemas import CurveView, ExhibitView
from app.web import CurrentActor, ThePlatform, requires

router = APIRouter(prefix="/api/v1", tags=["submissions"])


@router.get("/runs/{run_id}/tables", dependencies=[requires(Action.READ_SUBMISSION)])
def tables(platform: ThePlatform, actor: CurrentActor, run_id: int) -> tuple[ExhibitView, ...]:
    """Scores by other rules, reported beside the official ones: difficult objects included, all pixels together."""
    return service.tables(platform, actor, run_id)


@router.get("/runs/{run_id}/curves", dependencies=[requires(Action.READ_SUBMISSION)])
def curves(
    platform: ThePlatform, actor: CurrentActor, run_id: int, class_name: str | None = None
) -> tuple[CurveView, ...]:
    """Precision/recall curves with every point; hidden while the annotation is held out."""
    return service.curves(platform, actor, run_id, class_name)
