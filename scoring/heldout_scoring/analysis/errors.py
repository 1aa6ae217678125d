"""Kinds of errors of a detector, and sweeps over overlap and size.

Sources: Hoiem, Chodpathumwan and Dai, "Diagnosing Error in Object Detectors", 2012, for the kinds; Bolya et al., "TIDE: A
General Toolbox for Identifying Object Detection Errors", 2020, for duplicates and missed objects as kinds of their own, and
for the gain of fixing them.
"""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np

from ..data.annotations import BoxConvention
from ..data.arrays import Flags, Floats, Integers, Labels, Places, assert_kinds
from ..data.description import Limits
from ..data.matches import FALSE_POSITIVE, IGNORED, TRUE_POSITIVE, RankedPredictions, open_rankings
from ..data.predictions import ClassDetections, Detections
from ..data.truth import GroundTruth
from ..errors import DataError
from ..evaluation import read_predictions
from ..metrics.labels import Value
from ..metrics.matching import ClassObjects, SelectPositives
from ..metrics.ranking import Measure, rank
from ..results import Result, matches_in_memory, rules_of
from ..tasks.detection import DETECTION, DetectionRules, load, split
from ..tasks.labels import CLASSIFICATION


@dataclass(frozen=True, slots=True, eq=False)
class RankedDetections:
    """The ranked predictions of a class with their boxes, float64 (n, 4), left, top, right, bottom."""

    ranked: RankedPredictions
    boxes: Floats
    convention: BoxConvention = BoxConvention.INCLUSIVE

    def as_detections(self) -> ClassDetections:
        """The detections in the order of the ranking, which ranking them again does not change."""
        return ClassDetections(self.ranked.image, self.ranked.confidence, self.boxes, self.convention)


def with_boxes(ranked: RankedPredictions, detections: ClassDetections) -> RankedDetections:
    """Join ranked predictions with the detections of the file that they were made from.

    Raises DataError for another file.

    >>> file = ClassDetections(np.array([4, 4], np.int32), np.array([0.1, 0.9]),
    ...     np.array([[1.0, 1, 5, 5], [2, 2, 6, 6]]))
    >>> kept = RankedPredictions("cat", 1, np.array([4, 4], np.int32), np.array([0.9, 0.1]),
    ...     np.array([1, 0], np.int8))
    >>> with_boxes(kept, file).boxes[0].tolist()
    [2.0, 2.0, 6.0, 6.0]
    """
    order = rank(detections.confidence)
    same = np.array_equal(detections.image[order], ranked.image)
    if not same or not np.array_equal(detections.confidence[order], ranked.confidence):
        raise DataError(
            f"these are not the detections that the ranking of '{ranked.class_name}' was made from"
        )
    return RankedDetections(ranked, detections.boxes[order], detections.convention)


def detections_of(result: Result, truth: GroundTruth, found: Detections) -> Iterator[RankedDetections]:
    """The ranked predictions of each class of a result in memory, with the boxes of the detections that were evaluated.

    Raises DataError for other detections, and for a result that was read from JSON.

    >>> from heldout_scoring import evaluate
    >>> truth = GroundTruth.from_arrays(["a"], ["cat"], [[1, 1, 10, 10]], convention="inclusive")
    >>> found = Detections.from_arrays(["a", "a"], ["cat", "cat"], [0.1, 0.9], [[1, 1, 10, 9], [1, 1, 9, 9]])
    >>> [cats] = detections_of(evaluate(found, truth, protocol="voc2012"), truth, found)
    >>> cats.boxes.tolist(), cats.ranked.outcomes.tolist()
    ([[1.0, 1.0, 9.0, 9.0], [1.0, 1.0, 10.0, 9.0]], [1, 0])
    """
    assert_kinds(result=(result, Result), truth=(truth, GroundTruth), found=(found, Detections))
    matches = matches_in_memory(result)
    by_class = {each.class_name: each for each in matches} if isinstance(matches, tuple) else {}
    for each in split(found, truth):
        if each.key in by_class:
            yield with_boxes(by_class[each.key], each.value)


@dataclass(frozen=True, slots=True, eq=False)
class LargestOverlaps:
    """For each detection the object with the largest IoU: its index, int32 (n,), -1 for none; the IoU, float64 (n,)."""

    index: Integers
    iou: Floats

    def within(self, chosen: Flags) -> Flags:
        """Whether the object is one of those chosen, bool (objects,), for each detection: bool (n,)."""
        return np.append(chosen, np.False_)[self.index]


