"""Matching of detections to the annotated objects of their class and image.

The evaluators drop some detections before they match; here these stay in the ranking with the outcome `IGNORED`, which
gives the same figures. Equal confidences keep the order of the file. The evaluators sort with NumPy's unstable `argsort`,
so their own figures for tied detections depend on the version of NumPy and on the processor.
Source: tf-models-research-object-detection 2.8.0, object_detection/utils/per_image_evaluation.py.

A group-of box is drawn around five or more objects that touch. Each function below matches detections to the boxes of
single objects first, as `match_pascal` does, and what is a false positive then to the group-of boxes. A detection lies in a
group if enough of its own area does (`ioa`); among several groups it belongs to the one that covers it most.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final, Self

import numpy as np

from ..data.annotations import BoxConvention
from ..data.arrays import Flags, Floats, Integers, Labels, Places
from ..data.matches import FALSE_POSITIVE, IGNORED, TRUE_POSITIVE
from ..data.predictions import ClassDetections
from .ranking import rank

IoU = Callable[[Floats, Floats], Floats]
"""Intersection over union of pairs of boxes: float64 (n, 4) and (n, 4), or shapes that broadcast, give float64 (n,)."""


_HUGE: Final = np.errstate(over="ignore")
"""For boxes with an infinite area, whose IoU with others is 0."""


@_HUGE
def iou_inclusive(boxes: Floats, others: Floats) -> Floats:
    """Intersection over union of boxes whose edges are pixels inside them, pair by pair.

    boxes, others: float64 (..., 4), left, top, right, bottom in pixels (`BoxConvention.INCLUSIVE`). Returns float64 (...)
    in [0, 1], and 0 for inverted boxes. The operations and their order are those of the kit, so that the last bit agrees.
    Source: VOC2012 development kit, VOCevaldet.m.

    >>> iou_inclusive(np.array([[1.0, 1, 10, 10]]), np.array([[1.0, 1, 10, 5]])).item()
    0.5
    """
    left, top, right, bottom = (boxes[..., side] for side in range(4))
    other_left, other_top, other_right, other_bottom = (others[..., side] for side in range(4))
    width = np.minimum(right, other_right) - np.maximum(left, other_left) + 1
    height = np.minimum(bottom, other_bottom) - np.maximum(top, other_top) + 1
    intersection = np.maximum(width, 0) * np.maximum(height, 0)
    union = (
        (right - left + 1) * (bottom - top + 1)
        + (other_right - other_left + 1) * (other_bottom - other_top + 1)
        - intersection
    )
    ratio: Floats = intersection / np.where(
        intersection > 0, union, 1
    )  # the union of inverted boxes may be 0
    return ratio


@_HUGE
def iou_half_open(boxes: Floats, others: Floats) -> Floats:
    """Intersection over union of boxes whose edges are lines without a width, pair by pair.

    boxes, others: float64 (..., 4), left, top, right, bottom in any unit (`BoxConvention.HALF_OPEN`). Returns float64 (...)
    in [0, 1], and 0 for boxes that are inverted or have no area.
    Source: TensorFlow Object Detection API, np_box_ops.py.

    >>> iou_half_open(np.array([[0.0, 0, 10, 10]]), np.array([[0.0, 0, 10, 5]])).item()
    0.5
    """
    intersection = _intersection(boxes, others)
    union = _area(boxes) + _area(others) - intersection
    ratio: Floats = np.divide(intersection, union, out=np.zeros_like(intersection), where=intersection > 0)
    return ratio


def ioa(boxes: Floats, others: Floats) -> Floats:
    """Intersection over the area of the first box, pair by pair.

    boxes, others: float64 (..., 4), units as in `iou_half_open`. Returns float64 (...) in [0, 1].

    >>> ioa(np.array([[0.0, 0, 4, 4]]), np.array([[0.0, 0, 2, 100]])).item()
    0.5
    """
    intersection = _intersection(boxes, others)
    ratio: Floats = np.divide(
        intersection, _area(boxes), out=np.zeros_like(intersection), where=intersection > 0
    )
    return ratio


def _intersection(boxes: Floats, others: Floats) -> Floats:
    """The area of the intersection, pair by pair: float64 (...), in the square of the boxes' unit."""
    width = np.minimum(boxes[..., 2], others[..., 2]) - np.maximum(boxes[..., 0], others[..., 0])
    height = np.minimum(boxes[..., 3], others[..., 3]) - np.maximum(boxes[..., 1], others[..., 1])
    intersection: Floats = np.where((width > 0) & (height > 0), width * height, 0)
    return intersection


