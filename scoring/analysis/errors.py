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

from scoring.analysis.placing import Nearest, PlacedAnswers, find_nearest
from scoring.arrays import Flags, Labels, Places
from scoring.findings import ErrorBreakdown, Mistake, MistakeCount
from scoring.measures.matching import Seek, Sought
from scoring.measures.ranking import IGNORED, RIGHT, WRONG
from scoring.protocols import DetectionRules
from scoring.truth.ground_truth import GroundTruth, Objects

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

KINDS: Final = tuple(Mistake)
_DUPLICATE, _LOCALISATION, _SIMILAR, _OTHER, _BACKGROUND, _ = range(len(KINDS))


@dataclass(frozen=True, slots=True, eq=False)
class Mistakes:
    """What is wrong with each answer, best first: int8 (n,), into KINDS, -1 for those that are not wrong.

    nearest: the objects of the class itself that they overlap most.
    """

    kinds: Labels
    nearest: Nearest


def break_down(
    placed: PlacedAnswers,
    truth: GroundTruth,
    rules: DetectionRules,
    families: Collection[frozenset[str]] = FAMILIES,
) -> ErrorBreakdown:
    """Count a class's mistakes by kind, and what each kind costs: the score without it, less the score.

    Without it means: the wrong answers of the kind are taken out. A misplaced one is put right instead, if it
    is the first for an object that nobody else found; missed objects are not asked for.

    >>> from scoring import Box, truth_of_boxes
    >>> from scoring.truth.annotations import AnnotatedObject, Annotation
    >>> from scoring.answers import RankedAnswers
    >>> from scoring.protocols import PROTOCOLS
    >>> pets = (AnnotatedObject("cat", Box(1, 1, 10, 10)), AnnotatedObject("dog", Box(21, 1, 30, 10)))
    >>> truth = truth_of_boxes({"a": Annotation(50, 20, pets)}, dataset="VOC2012", image_set="val",
    ...     classes=("cat", "dog"))
    >>> boxes, verdicts = np.array([[21.0, 1, 30, 10], [1, 1, 10, 10]]), np.array([0, 1], np.int8)
    >>> ranked = RankedAnswers("cat", 1, np.zeros(2, np.int32), np.array([0.9, 0.8]), verdicts)
    >>> found = break_down(PlacedAnswers(ranked, boxes), truth, PROTOCOLS["voc2012"].detection)
    >>> [(row.mistake.value, row.cost) for row in found.rows if row.count]
    [('similar', 0.5)]
    """
    ranked, measure = placed.ranked, rules.measure.of
    value = measure(ranked.verdicts, ranked.positives) if ranked.positives else math.nan
    sought = objects_of_classes(truth, {ranked.class_name}, rules.seek)
    mistakes = find_mistakes(placed, truth, rules, families)
    counts = [int(np.count_nonzero(mistakes.kinds == kind)) for kind in range(len(KINDS) - 1)]
    counts.append(ranked.positives - int(np.count_nonzero(ranked.verdicts == RIGHT)))
    if math.isnan(value):
        rows = (MistakeCount(kind, count, None) for kind, count in zip(KINDS, counts, strict=True))
        return ErrorBreakdown(ranked.class_name, None, tuple(rows))
    without = [measure(verdicts, ranked.positives) for verdicts in _mended(ranked.verdicts, mistakes, sought)]
    found = ranked.positives - counts[-1]
    costs = [*(each - value for each in without), measure(ranked.verdicts, found) - value if found else None]
    rows = (MistakeCount(*row) for row in zip(KINDS, counts, costs, strict=True))
    return ErrorBreakdown(ranked.class_name, value, tuple(rows))


