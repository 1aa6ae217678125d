"""Analyses for programs."""

from fastapi import APIRouter

from app.access import Action
from app.analyses import service
from app.analyses.schemas import AnalysisView
from app.rate_limits import Limited
from app.web import CurrentActor, ThePlatform, limited, requires

router = APIRouter(prefix="/api/v1", tags=["submissions"])


@router.get("/runs/{run_id}/analysis", dependencies=[requires(Action.READ_SUBMISSION), limited(Limited.VIEW)])
def analysis(platform: ThePlatform, actor: CurrentActor, run_id: int) -> AnalysisView:
    """Kinds of errors with the score that each costs, and scores over IoU thresholds and sizes of objects.

    Computed after the intervals; hidden while the annotation is held out.
    """
    return service.analysis(platform, actor, run_id)
