"""How a score depends on the size of what there is to be found."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from scoring.analysis.iou_sweep import point_of
from scoring.analysis.placed_detections import PlacedDetections
from scoring.data.arrays import Floats, Integers
from scoring.data.boxes import BoxConvention, convert_boxes
from scoring.data.ground_truth import GroundTruth
from scoring.data.matches import RankedPredictions
from scoring.findings import Sweep, SweepPoint, Swept
from scoring.metrics.labels import Value
from scoring.metrics.matching import ClassObjects
from scoring.metrics.ranking import IGNORED, TRUE_POSITIVE
from scoring.tasks.detection.rules import DetectionRules

SIZES: Final = (0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
"""Shares of an image's area."""


def sweep_size_of_objects(
    placed: PlacedDetections,
    ground_truth: ClassObjects,
    sizes: Integers,
    rules: DetectionRules,
    levels: Sequence[float] = SIZES,
) -> Sweep:
    """The score of a class of detections if objects below a share of their image's area were difficult.

    Such an object need not be found, and answers that mean it are ignored. sought: as `rules.seek` leaves it;
    sizes: int32 (images, 2), width and height. Source: Everingham et al., "The PASCAL Visual Object Classes
    (VOC) Challenge", 2010, section 6.2.5 and Figure 26.

    >>> one, boxes = np.zeros(1, np.int32), np.array([[1.0, 1, 10, 10]])
    >>> placed = PlacedDetections(RankedPredictions("cat", 1, one, np.array([0.9]), np.ones(1, np.int8)), boxes)
    >>> objects, sizes = ClassObjects(one, one + 1, boxes, one > 0, one > 0), np.array([[50, 20]])
    >>> from scoring.protocols import PROTOCOLS
    >>> from scoring.tasks.detection.task import DETECTION
    >>> sweep = sweep_size_of_objects(placed, objects, sizes, PROTOCOLS["voc2012"].rules_of(DETECTION), [0.1, 0.2])
    >>> [(point.value, point.positives) for point in sweep.points]
    [(1.0, 1), (None, 0)]
    """
    predictions, shares = placed.as_detections(), shares_of_objects(ground_truth, sizes)
    points = []
    for level in levels:
        left = replace(ground_truth, difficult=ground_truth.difficult | (shares < level))
        outcomes = rules.match_class(predictions, left).outcomes
        points.append(point_of(level, outcomes, left.positives, rules.measure.of))
    return Sweep(placed.ranked.class_name, Swept.SIZE, tuple(points))


def sweep_size_of_positives(
    ranked: RankedPredictions, shares: Floats, value: Value, levels: Sequence[float] = SIZES
) -> Sweep:
    """The score of a class of a classification without the positive images that show too little of it.

    shares: float64 (images,), see `shares_of_images`; value: what the rules draw from a ranking. The images left out
    are neither right nor wrong; all negative ones stay. Source: as above, section 6.1.5 and Figure 15.

    >>> from scoring.metrics.labels import ranked_average_precision
    >>> images, outcomes = np.arange(3, dtype=np.int32), np.array([1, 0, 1], np.int8)
    >>> ranked, shares = RankedPredictions("cat", 2, images, np.array([0.9, 0.5, 0.1]),
    ...     outcomes), np.array([0.02, 0, 0.3])
    >>> sweep = sweep_size_of_positives(ranked, shares, ranked_average_precision, [0.01, 0.1])
    >>> [(round(point.value, 3), point.positives) for point in sweep.points]
    [(0.833, 2), (0.5, 1)]
    """
    points = []
    for level in levels:
        small = (ranked.outcomes == TRUE_POSITIVE) & (shares[ranked.image] < level)
        outcomes = np.where(small, np.int8(IGNORED), ranked.outcomes)
        positives = int(np.count_nonzero(outcomes == TRUE_POSITIVE))
        left = replace(ranked, positives=positives, outcomes=outcomes)
        points.append(SweepPoint(level, value(left) if positives else None, positives))
    return Sweep(ranked.class_name, Swept.SIZE, tuple(points))


def shares_of_objects(ground_truth: ClassObjects, sizes: Integers) -> Floats:
    """The share of its image's area that each object's box has, float64 (objects,); sizes: int32 (images, 2).

    >>> one = np.zeros(1, np.int32)
    >>> objects = ClassObjects(one, one + 1, np.array([[1.0, 1, 10, 10]]), one > 0, one > 0)
    >>> shares_of_objects(objects, np.array([[50, 20]])).item()
    0.1
    """
    image = np.repeat(np.arange(len(ground_truth.count)), ground_truth.count)
    left, top, right, bottom = ground_truth.to(BoxConvention.HALF_OPEN).boxes.T
    width, height = sizes[image].T.astype(np.float64)
    shares: Floats = (right - left) * (bottom - top) / (width * height)
    return shares


def shares_of_images(truth: GroundTruth, class_name: str) -> Floats:
    """The share of each image of the Main set that lies in the boxes of a class, together: float64 (images,).

    Difficult objects are pixels of the class as well. This stands for the share of pixels that show the class.

    >>> from scoring import Box, truth_of_boxes
    >>> from scoring.data.annotations import AnnotatedObject, Annotation
    >>> cats = (AnnotatedObject("cat", Box(1, 1, 10, 10)), AnnotatedObject("cat", Box(6, 1, 15, 10)))
    >>> truth = truth_of_boxes({"a": Annotation(50, 20, cats)}, dataset="VOC2012", image_set="val",
    ...     classes=("cat",))
    >>> shares_of_images(truth, "cat").tolist()
    [0.15]
    """
    objects, main = truth.tables.objects, truth.lists.main
    here = np.flatnonzero((objects.name == truth.lists.classes.index(class_name)) & (objects.image < main))
    shares = np.zeros(main)
    images, first = np.unique(objects.image[here], return_index=True)
    edges = convert_boxes(objects.boxes[here], truth.tables.convention, BoxConvention.HALF_OPEN)
    for image, boxes in zip(images.tolist(), np.split(edges, first[1:]), strict=False):
        width, height = truth.tables.sizes[image].tolist()
        shares[image] = _area_of_union(boxes, width, height) / (width * height)
    return shares


def _area_of_union(boxes: Floats, width: int, height: int) -> float:
    """The area in pixels of the union of half-open boxes, float64 (n, 4), as far as they lie in the image."""
    across = np.clip(boxes[:, 0::2], 0, width)
    down = np.clip(boxes[:, 1::2], 0, height)
    columns, rows = np.unique(across), np.unique(down)
    covered = np.zeros((len(rows) - 1, len(columns) - 1), np.bool_)
    for (left, right), (top, bottom) in zip(
        np.searchsorted(columns, across).tolist(), np.searchsorted(rows, down).tolist(), strict=True
    ):
        covered[top:bottom, left:right] = True
    areas = np.diff(rows)[:, None] * np.diff(columns)
    return float(np.cumsum(areas[covered])[-1]) if covered.any() else 0.0