def largest_overlaps(
    detections: RankedDetections, objects: ClassObjects, rules: DetectionRules
) -> LargestOverlaps:
    """For each detection the object in its image with the largest IoU, at any IoU above 0.

    As in scoring, boxes are converted to the convention of the rules, and the first of several equal objects is taken.

    >>> from heldout_scoring.protocols import PROTOCOLS
    >>> from heldout_scoring.tasks.detection import DETECTION
    >>> ranked = RankedPredictions("cat", 1, np.zeros(2, np.int32), np.ones(2), np.ones(2, np.int8))
    >>> detections = RankedDetections(ranked, np.array([[1.0, 1, 10, 5], [20, 1, 30, 5]]))
    >>> one = np.zeros(1, np.int32)
    >>> objects = ClassObjects(one, one + 1, np.array([[1.0, 1, 10, 10]]), one > 0, one > 0)
    >>> found = largest_overlaps(detections, objects, PROTOCOLS["voc2012"].rules_of(DETECTION))
    >>> found.index.tolist(), found.iou.tolist()
    ([0, -1], [0.5, 0.0])
    """
    aligned, objects = rules.align(detections.as_detections(), objects)
    count, first = objects.count[aligned.image], objects.first[aligned.image]
    index, largest = np.full(len(aligned), -1, np.int32), np.zeros(len(aligned))
    for nth in range(int(count.max(initial=0))):
        rows = np.flatnonzero(count > nth)
        others = first[rows] + nth
        iou = rules.iou(aligned.boxes[rows], objects.boxes[others])
        larger = iou > largest[rows]
        largest[rows[larger]], index[rows[larger]] = iou[larger], others[larger]
    return LargestOverlaps(index, largest)


