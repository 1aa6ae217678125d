"""Which answers are right: each is held against the objects of its class in its image."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from scoring.arrays import Flags, Floats, Integers, Labels, Places
from scoring.formats.lines import Detections
from scoring.measures.boxes import Overlap
from scoring.measures.ranking import IGNORED, RIGHT, WRONG, rank

_NOTHING: Final = -1


@dataclass(frozen=True, slots=True, eq=False)
class Sought:
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
class Judged:
    """The verdicts on a file's answers, best first: int8 (n,); order: (n,), which line of the file each is on.

    on_all: int8 (n,), the verdicts if every object had to be found, difficult ones as well.
    """

    order: Places
    verdicts: Labels
    on_all: Labels


Judge = Callable[[Detections, Sought, Overlap, float], Judged]
Seek = Callable[[Sought], Sought]
"""What of the annotated objects must be found: the same objects, with another choice of those that need not be."""


def seek_all_but_difficult(sought: Sought) -> Sought:
    """What the annotators saw clearly enough; a box around several objects is an object like any other.

    >>> hard, first = np.array([True, False]), np.zeros(1, np.int32)
    >>> seek_all_but_difficult(Sought(first, first + 2, np.ones((2, 4)), hard, ~hard)).positives
    1
    """
    return sought


def seek_everything(sought: Sought) -> Sought:
    """Every object that is annotated, difficult or not.

    >>> hard, first = np.array([True, False]), np.zeros(1, np.int32)
    >>> seek_everything(Sought(first, first + 2, np.ones((2, 4)), hard, ~hard)).positives
    2
    """
    return replace(sought, difficult=np.zeros_like(sought.difficult))


def judge_pascal(answers: Detections, sought: Sought, overlap: Overlap, least: float) -> Judged:
    """Verdicts by the rules of 2007 to 2012.

    An answer means the object that it overlaps most, the first of them in an exact tie, if the overlap is at least
    `least`. The first answer that means an object is right, later ones are wrong even if another object would
    have been left; whoever means a difficult object is ignored, every time.
    Source: VOC2012 development kit, VOCevaldet.m; it says `>=` where its documentation says "exceeds".

    >>> from scoring.measures.boxes import overlap_of_pixels
    >>> first, easy = np.zeros(1, np.int32), np.zeros(1, np.bool_)
    >>> car = Sought(first, first + 1, np.array([[1.0, 1, 10, 10]]), easy, easy)
    >>> twice = Detections(np.zeros(2, np.int32), np.array([0.8, 0.9]), np.array([[1.0, 1, 10, 10], [1, 1, 10, 8]]))
    >>> judged = judge_pascal(twice, car, overlap_of_pixels, 0.5)
    >>> judged.order.tolist(), judged.verdicts.tolist()
    ([1, 0], [1, 0])
    """
    claims = _claims(answers, sought, overlap, least)
    hard = sought.difficult[claims.meant]
    return claims.judged(np.where(hard, IGNORED, np.where(claims.first, RIGHT, WRONG)))


def judge_pascal_2006(answers: Detections, sought: Sought, overlap: Overlap, least: float) -> Judged:
    """Verdicts by the rules of 2006: as `judge_pascal`, but only the first who means a difficult object is ignored.

    Source: VOC2006 development kit, VOCpr.m.

    >>> from scoring.measures.boxes import overlap_of_pixels
    >>> first, hard = np.zeros(1, np.int32), np.ones(1, np.bool_)
    >>> car = Sought(first, first + 1, np.array([[1.0, 1, 10, 10]]), hard, ~hard)
    >>> twice = Detections(np.zeros(2, np.int32), np.array([0.8, 0.9]), np.array([[1.0, 1, 10, 10], [1, 1, 10, 8]]))
    >>> judge_pascal_2006(twice, car, overlap_of_pixels, 0.5).verdicts.tolist()
    [-1, 0]
    """
    claims = _claims(answers, sought, overlap, least)
    hard = sought.difficult[claims.meant]
    return claims.judged(np.where(claims.first, np.where(hard, IGNORED, RIGHT), WRONG))


@dataclass(frozen=True, slots=True, eq=False)
class _Claims:
    """The answers that mean an object: their places in the ranking, the object, and whether they are its first."""

    order: Places
    places: Places
    meant: Integers
    first: Flags

    def judged(self, verdicts: Labels) -> Judged:
        """The verdicts on all answers: those that mean nothing are wrong."""
        everyone = np.full(len(self.order), WRONG, np.int8)
        on_all = everyone.copy()
        everyone[self.places] = verdicts
        on_all[self.places[self.first]] = RIGHT
        return Judged(self.order, everyone, on_all)


def _claims(answers: Detections, sought: Sought, overlap: Overlap, least: float) -> _Claims:
    order = rank(answers.confidence)
    asking, objects = _meant(answers, sought, overlap, least)
    meant_by = np.full(len(order), _NOTHING, np.int32)
    meant_by[asking] = objects
    ranked = meant_by[order]
    places = np.flatnonzero(ranked != _NOTHING)
    meant = ranked[places]
    first_place = np.empty(len(sought.difficult), np.intp)
    first_place[meant[::-1]] = places[::-1]  # of several assignments to one place the last one stays
    return _Claims(order, places, meant, first_place[meant] == places)


def _meant(answers: Detections, sought: Sought, overlap: Overlap, least: float) -> tuple[Places, Integers]:
    """Which answers overlap an object enough, and the object that each of these overlaps most.

    All images at once: first their first objects, then the second ones of those that have two, and so on.
    """
    counts = sought.count[answers.image]
    asking = np.flatnonzero(counts)
    counts, boxes = counts[asking], _rows(answers.boxes, asking)
    objects, there = sought.first[answers.image[asking]], np.asfortranarray(sought.boxes)
    meant, most = objects, overlap(boxes, _rows(there, objects))
    left, nth = np.arange(len(asking)), 1
    while len(more := np.flatnonzero(counts > nth)):
        left, counts, boxes = left[more], counts[more], _rows(boxes, more)
        objects = objects[more] + 1
        found = overlap(boxes, _rows(there, objects))
        better = np.flatnonzero(found > most[left])
        most[left[better]], meant[left[better]] = found[better], objects[better]
        nth += 1
    enough = most >= least
    return asking[enough], meant[enough]


def _rows(boxes: Floats, rows: Places | Integers) -> Floats:
    """These rows, with the numbers of a side next to each other: so they are compared twice as fast."""
    return np.take(boxes.T, rows, axis=1).T
