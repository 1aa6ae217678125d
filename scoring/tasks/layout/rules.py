"""How person layouts are scored."""

from dataclasses import dataclass

from scoring.metrics.averaging import Average
from scoring.metrics.boxes import IoU
from scoring.metrics.layout_matching import (
    MatchLayouts,
)
from scoring.metrics.measures import RankingMeasure


@dataclass(frozen=True, slots=True)
class LayoutRules:
    """How layouts are scored.

    names: the columns of the report, the parts or the whole person; boxed: whether a layout refers to a person by a box instead of
    a number; iou_threshold: the smallest IoU of a match.
    """

    match: MatchLayouts
    names: tuple[str, ...]
    boxed: bool
    iou: IoU
    iou_threshold: float
    measure: RankingMeasure
    average: Average
