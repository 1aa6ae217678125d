"""What is wrong with the wrong detections, and what each kind of mistake costs.

Source of the kinds: Hoiem, Chodpathumwan and Dai, "Diagnosing Error in Object Detectors", 2012; of duplicates
as a kind of their own, of missed objects as one, and of the cost of a misplaced box: Bolya et al., "TIDE: A
General Toolbox for Identifying Object Detection Errors", 2020.
"""

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from scoring.analysis.placed_detections import Nearest, PlacedDetections, nearest_objects
from scoring.data.arrays import Flags, Labels, Places
from scoring.data.ground_truth import GroundTruth
from scoring.findings import ErrorBreakdown, ErrorCount, ErrorKind
from scoring.metrics.matching import ClassObjects, SelectPositives
from scoring.metrics.ranking import FALSE_POSITIVE, IGNORED, TRUE_POSITIVE
from scoring.tasks.detection.rules import DetectionRules

FAMILIES: Final[tuple[frozenset[str], ...]] = tuple(
    frozenset(names.split())
    for names in (
        "aeroplane bicycle boat bus car motorbike train",
        "bird cat cow dog horse sheep",
        "bottle chair diningtable pottedplant sofa tvmonitor",
        "person",
    )
)
"""Classes that are similar. Source: Everingham et al., "The PASCAL Visual Object Classes (VOC) Challenge",
2010, Figure 2.
"""

TOUCHED: Final = 0.1
"""The least overlap at which an answer has to do with an object."""

KINDS: Final = tuple(ErrorKind)
_DUPLICATE, _LOCALISATION, _SIMILAR, _OTHER, _BACKGROUND, _ = range(len(KINDS))


@dataclass(frozen=True, slots=True, eq=False)
class Errors:
    """What is wrong with each answer, best first: int8 (n,), into KINDS, -1 for those that are not wrong.

    nearest: the objects of the class itself that they overlap most.
    """

    kinds: Labels
    nearest: Nearest


def break_down(
    placed: PlacedDetections,
    truth: GroundTruth,
    rules: DetectionRules,
    families: Collection[frozenset[str]] = FAMILIES,
) -> ErrorBreakdown:
    """Count a class's mistakes by kind, and what each kind costs: the score without it, less the score.

    Without it means: the wrong answers of the kind are taken out. A misplaced one is put right instead, if it
    is the first for an object that nobody else found; missed objects are not asked for.

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
    >>> found = break_down(PlacedDetections(ranked, boxes), truth, PROTOCOLS["voc2012"].rules_of(DETECTION))
    >>> [(row.mistake.value, row.cost) for row in found.rows if row.count]
    [('similar', 0.5)]
    """
    ranked, measure = placed.ranked, rules.measure.of
    value = measure(ranked.outcomes, ranked.positives) if ranked.positives else math.nan
    ground_truth = objects_of_classes(truth, {ranked.class_name}, rules.seek)
    mistakes = find_errors(placed, truth, rules, families)
    counts = [int(np.count_nonzero(mistakes.kinds == kind)) for kind in range(len(KINDS) - 1)]
    counts.append(ranked.positives - int(np.count_nonzero(ranked.outcomes == TRUE_POSITIVE)))
    if math.isnan(value):
        rows = (ErrorCount(kind, count, None) for kind, count in zip(KINDS, counts, strict=True))
        return ErrorBreakdown(ranked.class_name, None, tuple(rows))
    without = [
        measure(outcomes, ranked.positives) for outcomes in _mended(ranked.outcomes, mistakes, ground_truth)
    ]
    found = ranked.positives - counts[-1]
    costs = [*(each - value for each in without), measure(ranked.outcomes, found) - value if found else None]
    rows = (ErrorCount(*row) for row in zip(KINDS, counts, costs, strict=True))
    return ErrorBreakdown(ranked.class_name, value, tuple(rows))


