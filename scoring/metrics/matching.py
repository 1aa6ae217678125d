"""Matching of detections to the annotated objects of their class and image."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, Self

import numpy as np

from scoring.data.arrays import Flags, Floats, Integers, Labels, Places
from scoring.data.boxes import BoxConvention, convert_boxes
from scoring.data.detections import ClassDetections
from scoring.metrics.boxes import IoU
from scoring.metrics.ranking import FALSE_POSITIVE, IGNORED, TRUE_POSITIVE, rank

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
        boxes = convert_boxes(self.boxes, self.convention, convention)
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

    >>> from scoring.metrics.boxes import iou_inclusive
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

    >>> from scoring.metrics.boxes import iou_inclusive
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
    places = np.unique(np.concatenate([[0], cuts, [len(ends)]])).tolist()
    return pairwise(places)


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
