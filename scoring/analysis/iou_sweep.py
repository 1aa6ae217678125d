"""How a score depends on the overlap that is asked for."""

import math
from collections.abc import Sequence
from typing import Final

from scoring.analysis.placed_detections import PlacedDetections
from scoring.data.arrays import Labels
from scoring.findings import Sweep, SweepPoint, Swept
from scoring.metrics.matching import ClassObjects
from scoring.metrics.ranking import Measure
from scoring.tasks.detection.rules import DetectionRules

IOU_THRESHOLDS: Final = tuple(level / 10 for level in range(1, 10))


def sweep_iou_threshold(
    placed: PlacedDetections,
    ground_truth: ClassObjects,
    rules: DetectionRules,
    levels: Sequence[float] = IOU_THRESHOLDS,
) -> Sweep:
    """The score of a class if so much overlap were asked for, everything else by the rules.

    sought: as `rules.seek` leaves it. Source: Everingham et al., "The PASCAL Visual Object Classes (VOC)
    Challenge", 2010, section 6.2.3 and Figure 19.

    >>> import numpy as np
    >>> from scoring.data.matches import RankedPredictions
    >>> one, boxes = np.zeros(1, np.int32), np.array([[1.0, 1, 10, 10]])
    >>> placed = PlacedDetections(RankedPredictions("cat", 1, one, np.array([0.9]), np.ones(1, np.int8)), boxes)
    >>> objects = ClassObjects(one, one + 1, boxes + (0, 0, 0, 5), one > 0, one > 0)
    >>> from scoring.protocols import PROTOCOLS
    >>> from scoring.tasks.detection.task import DETECTION
    >>> sweep = sweep_iou_threshold(placed, objects, PROTOCOLS["voc2012"].rules_of(DETECTION), [0.5, 0.6, 0.7])
    >>> [point.value for point in sweep.points]
    [1.0, 1.0, 0.0]
    """
    predictions = placed.as_detections()
    matched = (rules.match_class(predictions, ground_truth, iou_threshold=level).outcomes for level in levels)
    points = tuple(
        point_of(level, outcomes, ground_truth.positives, rules.measure.of)
        for level, outcomes in zip(levels, matched, strict=True)
    )
    return Sweep(placed.ranked.class_name, Swept.OVERLAP, points)


def point_of(level: float, outcomes: Labels, positives: int, measure: Measure) -> SweepPoint:
    """What a ranking is worth at a level of a sweep.

    >>> import numpy as np
    >>> from scoring.metrics.ranking import average_precision
    >>> point_of(0.5, np.array([1, 0], np.int8), 2, average_precision)
    SweepPoint(level=0.5, value=0.5, positives=2)
    """
    value = measure(outcomes, positives) if positives else math.nan
    return SweepPoint(level, None if math.isnan(value) else value, positives)