def find_errors(
    placed: PlacedDetections,
    truth: GroundTruth,
    rules: DetectionRules,
    families: Collection[frozenset[str]] = FAMILIES,
) -> Errors:
    """Say of each wrong answer what is wrong with it; the first that applies:

    a duplicate overlaps an object of its class enough, but another answer had it; a misplaced one overlaps
    one a little; a confusion overlaps an object of a similar, or of any other class; what is left is
    background.

    >>> from scoring import AnnotatedObject, Annotation, Box, truth_of_boxes
    >>> from scoring.data.matches import RankedPredictions
    >>> from scoring.protocols import PROTOCOLS
    >>> from scoring.tasks.detection.task import DETECTION
    >>> page = Annotation(50, 20, (AnnotatedObject("cat", Box(1, 1, 10, 10)),))
    >>> truth = truth_of_boxes({"a": page}, dataset="VOC2012", image_set="val")
    >>> ranked = RankedPredictions("cat", 1, np.zeros(2, np.int32), np.array([0.9, 0.8]), np.zeros(2, np.int8))
    >>> placed = PlacedDetections(ranked, np.array([[1.0, 1, 10, 3], [40, 1, 50, 20]]))
    >>> [KINDS[kind].value for kind in find_errors(placed, truth, PROTOCOLS["voc2012"].rules_of(DETECTION)).kinds]
    ['localisation', 'background']
    """
    name, ranked = placed.ranked.class_name, placed.ranked
    family = frozenset[str]().union(*(each for each in families if name in each)) - {name}
    others = set(truth.lists.classes) - family - {name}
    own, similar, other = (
        nearest_objects(placed, objects_of_classes(truth, names, rules.seek), rules)
        for names in ({name}, family, others)
    )
    applies = (
        own.iou >= rules.iou_threshold,
        own.iou >= TOUCHED,
        similar.iou >= TOUCHED,
        other.iou >= TOUCHED,
    )
    kinds = np.select(applies, (_DUPLICATE, _LOCALISATION, _SIMILAR, _OTHER), _BACKGROUND)
    return Errors(np.where(ranked.outcomes == FALSE_POSITIVE, kinds, -1).astype(np.int8), own)


def objects_of_classes(truth: GroundTruth, names: Collection[str], seek: SelectPositives) -> ClassObjects:
    """The objects of these classes in the images of the Main set, in the order of their annotation.

    Without boxes around several objects where these need not be found: to overlap one is no mistake.

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
    ground_truth = seek(_ground_truth(truth, rows))
    groups = ground_truth.difficult & ground_truth.group_of
    return seek(_ground_truth(truth, rows[~groups])) if groups.any() else ground_truth


def _ground_truth(truth: GroundTruth, rows: Places) -> ClassObjects:
    objects = truth.tables.objects
    count = np.bincount(objects.image[rows], minlength=truth.lists.main).astype(np.int32)
    first = (np.cumsum(count) - count).astype(np.int32)
    flags = objects.difficult[rows], objects.group_of[rows]
    return ClassObjects(first, count, objects.boxes[rows], *flags, convention=truth.tables.convention)


def _mended(outcomes: Labels, mistakes: Errors, ground_truth: ClassObjects) -> Iterator[Labels]:
    """The verdicts had a kind of mistake not been made, for each kind of wrong answer."""
    for kind in range(len(KINDS) - 1):
        made = mistakes.kinds == kind
        mended = np.where(made, np.int8(IGNORED), outcomes)
        if kind == _LOCALISATION:
            mended[_first_for_unfound(made, outcomes, mistakes.nearest, ground_truth)] = TRUE_POSITIVE
        yield mended


def _first_for_unfound(made: Flags, outcomes: Labels, nearest: Nearest, ground_truth: ClassObjects) -> Flags:
    """Which misplaced answers are the first for an object that must be found and was not."""
    unfound = ~ground_truth.difficult
    unfound[nearest.place[outcomes == TRUE_POSITIVE]] = False
    asking = np.flatnonzero(made & nearest.within(unfound))
    _, first = np.unique(nearest.place[asking], return_index=True)
    chosen = np.zeros(len(outcomes), np.bool_)
    chosen[asking[first]] = True
    return chosen
