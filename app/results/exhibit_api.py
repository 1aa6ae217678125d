"""JSON API: receipts, tables, curves and analyses of runs."""

from fastapi import APIRouter, Response

from app.core.access import Action
from app.core.rate_limits import Limited
from app.results import analyses, exhibits, receipts
from app.results.analyses import AnalysisView
from app.results.exhibits import CurveView, ExhibitView, csv_of
from app.web.dependencies import CurrentActor, ThePlatform, limited, requires

router = APIRouter(prefix="/api/v1", tags=["submissions"])


@router.get("/receipts/{receipt}", dependencies=[requires(Action.READ_SUBMISSION)])
def receipt(platform: ThePlatform, actor: CurrentActor, receipt: str) -> receipts.ConfirmedReceipt:
    """The result that a receipt belongs to, if you may see it, by comparison with the receipts stored at scoring."""
    return receipts.find_by_receipt(platform, actor, receipt)


@router.get("/runs/{run_id}/tables", dependencies=[requires(Action.READ_SUBMISSION)])
def tables(platform: ThePlatform, actor: CurrentActor, run_id: int) -> tuple[ExhibitView, ...]:
    """Scores by other rules than the official ones, for example with difficult objects included or over all pixels together."""
    return exhibits.tables(platform, actor, run_id)


@router.get("/runs/{run_id}/curves", dependencies=[requires(Action.READ_SUBMISSION), limited(Limited.VIEW)])
def curves(
    platform: ThePlatform, actor: CurrentActor, run_id: int, class_name: str | None = None
) -> tuple[CurveView, ...]:
    """Every point of the PR curves. Hidden while the annotation is held out."""
    return exhibits.curves(platform, actor, run_id, class_name)


@router.get(
    "/runs/{run_id}/curves.csv",
    response_class=Response,
    responses={200: {"content": {"text/csv": {}}}},
    dependencies=[requires(Action.READ_SUBMISSION), limited(Limited.VIEW)],
)
def curves_csv(
    platform: ThePlatform, actor: CurrentActor, run_id: int, class_name: str | None = None
) -> Response:
    """The PR curves as CSV: a line for each point, with class, recall, and precision in [0, 1]."""
    content = csv_of(exhibits.curves(platform, actor, run_id, class_name))
    headers = {"Content-Disposition": f'attachment; filename="curves-of-run-{run_id}.csv"'}
    return Response(content, headers=headers, media_type="text/csv")


@router.get("/runs/{run_id}/analysis", dependencies=[requires(Action.READ_SUBMISSION), limited(Limited.VIEW)])
def analysis(platform: ThePlatform, actor: CurrentActor, run_id: int) -> AnalysisView:
    """Kinds of errors with the score that each costs, and scores over IoU thresholds and object sizes.

    Computed after the intervals. Hidden while the annotation is held out.
    """
    return analyses.analysis(platform, actor, run_id)
