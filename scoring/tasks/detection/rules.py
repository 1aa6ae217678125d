"""How detections are scored."""

from dataclasses import dataclass

from scoring.metrics.averaging import Average, Pool
from scoring.metrics.boxes import IoU
from scoring.metrics.matching import Match, SelectPositives, positives_without_difficult
from scoring.metrics.measures import RankingMeasure


@dataclass(frozen=True, slots=True)
class DetectionRules:
    """How detections are scored.

    least: the smallest overlap of a right answer; seek: what must be found. The headline is the average of the classes'
    values, unless `pool` puts all classes into one ranking, whose value it is then. beside: what must be found for other
    numbers that are told beside these. absent_is_empty: a class without a file is scored as one without detections.
    """

    match: Match
    iou: IoU
    iou_threshold: float
    measure: RankingMeasure
    average: Average
    seek: SelectPositives = positives_without_difficult
    pool: Pool | None = None
    beside: SelectPositives | None = None
    absent_is_empty: bool = False
