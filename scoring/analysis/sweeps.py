"""Scores of a class over IoU thresholds or over minimal areas of objects."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import ClassVar, Final

import numpy as np

from scoring.analysis.ranked_detections import RankedDetections
from scoring.data.arrays import Floats, Integers, Labels
from scoring.data.boxes import BoxConvention, convert_boxes
from scoring.data.ground_truth import GroundTruth
from scoring.data.matches import RankedPredictions
from scoring.metrics.labels import Value
from scoring.metrics.matching import ClassObjects
from scoring.metrics.ranking import IGNORED, TRUE_POSITIVE, Measure
from scoring.tasks.detection.rules import DetectionRules

IOU_THRESHOLDS: Final = tuple(level / 10 for level in range(1, 10))

MIN_AREAS: Final = (0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
"""Fractions of the image's area."""


class Swept(StrEnum):
    """The parameter of a sweep: the IoU threshold, or the minimal area as a fraction of the image."""

    IOU = "iou"
    AREA = "area"


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """The score in [0, 1] at a level of the parameter, None without positives, and the number of positives."""

    level: float
    value: float | None
    positives: int


@dataclass(frozen=True, slots=True)
class Sweep:
    """The scores of a class over a parameter, whose levels are in [0, 1]."""

    kind: ClassVar[str] = "sweep"
    class_name: str
    swept: Swept
    points: tuple[SweepPoint, ...]


def sweep_iou_threshold(
    detections: RankedDetections,
    objects: ClassObjects,
    rules: DetectionRules,
    levels: Sequence[float] = IOU_THRESHOLDS,
) -> Sweep:
    """The score of a class of detections at other IoU thresholds.

    levels: the thresholds, in (0, 1]; objects: of the class, as `rules.select_positives` returns them. Source: Everingham et al., "The PASCAL Visual Object Classes
    (VOC) Challenge", 2010, section 6.2.3 and Figure 19.

    >>> from scoring.protocols import PROTOCOLS
    >>> from scoring.tasks.detection.task import DETECTION
    >>> one, boxes = np.zeros(1, np.int32), np.array([[1.0, 1, 10, 10]])
    >>> ranked = RankedPredictions("cat", 1, one, np.array([0.9]), np.ones(1, np.int8))
    >>> objects = ClassObjects(one, one + 1, boxes + (0, 0, 0, 5), one > 0, one > 0)
    >>> rules = PROTOCOLS["voc2012"].rules_of(DETECTION)
    >>> sweep = sweep_iou_threshold(RankedDetections(ranked, boxes), objects, rules, [0.5, 0.6, 0.7])
    >>> [point.value for point in sweep.points]
    [1.0, 1.0, 0.0]
    """
    lines = detections.as_detections()
    matched = (rules.match_class(lines, objects, iou_threshold=level).outcomes for level in levels)
    points = tuple(
        _point(level, outcomes, objects.positives, rules.measure.of)
        for level, outcomes in zip(levels, matched, strict=True)
    )
    return Sweep(detections.ranked.class_name, Swept.IOU, points)


def sweep_object_area(
    detections: RankedDetections,
    objects: ClassObjects,
    sizes: Integers,
    rules: DetectionRules,
    levels: Sequence[float] = MIN_AREAS,
) -> Sweep:
    """The score of a class of detections if objects below a fraction of their image's area counted as difficult.

    objects: of the class, as `rules.select_positives` returns them; sizes: int32 (images, 2), width and height in pixels; levels: fractions in [0, 1]. Source:
    Everingham et al., 2010, section 6.2.5 and Figure 26.

    >>> from scoring.protocols import PROTOCOLS
    >>> from scoring.tasks.detection.task import DETECTION
    >>> one, boxes = np.zeros(1, np.int32), np.array([[1.0, 1, 10, 10]])
    >>> ranked = RankedPredictions("cat", 1, one, np.array([0.9]), np.ones(1, np.int8))
    >>> objects, sizes = ClassObjects(one, one + 1, boxes, one > 0, one > 0), np.array([[50, 20]])
    >>> rules = PROTOCOLS["voc2012"].rules_of(DETECTION)
    >>> sweep = sweep_object_area(RankedDetections(ranked, boxes), objects, sizes, rules, [0.1, 0.2])
    >>> [(point.value, point.positives) for point in sweep.points]
    [(1.0, 1), (None, 0)]
    """
    lines, areas = detections.as_detections(), relative_areas(objects, sizes)
    points = []
    for level in levels:
        large = replace(objects, difficult=objects.difficult | (areas < level))
        outcomes = rules.match_class(lines, large).outcomes
        points.append(_point(level, outcomes, large.positives, rules.measure.of))
    return Sweep(detections.ranked.class_name, Swept.AREA, tuple(points))