def find_mistakes(
    placed: PlacedAnswers,
    truth: GroundTruth,
    rules: DetectionRules,
    families: Collection[frozenset[str]] = FAMILIES,
) -> Mistakes:
    """Say of each wrong answer what is wrong with it; the first that applies:

    a duplicate overlaps an object of its class enough, but another answer had it; a misplaced one overlaps
    one a little; a confusion overlaps an object of a similar, or of any other class; what is left is
    background.

    >>> from scoring import AnnotatedObject, Annotation, Box, truth_of_boxes
    >>> from scoring.answers import RankedAnswers
    >>> from scoring.protocols import PROTOCOLS
    >>> page = Annotation(50, 20, (AnnotatedObject("cat", Box(1, 1, 10, 10)),))
    >>> truth = truth_of_boxes({"a": page}, dataset="VOC2012", image_set="val")
    >>> ranked = RankedAnswers("cat", 1, np.zeros(2, np.int32), np.array([0.9, 0.8]), np.zeros(2, np.int8))
    >>> placed = PlacedAnswers(ranked, np.array([[1.0, 1, 10, 3], [40, 1, 50, 20]]))
    >>> [KINDS[kind].value for kind in find_mistakes(placed, truth, PROTOCOLS["voc2012"].detection).kinds]
    ['localisation', 'background']
    """
    name, ranked = placed.ranked.class_name, placed.ranked
    family = frozenset[str]().union(*(each for each in families if name in each)) - {name}
    others = set(truth.lists.classes) - family - {name}
    own, similar, other = (
        find_nearest(placed.boxes, ranked.image, objects_of_classes(truth, names, rules.seek), rules.overlap)
        for names in ({name}, family, others)
    )
    applies = (
        own.overlap >= rules.least,
        own.overlap >= TOUCHED,
        similar.overlap >= TOUCHED,
        other.overlap >= TOUCHED,
    )
    kinds = np.select(applies, (_DUPLICATE, _LOCALISATION, _SIMILAR, _OTHER), _BACKGROUND)
    return Mistakes(np.where(ranked.verdicts == WRONG, kinds, -1).astype(np.int8), own)


def objects_of_classes(truth: GroundTruth, names: Collection[str], seek: Seek) -> Sought:
    """The objects of these classes in the images of the Main set, in the order of their annotation.

    Without boxes around several objects where these need not be found: to overlap one is no mistake.

    >>> from scoring import AnnotatedObject, Annotation, Box, truth_of_boxes
    >>> from scoring.measures.matching import seek_everything
    >>> cat, dog = (AnnotatedObject(name, Box(1, 1, 10, 10)) for name in ("cat", "dog"))
    >>> truth = truth_of_boxes({"a": Annotation(50, 20, (cat, dog))}, dataset="VOC2012", image_set="val")
    >>> objects_of_classes(truth, {"dog"}, seek_everything).boxes.tolist()
    [[1.0, 1.0, 10.0, 10.0]]
    """
    objects, main = truth.tables.objects, truth.lists.main
    numbers = [number for number, name in enumerate(truth.lists.classes) if name in names]
    rows = np.flatnonzero(np.isin(objects.name, numbers) & (objects.image < main))
    sought = seek(_sought(objects, rows, main))
    groups = sought.difficult & sought.group_of
    return seek(_sought(objects, rows[~groups], main)) if groups.any() else sought


def _sought(objects: Objects, rows: Places, images: int) -> Sought:
    count = np.bincount(objects.image[rows], minlength=images).astype(np.int32)
    first = (np.cumsum(count) - count).astype(np.int32)
    return Sought(first, count, objects.boxes[rows], objects.difficult[rows], objects.group_of[rows])


def _mended(verdicts: Labels, mistakes: Mistakes, sought: Sought) -> Iterator[Labels]:
    """The verdicts had a kind of mistake not been made, for each kind of wrong answer."""
    for kind in range(len(KINDS) - 1):
        made = mistakes.kinds == kind
        mended = np.where(made, np.int8(IGNORED), verdicts)
        if kind == _LOCALISATION:
            mended[_first_for_unfound(made, verdicts, mistakes.nearest, sought)] = RIGHT
        yield mended


def _first_for_unfound(made: Flags, verdicts: Labels, nearest: Nearest, sought: Sought) -> Flags:
    """Which misplaced answers are the first for an object that must be found and was not."""
    unfound = ~sought.difficult
    unfound[nearest.place[verdicts == RIGHT]] = False
    asking = np.flatnonzero(made & nearest.within(unfound))
    _, first = np.unique(nearest.place[asking], return_index=True)
    chosen = np.zeros(len(verdicts), np.bool_)
    chosen[asking[first]] = True
    return chosen