def read_ranked_detections(
    archive: Path | str,
    truth: GroundTruth,
    competition: int,
    rankings: Iterable[RankedPredictions],
    *,
    limits: Limits | None = None,
) -> Iterator[RankedDetections]:
    r"""Join rankings of a detection competition with the boxes of the archive, in the order of its files.

    limits: by default those of `truth.description` for an archive, none for a plain folder. Raises DataError if the rankings were not made from this archive.

    >>> from tempfile import TemporaryDirectory
    >>> from heldout_scoring import AnnotatedObject, Annotation, Box, truth_of_boxes
    >>> page = Annotation(50, 20, (AnnotatedObject("cat", Box(1, 1, 10, 10)),))
    >>> truth = truth_of_boxes({"a": page}, dataset="VOC2012", image_set="val")
    >>> kept = RankedPredictions("cat", 1, np.zeros(1, np.int32), np.array([0.9]), np.ones(1, np.int8))
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "comp3_det_val_cat.txt").write_text("a 0.9 1 1 10 9\n")
    ...     [cats] = read_ranked_detections(Path(folder), truth, 3, [kept])
    >>> cats.boxes.tolist()
    [[1.0, 1.0, 10.0, 9.0]]
    """
    by_class = {each.class_name: each for each in rankings}
    for each in read_predictions(archive, truth.description, competition, keys=by_class, limits=limits):
        yield with_boxes(by_class[each.key], each.value)


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

    >>> from heldout_scoring import Box, truth_of_boxes
    >>> from heldout_scoring.data.annotations import AnnotatedObject, Annotation
    >>> from heldout_scoring.data.matches import RankedPredictions
    >>> from heldout_scoring.protocols import PROTOCOLS
    >>> from heldout_scoring.tasks.detection import DETECTION
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

    >>> from heldout_scoring import AnnotatedObject, Annotation, Box, truth_of_boxes
    >>> from heldout_scoring.data.matches import RankedPredictions
    >>> from heldout_scoring.protocols import PROTOCOLS
    >>> from heldout_scoring.tasks.detection import DETECTION
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

    >>> from heldout_scoring import AnnotatedObject, Annotation, Box, truth_of_boxes
    >>> from heldout_scoring.metrics.matching import all_objects_positive
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

    >>> from heldout_scoring.protocols import PROTOCOLS
    >>> from heldout_scoring.tasks.detection import DETECTION
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

    >>> from heldout_scoring.protocols import PROTOCOLS
    >>> from heldout_scoring.tasks.detection import DETECTION
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

    >>> from heldout_scoring.metrics.labels import ranked_average_precision
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

    Raises DataError for an unknown class.

    >>> from heldout_scoring import Box, truth_of_boxes
    >>> from heldout_scoring.data.annotations import AnnotatedObject, Annotation
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
    edges = truth.tables.convention.convert(objects.boxes[rows], BoxConvention.HALF_OPEN)
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


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The errors of each class by kind, and its scores over IoU thresholds and over minimal areas; classification has areas only."""

    kind: ClassVar[str] = "diagnosis"
    errors: tuple[ErrorBreakdown, ...] = ()
    sweeps: tuple[Sweep, ...] = ()


class NoDiagnosisError(DataError):
    """There is no diagnosis of such a result; the message says which results have one."""


@dataclass(frozen=True, slots=True, eq=False)
class Files:
    """The archive that was scored, its limits, and the file of its matches."""

    archive: Path | str
    limits: Limits
    statistics: Path | str


def diagnose(result: Result, truth: GroundTruth, predictions: Detections | Files | None = None) -> Diagnosis:
    """Analyse a result of detection by the protocols of VOC and TensorFlow, or of classification.

    predictions: the detections that were evaluated, which have the boxes; of an archive its files. Without the sizes of the
    images there is no sweep over areas. Raises NoDiagnosisError for a result of another task, and of classification without sizes;
    DataError for detection without predictions, DataError for those of another result, and for matches that are neither in memory
    nor in a file.

    >>> from heldout_scoring import evaluate
    >>> truth = GroundTruth.from_arrays(["a"], ["cat"], [[1, 1, 10, 10]], convention="inclusive")
    >>> found = Detections.from_arrays(["a", "a"], ["cat", "cat"], [0.9, 0.8], [[21, 1, 30, 10], [1, 1, 10, 9]])
    >>> diagnosis = diagnose(evaluate(found, truth, protocol="voc2012"), truth, found)
    >>> [(row.error.value, row.count, row.gain) for row in diagnosis.errors[0].rows if row.count]
    [('background', 1, 0.5)]
    """
    assert_kinds(result=(result, Result), truth=(truth, GroundTruth), predictions=(predictions, object))
    analyse = _ANALYSES.get(result.task)
    if analyse is None:
        raise NoDiagnosisError(
            "errors are analysed of detection by the protocols of VOC and TensorFlow, and of classification; found a result of "
            f"{result.task} by '{result.protocol}'"
        )
    return analyse(result, truth, predictions)


def _of_detections(result: Result, truth: GroundTruth, predictions: Detections | Files | None) -> Diagnosis:
    rules, objects_of, sizes = rules_of(result), load(truth), truth.tables.sizes
    errors, sweeps = [], []
    for detections in _with_boxes(result, truth, predictions):
        objects = rules.select_positives(objects_of[detections.ranked.class_name])
        errors.append(break_down(detections, truth, rules))
        sweeps.append(sweep_iou_threshold(detections, objects, rules))
        if _has_sizes(truth):
            sweeps.append(sweep_object_area(detections, objects, sizes, rules))
    return Diagnosis(tuple(errors), tuple(sweeps))


def _with_boxes(
    result: Result, truth: GroundTruth, predictions: Detections | Files | None
) -> Iterator[RankedDetections]:
    if isinstance(predictions, Detections):
        return detections_of(result, truth, predictions)
    if predictions is None:
        raise DataError("expected the Detections that were evaluated, or Files, found NoneType")
    if result.competition is None:
        raise DataError("expected the result of an archive, which has the boxes")
    _, rankings = open_rankings(predictions.statistics)
    return read_ranked_detections(
        predictions.archive, truth, result.competition, rankings, limits=predictions.limits
    )


def _of_classifications(
    result: Result, truth: GroundTruth, predictions: Detections | Files | None
) -> Diagnosis:
    if not _has_sizes(truth):
        raise NoDiagnosisError(
            "expected the sizes of all images, of which areas are fractions; found some unknown"
        )
    rankings: Any = (
        open_rankings(predictions.statistics)[1]
        if isinstance(predictions, Files)
        else matches_in_memory(result)
    )
    value = rules_of(result).measure.of
    areas = ((ranked, covered_areas(truth, ranked.class_name)) for ranked in rankings)
    return Diagnosis(sweeps=tuple(sweep_image_area(ranked, covered, value) for ranked, covered in areas))


def _has_sizes(truth: GroundTruth) -> bool:
    """Whether the sizes of all images are known, which areas are fractions of."""
    return bool(truth.tables.has_size[: truth.lists.main].all())


_ANALYSES: Final[Mapping[str, Callable[[Result, GroundTruth, Detections | Files | None], Diagnosis]]] = {
    DETECTION.name: _of_detections,
    CLASSIFICATION.name: _of_classifications,
}
"""How the results of a task are analysed; those of other tasks are not."""
