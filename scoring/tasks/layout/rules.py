"""How person layouts are scored."""

from dataclasses import dataclass

from scoring.metrics.averaging import Average
from scoring.metrics.boxes import IoU
from scoring.metrics.layout_matching import (
    MatchLayouts,
)
from scoring.metrics.measures import RankingMeasure
from scoring.metrics.rule_values import as_threshold


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

    def __post_init__(self) -> None:
        """Check the threshold. Raises DataError."""
        object.__setattr__(self, "iou_threshold", as_threshold("iou_threshold", self.iou_threshold))
