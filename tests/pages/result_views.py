"""The details of a result as its page receives them."""

from datetime import timedelta
from typing import Any

from app.challenges.asking import Asking
from app.results.analyses import AnalysisView, ClassErrors, ErrorRow, Level, SweepView
from app.results.details import (
    EVERY,
    ClassChange,
    PublishedRun,
    Rank,
    ResultDetail,
    curves_figure,
    errors_figure,
    sweep_figure,
)
from app.results.exhibits import CurveView, ExhibitView
from app.results.submissions import RunView, SubmissionView
from tests.pages.drawn import CLASSES, EVIL, shown
from tests.pages.views import NOW

RANK = Rank(2, 14)
HISTORY = (
    PublishedRun(8, NOW, 2, "1", 0.51, (ClassChange(EVIL, 0.5, None), ClassChange("cat", None, 0.25))),
    PublishedRun(7, NOW - timedelta(days=9), 1, "1", 0.5, ()),
)


def errors(name: str | None = None) -> ClassErrors:
    rows = (
        ErrorRow("localisation", "localisation", f"overlaps {EVIL}", 1200, 0.081),
        ErrorRow("missed", "missed object", "is not found", 40, None),
    )
    return ClassErrors(name, 0.648, rows)


def sweep(swept: str, name: str | None) -> SweepView:
    levels = (Level(0.1, 0.7, 400), Level(0.3, 0.6, 300), Level(0.5, None, 0))
    return SweepView(swept, "IoU threshold", name, levels)


def analysis() -> AnalysisView:
    return AnalysisView(
        is_computed=True,
        errors=(errors(), errors("car")),
        sweeps=tuple(sweep(swept, name) for name in (None, "car") for swept in ("iou", "area")),
    )


def detail(run: RunView) -> ResultDetail:
    recall = tuple(each / 40 for each in range(41))
    curve = CurveView("car", recall, tuple(1 - each**2 for each in recall))
    found = analysis()
    return ResultDetail(
        names=tuple(CLASSES),
        drawn=("car", "cat"),
        curves=curves_figure([("car", 0.71, curve), (EVIL, None, curve)]),
        difficult={"aeroplane": 0.4, "mean": 0.3},
        exhibits=tuple(each for each in shown(run)[1:] if "curve" not in each.kind),
        analysis=found,
        errors=errors_figure([(EVERY, found.errors_of(None))]),
        sweeps=tuple(sweep_figure(group) for group in found.sweeps_of([None, "car"])),
    )


def context(
    view: SubmissionView, found: ResultDetail | None = None, chosen: int | None = None
) -> dict[str, Any]:
    """The context of a submission's page that shows one result in detail."""
    result = next((each for each in view.results if each.id == chosen), view.results[0])
    run = result.shown
    table = ExhibitView("score_table", run.measure or "Score", run.classes, run.headline, run.low, run.high)
    return {
        "submission": view,
        "table": table,
        "detail": found,
        "chosen": result.id,
        "query": "competition=3",
        "pause": 2,
        "is_part": False,
        "etag": None,
        "asking": Asking() if view.is_member else None,
    }
