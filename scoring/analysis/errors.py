"""False positives by kind of error, and the average precision that fixing each kind would gain.

Sources: Hoiem, Chodpathumwan and Dai, "Diagnosing Error in Object Detectors", 2012, for the kinds; Bolya et al., "TIDE: A
General Toolbox for Identifying Object Detection Errors", 2020, for duplicates and missed objects as kinds of their own, and
for the gain of fixing them.
"""

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Final

import numpy as np

from scoring.analysis.ranked_detections import LargestOverlaps, RankedDetections, largest_overlaps
from scoring.data.arrays import Flags, Labels, Places
from scoring.data.ground_truth import GroundTruth
from scoring.metrics.matching import ClassObjects, SelectPositives
from scoring.metrics.ranking import FALSE_POSITIVE, IGNORED, TRUE_POSITIVE
from scoring.tasks.detection.rules import DetectionRules

SIMILAR_CLASSES: Final[tuple[frozenset[str], ...]] = tuple(
    frozenset(names.split())
    for names in (
        "aeroplane bicycle boat bus car motorbike train",
        "bird cat cow dog horse sheep",
        "bottle chair diningtable pottedplant sofa tvmonitor",
        "person",
    )
)
"""Groups of similar classes. Source: Everingham et al., "The PASCAL Visual Object Classes (VOC) Challenge", 2010, Figure 2."""

BACKGROUND_IOU: Final = 0.1
"""False positives below this IoU with every object are background errors."""


class ErrorKind(StrEnum):
    """The kinds of errors; MISSED is of objects, the others are of false positives."""

    DUPLICATE = "duplicate"
    LOCALISATION = "localisation"
    SIMILAR = "similar"
    OTHER = "other"
    BACKGROUND = "background"
    MISSED = "missed"


ERROR_KINDS: Final = tuple(ErrorKind)
_DUPLICATE, _LOCALISATION, _SIMILAR, _OTHER, _BACKGROUND, _ = range(len(ERROR_KINDS))


@dataclass(frozen=True, slots=True)
class ErrorCount:
    """The number of errors of a kind, and the score in [0, 1] that fixing them would gain; None without a score."""

    error: ErrorKind
    count: int
    gain: float | None


