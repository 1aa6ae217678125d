"""The most confident true positives, background detections and poorly localised detections of a class."""

from dataclasses import dataclass

import numpy as np

from scoring.analysis.ranked_detections import LargestOverlaps, RankedDetections, largest_overlaps
from scoring.data.arrays import Flags
from scoring.metrics.matching import ClassObjects
from scoring.metrics.ranking import FALSE_POSITIVE, TRUE_POSITIVE
from scoring.tasks.detection.rules import DetectionRules

Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class TopDetection:
    """A detection with its rank in the class, from 1, and its image, from 0 in the order of the Main set.

    box: left, top, right, bottom in pixels; iou: the largest with an object of the class, in [0, 1].
    """

    rank: int
    image: int
    confidence: float
    box: Box
    iou: float


@dataclass(frozen=True, slots=True)
class TopDetections:
    """The most confident detections of a class, best first.

    background: false positives in images without an object of the class; poorly_localised: false positives in images
    with one, but below the IoU threshold.
    """

    class_name: str
    true_positives: tuple[TopDetection, ...]
    background: tuple[TopDetection, ...]
    poorly_localised: tuple[TopDetection, ...]


def find_top_detections(
    detections: RankedDetections, objects: ClassObjects, rules: DetectionRules, *, count: int = 5
) -> TopDetections:
    """The `count` most confident detections of a class of each sort.

    Source: Everingham et al., "The PASCAL Visual Object Classes (VOC) Challenge", 2010, section 6.2.4 and Figures 20 to
    25.

    >>> from scoring.data.matches import RankedPredictions
    >>> from scoring.protocols import PROTOCOLS
    >>> from scoring.tasks.detection.task import DETECTION
    >>> one, boxes = np.zeros(1, np.int32), np.array([[1.0, 1, 10, 4]])
    >>> ranked = RankedPredictions("cat", 1, one, np.array([0.9]), np.zeros(1, np.int8))
    >>> objects = ClassObjects(one, one + 1, np.array([[1.0, 1, 10, 10]]), one > 0, one > 0)
    >>> rules = PROTOCOLS["voc2012"].rules_of(DETECTION)
    >>> find_top_detections(RankedDetections(ranked, boxes), objects, rules).poorly_localised
    (TopDetection(rank=1, image=0, confidence=0.9, box=(1.0, 1.0, 10.0, 4.0), iou=0.4),)
    """
    ranked, overlaps = detections.ranked, largest_overlaps(detections, objects, rules)
    is_false, present = ranked.outcomes == FALSE_POSITIVE, objects.count[ranked.image] > 0
    below = overlaps.iou < rules.iou_threshold
    return TopDetections(
        ranked.class_name,
        true_positives=_top(ranked.outcomes == TRUE_POSITIVE, detections, overlaps, count),
        background=_top(is_false & ~present, detections, overlaps, count),
        poorly_localised=_top(is_false & present & below, detections, overlaps, count),
    )


def _top(
    chosen: Flags, detections: RankedDetections, overlaps: LargestOverlaps, count: int
) -> tuple[TopDetection, ...]:
    rows = np.flatnonzero(chosen)[:count]
    ranked = detections.ranked
    columns = (
        rows + 1,
        ranked.image[rows],
        ranked.confidence[rows],
        detections.boxes[rows],
        overlaps.iou[rows],
    )
    fields = zip(*(column.tolist() for column in columns), strict=True)
    return tuple(
        TopDetection(place, image, score, tuple(box), iou) for place, image, score, box, iou in fields
    )