def _area(boxes: Floats) -> Floats:
    area: Floats = (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])
    return area


_NO_OBJECT: Final = -1
_PAIRS: Final = 1 << 14  # pairs of boxes compared at once: few enough for a processor's own cache


@dataclass(frozen=True, slots=True, eq=False)
class ClassObjects:
    """The annotated objects of one class, by image and in the order of the annotation, which decides ties of IoU.

    first, count: int32 (images,), index of an image's first object and the number of its objects; boxes: float64 (m, 4),
    left, top, right, bottom; difficult: bool (m,), not a positive; group_of: bool (m,), a box around several objects;
    verified: bool (images,), whether image-level labels say if the class is in the image, None where all are annotated;
    convention: what the numbers of a box mean.
    """

    first: Integers
    count: Integers
    boxes: Floats
    difficult: Flags
    group_of: Flags
    verified: Flags | None = None
    convention: BoxConvention = BoxConvention.INCLUSIVE

    @property
    def positives(self) -> int:
        """The number of positives: objects that are not difficult."""
        return int(np.count_nonzero(~self.difficult))

    def to(self, convention: BoxConvention) -> Self:
        """The same objects with their boxes in this convention."""
        if convention is self.convention:
            return self
        boxes = self.convention.convert(self.boxes, convention)
        return replace(self, boxes=boxes, convention=convention)


@dataclass(frozen=True, slots=True, eq=False)
class Matches:
    """What became of the detections of one class, most confident first.

    order: intp (n,), the index of each among the detections as given; outcomes: int8 (n,), `TRUE_POSITIVE`,
    `FALSE_POSITIVE` or `IGNORED`; including_difficult: int8 (n,), the outcomes if difficult objects were positives.
    """

    order: Places
    outcomes: Labels
    including_difficult: Labels


Match = Callable[[ClassDetections, ClassObjects, IoU, float], Matches]
"""Matches the detections of a class to its objects; the number is the IoU threshold, in (0, 1]."""

SelectPositives = Callable[[ClassObjects], ClassObjects]
"""Chooses the positives: the same objects with other `difficult` flags."""


def positives_without_difficult(ground_truth: ClassObjects) -> ClassObjects:
    """Count all objects but difficult ones as positives; a group-of box is an object like any other.

    >>> hard, first = np.array([True, False]), np.zeros(1, np.int32)
    >>> positives_without_difficult(ClassObjects(first, first + 2, np.ones((2, 4)), hard, ~hard)).positives
    1
    """
    return ground_truth


def all_objects_positive(ground_truth: ClassObjects) -> ClassObjects:
    """Count every annotated object as a positive, difficult or not.

    >>> hard, first = np.array([True, False]), np.zeros(1, np.int32)
    >>> all_objects_positive(ClassObjects(first, first + 2, np.ones((2, 4)), hard, ~hard)).positives
    2
    """
    return replace(ground_truth, difficult=np.zeros_like(ground_truth.difficult))


def match_pascal(
    predictions: ClassDetections, ground_truth: ClassObjects, iou: IoU, iou_threshold: float
) -> Matches:
    """Match by the rules of VOC2007 to VOC2012.

    A detection is matched to the object of its image with the largest IoU, the first of them in an exact tie, if that is at
    least `iou_threshold`. The most confident detection of an object is a true positive, all further ones are false
    positives even where another object is left. Detections of difficult objects are ignored.
    Source: VOC2012 development kit, VOCevaldet.m; it says `>=` where its documentation says "exceeds".

    >>> from heldout_scoring.metrics.matching import iou_inclusive
    >>> first, easy = np.zeros(1, np.int32), np.zeros(1, np.bool_)
    >>> car = ClassObjects(first, first + 1, np.array([[1.0, 1, 10, 10]]), easy, easy)
    >>> twice = ClassDetections(np.zeros(2, np.int32), np.array([0.8, 0.9]), np.array([[1.0, 1, 10, 10], [1, 1, 10, 8]]))
    >>> matched = match_pascal(twice, car, iou_inclusive, 0.5)
    >>> matched.order.tolist(), matched.outcomes.tolist()
    ([1, 0], [1, 0])
    """
    candidates = _match(predictions, ground_truth, iou, iou_threshold)
    hard = ground_truth.difficult[candidates.objects]
    return candidates.with_outcomes(
        np.where(hard, IGNORED, np.where(candidates.first, TRUE_POSITIVE, FALSE_POSITIVE))
    )