def sweep_image_area(
    ranked: RankedPredictions, areas: Floats, value: Value, levels: Sequence[float] = MIN_AREAS
) -> Sweep:
    """The score of a class of a classification if positives that show less than a fraction of it were ignored.

    areas: float64 (images,), the fraction of each image that shows the class, see `covered_areas`; value: the measure; levels: fractions in [0, 1].
    Source: Everingham et al., 2010, section 6.1.5 and Figure 15.

    >>> from scoring.metrics.labels import ranked_average_precision
    >>> images, outcomes = np.arange(3, dtype=np.int32), np.array([1, 0, 1], np.int8)
    >>> ranked = RankedPredictions("cat", 2, images, np.array([0.9, 0.5, 0.1]), outcomes)
    >>> areas = np.array([0.02, 0, 0.3])
    >>> sweep = sweep_image_area(ranked, areas, ranked_average_precision, [0.01, 0.1])
    >>> [(round(point.value, 3), point.positives) for point in sweep.points]
    [(0.833, 2), (0.5, 1)]
    """
    points = []
    for level in levels:
        small = (ranked.outcomes == TRUE_POSITIVE) & (areas[ranked.image] < level)
        outcomes = np.where(small, np.int8(IGNORED), ranked.outcomes)
        positives = int(np.count_nonzero(outcomes == TRUE_POSITIVE))
        large = replace(ranked, positives=positives, outcomes=outcomes)
        points.append(SweepPoint(level, value(large) if positives else None, positives))
    return Sweep(ranked.class_name, Swept.AREA, tuple(points))


def _point(level: float, outcomes: Labels, positives: int, measure: Measure) -> SweepPoint:
    value = measure(outcomes, positives) if positives else math.nan
    return SweepPoint(level, None if math.isnan(value) else value, positives)


def relative_areas(objects: ClassObjects, sizes: Integers) -> Floats:
    """The area of each object's box as a fraction of its image, float64 (objects,); sizes: int32 (images, 2).

    >>> one = np.zeros(1, np.int32)
    >>> objects = ClassObjects(one, one + 1, np.array([[1.0, 1, 10, 10]]), one > 0, one > 0)
    >>> relative_areas(objects, np.array([[50, 20]])).item()
    0.1
    """
    image = np.repeat(np.arange(len(objects.count)), objects.count)
    left, top, right, bottom = objects.to(BoxConvention.HALF_OPEN).boxes.T
    width, height = sizes[image].T.astype(np.float64)
    areas: Floats = (right - left) * (bottom - top) / (width * height)
    return areas


def covered_areas(truth: GroundTruth, class_name: str) -> Floats:
    """The fraction of each image of the Main set that the boxes of a class cover, difficult ones too: float64 (images,).

    Raises ValueError for an unknown class.

    >>> from scoring import Box, truth_of_boxes
    >>> from scoring.data.annotations import AnnotatedObject, Annotation
    >>> cats = (AnnotatedObject("cat", Box(1, 1, 10, 10)), AnnotatedObject("cat", Box(6, 1, 15, 10)))
    >>> truth = truth_of_boxes({"a": Annotation(50, 20, cats)}, dataset="VOC2012", image_set="val",
    ...     classes=("cat",))
    >>> covered_areas(truth, "cat").tolist()
    [0.15]
    """
    objects, main = truth.tables.objects, truth.lists.main
    rows = np.flatnonzero((objects.name == truth.lists.classes.index(class_name)) & (objects.image < main))
    areas = np.zeros(main)
    images, first = np.unique(objects.image[rows], return_index=True)
    edges = convert_boxes(objects.boxes[rows], truth.tables.convention, BoxConvention.HALF_OPEN)
    for image, boxes in zip(images.tolist(), np.split(edges, first[1:]), strict=False):
        width, height = truth.tables.sizes[image].tolist()
        areas[image] = _area_of_union(boxes, width, height) / (width * height)
    return areas


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