@dataclass(frozen=True, slots=True)
class ErrorBreakdown:
    """The errors of a class by kind, with its score in [0, 1]; None, and no gains, if it has none."""

    kind: ClassVar[str] = "error_breakdown"
    class_name: str
    value: float | None
    rows: tuple[ErrorCount, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Errors:
    """The kind of error of each detection, best first, as int8 (n,) indices of ERROR_KINDS, -1 for none.

    overlaps: with the objects of the detections' own class.
    """

    kinds: Labels
    overlaps: LargestOverlaps


def break_down(
    detections: RankedDetections,
    truth: GroundTruth,
    rules: DetectionRules,
    similar_classes: Collection[frozenset[str]] = SIMILAR_CLASSES,
) -> ErrorBreakdown:
    """Count a class's errors by kind, and compute the score that fixing each kind would gain.

    Fixing removes the false positives of the kind; a localisation error, instead, becomes a true positive if it is the
    most confident one of an object that no detection matches; missed objects are removed from the positives.

    >>> from scoring import Box, truth_of_boxes
    >>> from scoring.data.annotations import AnnotatedObject, Annotation
    >>> from scoring.data.matches import RankedPredictions
    >>> from scoring.protocols import PROTOCOLS
    >>> from scoring.tasks.detection.task import DETECTION
    >>> pets = (AnnotatedObject("cat", Box(1, 1, 10, 10)), AnnotatedObject("dog", Box(21, 1, 30, 10)))
    >>> truth = truth_of_boxes({"a": Annotation(50, 20, pets)}, dataset="VOC2012", image_set="val",
    ...     classes=("cat", "dog"))
    >>> boxes, outcomes = np.array([[21.0, 1, 30, 10], [1, 1, 10, 10]]), np.array([0, 1], np.int8)
    >>> ranked = RankedPredictions("cat", 1, np.zeros(2, np.int32), np.array([0.9, 0.8]), outcomes)
    >>> found = break_down(RankedDetections(ranked, boxes), truth, PROTOCOLS["voc2012"].rules_of(DETECTION))
    >>> [(row.error.value, row.gain) for row in found.rows if row.count]
    [('similar', 0.5)]
    """
    ranked, measure = detections.ranked, rules.measure.of
    value = measure(ranked.outcomes, ranked.positives) if ranked.positives else math.nan
    errors = find_errors(detections, truth, rules, similar_classes)
    counts = [int(np.count_nonzero(errors.kinds == kind)) for kind in range(len(ERROR_KINDS) - 1)]
    matched = int(np.count_nonzero(ranked.outcomes == TRUE_POSITIVE))
    counts.append(ranked.positives - matched)
    if math.isnan(value):
        rows = (ErrorCount(kind, count, None) for kind, count in zip(ERROR_KINDS, counts, strict=True))
        return ErrorBreakdown(ranked.class_name, None, tuple(rows))
    objects = objects_of_classes(truth, {ranked.class_name}, rules.select_positives)
    fixed = [measure(outcomes, ranked.positives) for outcomes in _fixed(ranked.outcomes, errors, objects)]
    without_missed = measure(ranked.outcomes, matched) - value if matched else None
    gains = [*(each - value for each in fixed), without_missed]
    rows = (ErrorCount(*row) for row in zip(ERROR_KINDS, counts, gains, strict=True))
    return ErrorBreakdown(ranked.class_name, value, tuple(rows))


def find_errors(
    detections: RankedDetections,
    truth: GroundTruth,
    rules: DetectionRules,
    similar_classes: Collection[frozenset[str]] = SIMILAR_CLASSES,
) -> Errors:
    """The kind of error of each false positive, the first that applies.

    A duplicate reaches the IoU threshold with an object of its class that another detection matches; a localisation
    error reaches `BACKGROUND_IOU` with an object of its class; a confusion does so with one of a similar, or of any
    other class; the rest is background.

    >>> from scoring import AnnotatedObject, Annotation, Box, truth_of_boxes
    >>> from scoring.data.matches import RankedPredictions
    >>> from scoring.protocols import PROTOCOLS
    >>> from scoring.tasks.detection.task import DETECTION
    >>> page = Annotation(50, 20, (AnnotatedObject("cat", Box(1, 1, 10, 10)),))
    >>> truth = truth_of_boxes({"a": page}, dataset="VOC2012", image_set="val")
    >>> ranked = RankedPredictions("cat", 1, np.zeros(2, np.int32), np.array([0.9, 0.8]), np.zeros(2, np.int8))
    >>> detections = RankedDetections(ranked, np.array([[1.0, 1, 10, 3], [40, 1, 50, 20]]))
    >>> errors = find_errors(detections, truth, PROTOCOLS["voc2012"].rules_of(DETECTION))
    >>> [ERROR_KINDS[kind].value for kind in errors.kinds]
    ['localisation', 'background']
    """
    name, ranked = detections.ranked.class_name, detections.ranked
    similar = frozenset[str]().union(*(each for each in similar_classes if name in each)) - {name}
    others = set(truth.lists.classes) - similar - {name}
    with_own, with_similar, with_other = (
        largest_overlaps(detections, objects_of_classes(truth, names, rules.select_positives), rules)
        for names in ({name}, similar, others)
    )
    applies = (
        with_own.iou >= rules.iou_threshold,
        with_own.iou >= BACKGROUND_IOU,
        with_similar.iou >= BACKGROUND_IOU,
        with_other.iou >= BACKGROUND_IOU,
    )
    kinds = np.select(applies, (_DUPLICATE, _LOCALISATION, _SIMILAR, _OTHER), _BACKGROUND)
    return Errors(np.where(ranked.outcomes == FALSE_POSITIVE, kinds, -1).astype(np.int8), with_own)


def objects_of_classes(
    truth: GroundTruth, names: Collection[str], select_positives: SelectPositives
) -> ClassObjects:
    """The objects of these classes in the images of the Main set, in the order of their annotation.

    Boxes around groups are left out where the rules ignore them: overlap with one is no error.

    >>> from scoring import AnnotatedObject, Annotation, Box, truth_of_boxes
    >>> from scoring.metrics.matching import all_objects_positive
    >>> cat, dog = (AnnotatedObject(name, Box(1, 1, 10, 10)) for name in ("cat", "dog"))
    >>> truth = truth_of_boxes({"a": Annotation(50, 20, (cat, dog))}, dataset="VOC2012", image_set="val")
    >>> objects_of_classes(truth, {"dog"}, all_objects_positive).boxes.tolist()
    [[1.0, 1.0, 10.0, 10.0]]
    """
    objects, main = truth.tables.objects, truth.lists.main
    numbers = [number for number, name in enumerate(truth.lists.classes) if name in names]
    rows = np.flatnonzero(np.isin(objects.name, numbers) & (objects.image < main))
    found = select_positives(_class_objects(truth, rows))
    groups = found.difficult & found.group_of
    return select_positives(_class_objects(truth, rows[~groups])) if groups.any() else found


def _class_objects(truth: GroundTruth, rows: Places) -> ClassObjects:
    objects = truth.tables.objects
    count = np.bincount(objects.image[rows], minlength=truth.lists.main).astype(np.int32)
    first = (np.cumsum(count) - count).astype(np.int32)
    flags = objects.difficult[rows], objects.group_of[rows]
    return ClassObjects(first, count, objects.boxes[rows], *flags, convention=truth.tables.convention)


def _fixed(outcomes: Labels, errors: Errors, objects: ClassObjects) -> Iterator[Labels]:
    """The outcomes after fixing each kind of false positive."""
    for kind in range(len(ERROR_KINDS) - 1):
        chosen = errors.kinds == kind
        fixed = np.where(chosen, np.int8(IGNORED), outcomes)
        if kind == _LOCALISATION:
            fixed[_first_of_unmatched(chosen, outcomes, errors.overlaps, objects)] = TRUE_POSITIVE
        yield fixed


def _first_of_unmatched(
    chosen: Flags, outcomes: Labels, overlaps: LargestOverlaps, objects: ClassObjects
) -> Flags:
    """Which of the chosen detections are the most confident ones of a positive that no detection matches."""
    unmatched = ~objects.difficult
    unmatched[overlaps.index[outcomes == TRUE_POSITIVE]] = False
    candidates = np.flatnonzero(chosen & overlaps.within(unmatched))
    _, first = np.unique(overlaps.index[candidates], return_index=True)
    found = np.zeros(len(outcomes), np.bool_)
    found[candidates[first]] = True
    return found