def match_pascal_2006(
    predictions: ClassDetections, ground_truth: ClassObjects, iou: IoU, iou_threshold: float
) -> Matches:
    """Match by the rules of VOC2006: as `match_pascal`, but further detections of a difficult object are false positives.

    Source: VOC2006 development kit, VOCpr.m.

    >>> from heldout_scoring.metrics.matching import iou_inclusive
    >>> first, hard = np.zeros(1, np.int32), np.ones(1, np.bool_)
    >>> car = ClassObjects(first, first + 1, np.array([[1.0, 1, 10, 10]]), hard, ~hard)
    >>> twice = ClassDetections(np.zeros(2, np.int32), np.array([0.8, 0.9]), np.array([[1.0, 1, 10, 10], [1, 1, 10, 8]]))
    >>> match_pascal_2006(twice, car, iou_inclusive, 0.5).outcomes.tolist()
    [-1, 0]
    """
    candidates = _match(predictions, ground_truth, iou, iou_threshold)
    hard = ground_truth.difficult[candidates.objects]
    return candidates.with_outcomes(
        np.where(candidates.first, np.where(hard, IGNORED, TRUE_POSITIVE), FALSE_POSITIVE)
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Candidates:
    """The detections that overlap an object enough, most confident first.

    order: intp (n,), the ranking of all detections; places: intp (k,), the candidates' places in it; objects: int32 (k,),
    the object that each overlaps most; first: bool (k,), whether it is the most confident candidate of its object.
    """

    order: Places
    places: Places
    objects: Integers
    first: Flags

    def with_outcomes(self, outcomes: Labels) -> Matches:
        """The matches where candidates have these outcomes, int8 (k,), and all others are false positives."""
        everyone = np.full(len(self.order), FALSE_POSITIVE, np.int8)
        including_difficult = everyone.copy()
        everyone[self.places] = outcomes
        including_difficult[self.places[self.first]] = TRUE_POSITIVE
        return Matches(self.order, everyone, including_difficult)


def _match(
    predictions: ClassDetections, ground_truth: ClassObjects, iou: IoU, iou_threshold: float
) -> _Candidates:
    order = rank(predictions.confidence)
    rows, nearest = _nearest_objects(predictions, ground_truth, iou, iou_threshold)
    object_of = np.full(len(order), _NO_OBJECT, np.int32)
    object_of[rows] = nearest
    ranked = object_of[order]
    places = np.flatnonzero(ranked != _NO_OBJECT)
    objects = ranked[places]
    first_place = np.empty(len(ground_truth.difficult), np.intp)
    first_place[objects[::-1]] = places[::-1]  # of several assignments to one place the last one stays
    return _Candidates(order, places, objects, first_place[objects] == places)


def _nearest_objects(
    predictions: ClassDetections, ground_truth: ClassObjects, iou: IoU, iou_threshold: float
) -> tuple[Places, Integers]:
    """The detections with an IoU of at least the threshold, and the object that each overlaps most."""
    counts = np.take(ground_truth.count, predictions.image)
    rows = np.flatnonzero(counts)
    counts, first = counts[rows], np.take(ground_truth.first, predictions.image[rows])
    corners, ends = np.asfortranarray(ground_truth.boxes), np.cumsum(counts, dtype=np.intp)
    found = [(rows[:0], first[:0], np.empty(0))]
    for start, stop in _slices(ends):
        some = counts[start:stop]
        pairs = np.arange(int(some.sum()), dtype=np.int32)
        objects = pairs + np.repeat(first[start:stop] - (np.cumsum(some, dtype=np.int32) - some), some)
        detections = np.repeat(rows[start:stop], some)
        overlap = iou(_take_rows(predictions.boxes, detections), _take_rows(corners, objects))
        enough = np.flatnonzero(overlap >= iou_threshold)
        found.append((detections[enough], objects[enough], overlap[enough]))
    detections, objects, overlap = (np.concatenate(each) for each in zip(*found, strict=True))
    best = _first_largest(overlap, detections)
    return detections[best], objects[best]


def _slices(ends: Places) -> Iterator[tuple[int, int]]:
    """Slices of detections with about `_PAIRS` pairs each, where `ends` counts the pairs up to each detection."""
    total = int(ends[-1]) if len(ends) else 0
    cuts = np.searchsorted(ends, np.arange(_PAIRS, total, _PAIRS), side="right")
    return pairwise(dict.fromkeys((0, *cuts.tolist(), len(ends))))


def _first_largest(values: Floats, groups: Places) -> Places:
    """The index of the largest value of each group, the first of equal ones; equal groups are adjacent."""
    starts = _starts(groups)
    if len(starts) == len(groups):
        return starts
    most = np.repeat(np.maximum.reduceat(values, starts), np.diff(starts, append=len(values)))
    largest = np.flatnonzero(values == most)
    return largest[_starts(groups[largest])]


def _starts(groups: Places) -> Places:
    """Where each group of equal adjacent values begins."""
    begins = np.ones(len(groups), np.bool_)
    np.not_equal(groups[1:], groups[:-1], out=begins[1:])
    return np.flatnonzero(begins)


def _take_rows(boxes: Floats, rows: Places | Integers) -> Floats:
    """These rows, stored by column: comparing them is twice as fast."""
    return np.take(boxes.T, rows, axis=1).T


MAX_DETECTIONS: Final = 10_000
"""The number of detections of a class that are evaluated in an image: the most confident ones."""

CONFIDENCE_FLOOR: Final = -10.0
"""Detections with this confidence or less are dropped."""


def is_evaluated(predictions: ClassDetections) -> Flags:
    """Which detections the evaluators keep: bool (n,).

    Dropped are boxes whose right is not beyond the left or whose bottom is not beyond the top, confidences of
    `CONFIDENCE_FLOOR` or less, and in each image all but the `MAX_DETECTIONS` most confident of the others.

    >>> boxes = np.array([[0.0, 0, 9, 9], [0, 0, 0, 9], [9, 9, 0, 0]])
    >>> is_evaluated(ClassDetections(np.zeros(3, np.int32), np.array([0.9, 0.8, 0.7]), boxes)).tolist()
    [True, False, False]
    """
    left, top, right, bottom = (predictions.boxes[:, side] for side in range(4))
    kept: Flags = (left < right) & (top < bottom) & (predictions.confidence > CONFIDENCE_FLOOR)
    for image in np.flatnonzero(np.bincount(predictions.image[kept]) > MAX_DETECTIONS).tolist():
        rows = np.flatnonzero(kept & (predictions.image == image))
        kept[rows[rank(predictions.confidence[rows])[MAX_DETECTIONS:]]] = False
    return kept


def match_pascal_tensorflow(
    predictions: ClassDetections, ground_truth: ClassObjects, iou: IoU, iou_threshold: float
) -> Matches:
    """Match as `match_pascal` does, for the detections that `is_evaluated` keeps; the others are ignored.

    iou_threshold: above 0. Source: PascalDetectionEvaluator, WeightedPascalDetectionEvaluator.

    >>> from heldout_scoring.metrics.matching import iou_half_open
    >>> one, easy = np.zeros(1, np.int32), np.zeros(1, np.bool_)
    >>> car = ClassObjects(one, one + 1, np.array([[0.0, 0, 10, 10]]), easy, easy)
    >>> boxes = np.array([[0.0, 0, 10, 10], [5, 5, 5, 9]])
    >>> cars = ClassDetections(np.zeros(2, np.int32), np.array([0.8, 0.9]), boxes)
    >>> match_pascal_tensorflow(cars, car, iou_half_open, 0.5).outcomes.tolist()
    [-1, 1]
    """
    matched = match_pascal(predictions, ground_truth, iou, iou_threshold)
    # a dropped box overlaps nothing, and other dropped detections rank behind all that are kept in their image: none of
    # them takes an object from a detection that is kept
    return ignore(matched, ~is_evaluated(predictions))


def ignore(matched: Matches, dropped: Flags) -> Matches:
    """The same matches with the outcome `IGNORED` for some detections; dropped: bool (n,), in the order of the file.

    >>> right = np.ones(2, np.int8)
    >>> ignore(Matches(np.array([1, 0]), right, right), np.array([True, False])).outcomes.tolist()
    [1, -1]
    """
    places = dropped[matched.order]
    outcomes, including_difficult = matched.outcomes.copy(), matched.including_difficult.copy()
    outcomes[places] = including_difficult[places] = IGNORED
    return replace(matched, outcomes=outcomes, including_difficult=including_difficult)


MIN_IOA: Final = 0.5
"""The share of a detection's area that has to lie in a group-of box: at least so much for the evaluators, more in the text."""

_NO_GROUP: Final = -1


def single_objects_positive(ground_truth: ClassObjects) -> ClassObjects:
    """Count boxes of single objects as positives, and no group-of box; Open Images has no difficult objects.

    >>> group, one = np.array([True, False]), np.zeros(1, np.int32)
    >>> single_objects_positive(ClassObjects(one, one + 2, np.ones((2, 4)), ~group, group)).difficult.tolist()
    [True, False]
    """
    return replace(ground_truth, difficult=ground_truth.group_of)


def match_open_images(
    predictions: ClassDetections, ground_truth: ClassObjects, iou: IoU, iou_threshold: float
) -> Matches:
    """Match as the evaluator of Open Images V2 does: a false positive in a group is ignored.

    Detections that `is_evaluated` drops are ignored as well. ground_truth: as `single_objects_positive` returns it.
    Source: tf-models-research-object-detection 2.8.0, OpenImagesDetectionEvaluator.

    >>> from heldout_scoring.metrics.matching import iou_half_open
    >>> one, group, boxes = np.zeros(1, np.int32), np.array([True]), np.array([[0.0, 0, 50, 50]])
    >>> crowd = ClassObjects(one, one + 1, boxes, group, group)
    >>> half_inside = ClassDetections(one, np.array([0.9]), np.array([[45.0, 10, 55, 20]]))
    >>> match_open_images(half_inside, crowd, iou_half_open, 0.5).outcomes.tolist()
    [-1]
    """
    matched = _match_single_objects(predictions, ground_truth, iou, iou_threshold)
    matched = ignore(matched, ~is_evaluated(predictions))
    return _ignore_in_groups(matched, predictions, ground_truth, np.greater_equal)


def match_open_images_documented(
    predictions: ClassDetections, ground_truth: ClassObjects, iou: IoU, iou_threshold: float
) -> Matches:
    """Match as the text about Open Images V2 says: more than one half of a detection lies in a group, and none is dropped.

    Source: TensorFlow Object Detection API, g3doc/evaluation_protocols.md.

    >>> from heldout_scoring.metrics.matching import iou_half_open
    >>> one, group, boxes = np.zeros(1, np.int32), np.array([True]), np.array([[0.0, 0, 50, 50]])
    >>> crowd = ClassObjects(one, one + 1, boxes, group, group)
    >>> half_inside = ClassDetections(one, np.array([0.9]), np.array([[45.0, 10, 55, 20]]))
    >>> match_open_images_documented(half_inside, crowd, iou_half_open, 0.5).outcomes.tolist()
    [0]
    """
    matched = _match_single_objects(predictions, ground_truth, iou, iou_threshold)
    return _ignore_in_groups(matched, predictions, ground_truth, np.greater)


def match_open_images_challenge(
    predictions: ClassDetections, ground_truth: ClassObjects, iou: IoU, iou_threshold: float
) -> Matches:
    """Match as the evaluator of the Open Images Challenge does: a group counts as one object.

    The most confident false positive in a group becomes a true positive if its confidence is above 0, the others are
    ignored. Ignored as well are detections in images whose labels say nothing of the class (`ClassObjects.verified`), and
    those that `is_evaluated` drops. ground_truth: with every object positive.
    Source: tf-models-research-object-detection 2.8.0, OpenImagesChallengeEvaluator.

    >>> from heldout_scoring.metrics.matching import iou_half_open
    >>> one, group, boxes = np.zeros(1, np.int32), np.array([True]), np.array([[0.0, 0, 50, 50]])
    >>> crowd = ClassObjects(one, one + 1, boxes, ~group, group)
    >>> inside = np.array([[10.0, 10, 20, 20], [20, 20, 30, 30]])
    >>> predictions = ClassDetections(np.zeros(2, np.int32), np.array([0.8, 0.9]), inside)
    >>> match_open_images_challenge(predictions, crowd, iou_half_open, 0.5).outcomes.tolist()
    [1, -1]
    """
    dropped = ~is_evaluated(predictions) | _unverified(predictions, ground_truth)
    matched = ignore(_match_single_objects(predictions, ground_truth, iou, iou_threshold), dropped)
    return _find_groups(matched, predictions, ground_truth, np.greater_equal, min_confidence=0.0)


def match_open_images_challenge_documented(
    predictions: ClassDetections, ground_truth: ClassObjects, iou: IoU, iou_threshold: float
) -> Matches:
    """Match as the text about the Open Images Challenge says: without thresholds of confidence, and none is dropped.

    As `match_open_images_challenge` otherwise, where more than one half of a detection lies in a group.
    Source: Open Images Challenge object detection evaluation, the page of the challenge.

    >>> from heldout_scoring.metrics.matching import iou_half_open
    >>> one, group, boxes = np.zeros(1, np.int32), np.array([True]), np.array([[0.0, 0, 50, 50]])
    >>> crowd = ClassObjects(one, one + 1, boxes, ~group, group)
    >>> half_inside = ClassDetections(one, np.array([0.9]), np.array([[45.0, 10, 55, 20]]))
    >>> match_open_images_challenge_documented(half_inside, crowd, iou_half_open, 0.5).outcomes.tolist()
    [0]
    """
    matched = _match_single_objects(predictions, ground_truth, iou, iou_threshold)
    matched = ignore(matched, _unverified(predictions, ground_truth))
    return _find_groups(matched, predictions, ground_truth, np.greater, min_confidence=-np.inf)


Compare = Callable[[Any, float], Any]


def _match_single_objects(
    predictions: ClassDetections, ground_truth: ClassObjects, iou: IoU, iou_threshold: float
) -> Matches:
    return match_pascal(predictions, _subset(ground_truth, ~ground_truth.group_of), iou, iou_threshold)


def _subset(ground_truth: ClassObjects, chosen: Flags) -> ClassObjects:
    """Only the chosen objects, all of them positive; chosen: bool (m,)."""
    before = np.concatenate([[0], np.cumsum(chosen)])
    first = before[ground_truth.first].astype(np.int32)
    count = (before[ground_truth.first + ground_truth.count] - first).astype(np.int32)
    none = np.zeros(np.count_nonzero(chosen), np.bool_)
    return ClassObjects(first, count, ground_truth.boxes[chosen], difficult=none, group_of=none)


def _unverified(predictions: ClassDetections, ground_truth: ClassObjects) -> Flags:
    """Which detections are in images whose labels say nothing of the class: bool (n,)."""
    if ground_truth.verified is None:
        return np.zeros(len(predictions), np.bool_)
    return ~(ground_truth.verified | (ground_truth.count > 0))[predictions.image]


@dataclass(frozen=True, slots=True, eq=False)
class _InGroups:
    """False positives in groups: their places in the ranking, best first, and the group of each; both (k,)."""

    places: Places
    group: Integers


def _in_groups(
    matched: Matches, predictions: ClassDetections, ground_truth: ClassObjects, compare: Compare
) -> _InGroups:
    groups = _subset(ground_truth, ground_truth.group_of)
    places = np.flatnonzero(matched.outcomes == FALSE_POSITIVE)
    rows = matched.order[places]
    boxes, image = predictions.boxes[rows], predictions.image[rows]
    first, count = groups.first[image], groups.count[image]
    group, most = np.full(len(rows), _NO_GROUP, np.int32), np.zeros(len(rows))
    for nth in range(int(count.max(initial=0))):
        asking = np.flatnonzero(count > nth)
        covered = ioa(boxes[asking], groups.boxes[first[asking] + nth])
        better = covered > most[asking]
        most[asking[better]], group[asking[better]] = covered[better], first[asking[better]] + nth
    inside = (group != _NO_GROUP) & compare(most, MIN_IOA)
    return _InGroups(places[inside], group[inside])


def _ignore_in_groups(
    matched: Matches, predictions: ClassDetections, ground_truth: ClassObjects, compare: Compare
) -> Matches:
    outcomes = matched.outcomes.copy()
    outcomes[_in_groups(matched, predictions, ground_truth, compare).places] = IGNORED
    return Matches(matched.order, outcomes, including_difficult=outcomes)


def _find_groups(
    matched: Matches,
    predictions: ClassDetections,
    ground_truth: ClassObjects,
    compare: Compare,
    *,
    min_confidence: float,
) -> Matches:
    inside = _in_groups(matched, predictions, ground_truth, compare)
    outcomes = matched.outcomes.copy()
    outcomes[inside.places] = IGNORED
    _, best = np.unique(inside.group, return_index=True)  # the first of a group is its most confident
    found = inside.places[best]
    found = found[predictions.confidence[matched.order[found]] > min_confidence]
    outcomes[found] = TRUE_POSITIVE
    return Matches(matched.order, outcomes, including_difficult=outcomes)
