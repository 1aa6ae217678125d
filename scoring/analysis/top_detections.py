"""The answers that a detector is surest of: right ones, wrong ones, and near misses."""

from dataclasses import dataclass

import numpy as np

from scoring.analysis.placed_detections import Nearest, PlacedDetections, nearest_objects
from scoring.data.arrays import Flags
from scoring.metrics.matching import ClassObjects
from scoring.metrics.ranking import FALSE_POSITIVE, TRUE_POSITIVE
from scoring.tasks.detection.rules import DetectionRules

Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class ListedDetection:
    """An answer: its rank among all of its class, from 1; its image, from 0 in the Main set's order; its box in pixels.

    overlap: with the object of its class that it overlaps most, intersection over union; 0 if it meets none.
    """

    rank: int
    image: int
    confidence: float
    box: Box
    iou: float


@dataclass(frozen=True, slots=True)
class RankedLists:
    """The surest answers of a class, best first: right ones; wrong ones in images without any such object; near misses.

    A near miss is wrong in an image with such an object, for it overlaps none of them enough.
    """

    class_name: str
    right: tuple[ListedDetection, ...]
    elsewhere: tuple[ListedDetection, ...]
    near: tuple[ListedDetection, ...]


def list_surest(
    placed: PlacedDetections, ground_truth: ClassObjects, rules: DetectionRules, *, count: int = 5
) -> RankedLists:
    """The lists of so many each. sought: the objects of the class.

    Source: Everingham et al., "The PASCAL Visual Object Classes (VOC) Challenge", 2010,
    section 6.2.4 and Figures 20 to 25.

    >>> from scoring.data.matches import RankedPredictions
    >>> from scoring.protocols import PROTOCOLS
    >>> from scoring.tasks.detection.task import DETECTION
    >>> one, boxes = np.zeros(1, np.int32), np.array([[1.0, 1, 10, 4]])
    >>> placed = PlacedDetections(RankedPredictions("cat", 1, one, np.array([0.9]), np.zeros(1, np.int8)), boxes)
    >>> objects = ClassObjects(one, one + 1, np.array([[1.0, 1, 10, 10]]), one > 0, one > 0)
    >>> list_surest(placed, objects, PROTOCOLS["voc2012"].rules_of(DETECTION)).near
    (ListedDetection(rank=1, image=0, confidence=0.9, box=(1.0, 1.0, 10.0, 4.0), iou=0.4),)
    """
    ranked = placed.ranked
    nearest = nearest_objects(placed, ground_truth, rules)
    wrong, present = ranked.outcomes == FALSE_POSITIVE, ground_truth.count[ranked.image] > 0
    return RankedLists(
        ranked.class_name,
        right=_first(ranked.outcomes == TRUE_POSITIVE, placed, nearest, count),
        elsewhere=_first(wrong & ~present, placed, nearest, count),
        near=_first(wrong & present & (nearest.iou < rules.iou_threshold), placed, nearest, count),
    )


def _first(
    chosen: Flags, placed: PlacedDetections, nearest: Nearest, count: int
) -> tuple[ListedDetection, ...]:
    places = np.flatnonzero(chosen)[:count]
    columns = (
        places + 1,
        placed.ranked.image[places],
        placed.ranked.confidence[places],
        placed.boxes[places],
        nearest.iou[places],
    )
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return tuple(
        ListedDetection(rank, image, sure, tuple(box), much) for rank, image, sure, box, much in rows
    )
