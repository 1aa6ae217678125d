"""How detections are scored."""

from dataclasses import dataclass

from scoring.data.boxes import BoxConvention
from scoring.data.checking import as_choice
from scoring.data.detections import ClassDetections
from scoring.metrics.averaging import Average, Pool
from scoring.metrics.boxes import IoU
from scoring.metrics.matching import (
    ClassObjects,
    Match,
    Matches,
    SelectPositives,
    positives_without_difficult,
)
from scoring.metrics.measures import RankingMeasure
from scoring.metrics.rule_values import as_threshold


@dataclass(frozen=True, slots=True)
class DetectionRules:
    """How detections are scored.

    match: matches the detections of a class to its objects, with `iou` and `iou_threshold`; measure: the value of a class;
    select_positives: the objects that count as positives; second_table: those of a second table of values, such as with
    difficult objects included. The headline is the `average` of the
    classes, or where `pool` merges their rankings the measure of the whole. absent_is_empty: a class without a file is
    scored as one without detections. convention: that of the boxes that `iou` expects, to which those of ground truth and
    detections are converted where theirs differs; None takes them as those of the ground truth are stored.
    """

    match: Match
    iou: IoU
    iou_threshold: float
    measure: RankingMeasure
    average: Average
    select_positives: SelectPositives = positives_without_difficult
    pool: Pool | None = None
    second_table: SelectPositives | None = None
    absent_is_empty: bool = False
    convention: BoxConvention | None = BoxConvention.INCLUSIVE

    def __post_init__(self) -> None:
        """Check what is a number or a name. Raises DataError."""
        object.__setattr__(self, "iou_threshold", as_threshold("iou_threshold", self.iou_threshold))
        if self.convention is not None:
            object.__setattr__(self, "convention", as_choice("convention", self.convention, BoxConvention))

    def align(
        self, predictions: ClassDetections, ground_truth: ClassObjects
    ) -> tuple[ClassDetections, ClassObjects]:
        """Detections and objects of a class with their boxes in the convention of these rules."""
        convention = self.convention or ground_truth.convention
        return predictions.to(convention), ground_truth.to(convention)

    def match_class(
        self, predictions: ClassDetections, ground_truth: ClassObjects, *, iou_threshold: float | None = None
    ) -> Matches:
        """Match by these rules, whatever the conventions of the boxes; iou_threshold: another one than theirs."""
        predictions, ground_truth = self.align(predictions, ground_truth)
        threshold = self.iou_threshold if iou_threshold is None else iou_threshold
        return self.match(predictions, ground_truth, self.iou, threshold)
