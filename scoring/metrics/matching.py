"""Which answers are right: each is held against the objects of its class in its image."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from scoring.data.arrays import Flags, Floats, Integers, Labels, Places
from scoring.data.detections import ClassDetections
from scoring.metrics.boxes import IoU
from scoring.metrics.ranking import FALSE_POSITIVE, IGNORED, TRUE_POSITIVE, rank

_NOTHING: Final = -1


@dataclass(frozen=True, slots=True, eq=False)
class ClassObjects:
    """The objects of one class, by image, in the order of the annotation.

    first, count: int32 (images,), where an image's objects begin and how many there are; boxes: float64 (m, 4);
    difficult, group_of: bool (m,), whether an object need not be found, and whether a box is around several.
    """

    first: Integers
    count: Integers
    boxes: Floats
    difficult: Flags
    group_of: Flags

    @property
    def positives(self) -> int:
        """How many must be found: those that are not difficult."""
        return int(np.count_nonzero(~self.difficult))


@dataclass(frozen=True, slots=True, eq=False)
class Matches:
    """The verdicts on a file's answers, best first: int8 (n,); order: (n,), which line of the file each is on.

    including_difficult: int8 (n,), the verdicts if every object had to be found, difficult ones as well.
    """

    order: Places
    outcomes: Labels
    including_difficult: Labels


Match = Callable[[ClassDetections, ClassObjects, IoU, float], Matches]
SelectPositives = Callable[[ClassObjects], ClassObjects]
"""What of the annotated objects must be found: the same objects, with another choice of those that need not be."""


def positives_without_difficult(ground_truth: ClassObjects) -> ClassObjects:
    """What the annotators saw clearly enough; a box around several objects is an object like any other.

    >>> hard, first = np.array([True, False]), np.zeros(1, np.int32)
    >>> positives_without_difficult(ClassObjects(first, first + 2, np.ones((2, 4)), hard, ~hard)).positives
    1
    """
    return ground_truth


def all_objects_positive(ground_truth: ClassObjects) -> ClassObjects:
    """Every object that is annotated, difficult or not.

    >>> hard, first = np.array([True, False]), np.zeros(1, np.int32)
    >>> all_objects_positive(ClassObjects(first, first + 2, np.ones((2, 4)), hard, ~hard)).positives
    2
    """
    return replace(ground_truth, difficult=np.zeros_like(ground_truth.difficult))


def match_pascal(
    predictions: ClassDetections, ground_truth: ClassObjects, iou: IoU, iou_threshold: float
) -> Matches:
    """Verdicts by the rules of 2007 to 2012.

    An answer means the object that it overlaps most, the first of them in an exact tie, if the overlap is at least
    `iou_threshold`. The first answer that means an object is right, later ones are wrong even if another object would
    have been left; whoever means a difficult object is ignored, every time.
    Source: VOC2012 development kit, VOCevaldet.m; it says `>=` where its documentation says "exceeds".

    >>> from scoring.metrics.boxes import iou_inclusive
    >>> first, easy = np.zeros(1, np.int32), np.zeros(1, np.bool_)
    >>> car = ClassObjects(first, first + 1, np.array([[1.0, 1, 10, 10]]), easy, easy)
    >>> twice = ClassDetections(np.zeros(2, np.int32), np.array([0.8, 0.9]), np.array([[1.0, 1, 10, 10], [1, 1, 10, 8]]))
    >>> matched = match_pascal(twice, car, iou_inclusive, 0.5)
    >>> matched.order.tolist(), matched.outcomes.tolist()
    ([1, 0], [1, 0])
    """
    claims = _match(predictions, ground_truth, iou, iou_threshold)
    hard = ground_truth.difficult[claims.meant]
    return claims.matched(np.where(hard, IGNORED, np.where(claims.first, TRUE_POSITIVE, FALSE_POSITIVE)))


def match_pascal_2006(
    predictions: ClassDetections, ground_truth: ClassObjects, iou: IoU, iou_threshold: float
) -> Matches:
    """Verdicts by the rules of 2006: as `match_pascal`, but only the first who means a difficult object is ignored.

    Source: VOC2006 development kit, VOCpr.m.

    >>> from scoring.metrics.boxes import iou_inclusive
    >>> first, hard = np.zeros(1, np.int32), np.ones(1, np.bool_)
    >>> car = ClassObjects(first, first + 1, np.array([[1.0, 1, 10, 10]]), hard, ~hard)
    >>> twice = ClassDetections(np.zeros(2, np.int32), np.array([0.8, 0.9]), np.array([[1.0, 1, 10, 10], [1, 1, 10, 8]]))
    >>> match_pascal_2006(twice, car, iou_inclusive, 0.5).outcomes.tolist()
    [-1, 0]
    """
    claims = _match(predictions, ground_truth, iou, iou_threshold)
    hard = ground_truth.difficult[claims.meant]
    return claims.matched(np.where(claims.first, np.where(hard, IGNORED, TRUE_POSITIVE), FALSE_POSITIVE))


@dataclass(frozen=True, slots=True, eq=False)
class _Matched:
    """The answers that mean an object: their places in the ranking, the object, and whether they are its first."""

    order: Places
    places: Places
    meant: Integers
    first: Flags

    def matched(self, outcomes: Labels) -> Matches:
        """The verdicts on all answers: those that mean nothing are wrong."""
        everyone = np.full(len(self.order), FALSE_POSITIVE, np.int8)
        including_difficult = everyone.copy()
        everyone[self.places] = outcomes
        including_difficult[self.places[self.first]] = TRUE_POSITIVE
        return Matches(self.order, everyone, including_difficult)


def _match(
    predictions: ClassDetections, ground_truth: ClassObjects, iou: IoU, iou_threshold: float
) -> _Matched:
    order = rank(predictions.confidence)
    asking, objects = _meant(predictions, ground_truth, iou, iou_threshold)
    meant_by = np.full(len(order), _NOTHING, np.int32)
    meant_by[asking] = objects
    ranked = meant_by[order]
    places = np.flatnonzero(ranked != _NOTHING)
    meant = ranked[places]
    first_place = np.empty(len(ground_truth.difficult), np.intp)
    first_place[meant[::-1]] = places[::-1]  # of several assignments to one place the last one stays
    return _Matched(order, places, meant, first_place[meant] == places)


def _meant(
    predictions: ClassDetections, ground_truth: ClassObjects, iou: IoU, iou_threshold: float
) -> tuple[Places, Integers]:
    """Which answers overlap an object enough, and the object that each of these overlaps most.

    All images at once: first their first objects, then the second ones of those that have two, and so on.
    """
    counts = ground_truth.count[predictions.image]
    asking = np.flatnonzero(counts)
    counts, boxes = counts[asking], _rows(predictions.boxes, asking)
    objects, there = ground_truth.first[predictions.image[asking]], np.asfortranarray(ground_truth.boxes)
    meant, most = objects, iou(boxes, _rows(there, objects))
    left, nth = np.arange(len(asking)), 1
    while len(more := np.flatnonzero(counts > nth)):
        left, counts, boxes = left[more], counts[more], _rows(boxes, more)
        objects = objects[more] + 1
        found = iou(boxes, _rows(there, objects))
        better = np.flatnonzero(found > most[left])
        most[left[better]], meant[left[better]] = found[better], objects[better]
        nth += 1
    enough = most >= iou_threshold
    return asking[enough], meant[enough]


def _rows(boxes: Floats, rows: Places | Integers) -> Floats:
    """These rows, with the numbers of a side next to each other: so they are compared twice as fast."""
    return np.take(boxes.T, rows, axis=1).T
