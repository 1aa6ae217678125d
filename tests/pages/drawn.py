"""Every kind of exhibit of a run, with names that contain markup."""

from app.results.exhibits import ClassValue, CurveView, ExhibitView, MatrixView, RocView
from app.results.submissions import RunView

EVIL = "<script>alert('x')</script>\"&"
NAMES = "aeroplane bicycle bird boat bottle bus car cat chair cow diningtable dog horse motorbike person"
CLASSES = [*NAMES.split(), "pottedplant", "sheep", "sofa", "train", "tvmonitor"]


def curves() -> tuple[CurveView, ...]:
    recall = tuple(each / 40 for each in range(41))
    return tuple(CurveView(name, recall, tuple(1 - each**2 for each in recall)) for name in CLASSES)


def shown(run: RunView) -> tuple[ExhibitView, ...]:
    """Every kind of exhibit that a page shows of a run."""
    drawn = curves()
    matrix = MatrixView(("background", EVIL), ((0.9, 0.1), (None, None)), ((9, 1), (0, 0)))
    return (
        ExhibitView("score_table", run.measure or "Score", run.classes, run.headline, run.low, run.high),
        ExhibitView("score_table", f"{EVIL}, difficult objects included", (ClassValue("car", 0.4),), 0.4),
        ExhibitView("curve", "Precision over recall", drawn),
        ExhibitView("roc_curve", "ROC curve", (RocView("car", (0.0, 1.0), (0.5, 1.0)),)),
        ExhibitView("confusion_matrix", "Confusion of labels", (matrix,)),
    )
