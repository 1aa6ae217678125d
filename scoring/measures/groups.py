"""Boxes that are drawn around several objects, and the rules of Open Images for them."""

from dataclasses import replace
from typing import Final

import numpy as np

from scoring.arrays import Flags, Floats, Integers
from scoring.formats.lines import Detections
from scoring.measures.boxes import Overlap, share_covered
from scoring.measures.matching import Judged, Sought, judge_pascal
from scoring.measures.ranking import IGNORED, WRONG

INSIDE: Final = 0.5
"""An answer lies inside a group if more than this share of it does."""


def seek_single_objects(sought: Sought) -> Sought:
    """What must be found are the boxes around one object, difficult or not: Open Images knows no difficult ones.

    >>> group, one = np.array([True, False]), np.zeros(1, np.int32)
    >>> seek_single_objects(Sought(one, one + 2, np.ones((2, 4)), ~group, group)).difficult.tolist()
    [True, False]
    """
    return replace(sought, difficult=sought.group_of)


def judge_open_images(answers: Detections, sought: Sought, overlap: Overlap, least: float) -> Judged:
    """Verdicts by the rules of Open Images, on objects as `seek_single_objects` leaves them.

    An answer means the single object that it overlaps most, as in `judge_pascal`. One that is not right is ignored
    where more than half of its area lies in a box around a group, and else is wrong.
    Source: TensorFlow Object Detection API, evaluation_protocols.md; its program takes exactly one half for enough.

    >>> from scoring.measures.boxes import overlap_of_areas
    >>> one, group, boxes = np.zeros(1, np.int32), np.array([True]), np.array([[0.0, 0, 50, 50]])
    >>> crowd = Sought(one, one + 1, boxes, group, group)
    >>> answer = Detections(one, np.array([0.9]), np.array([[10.0, 10, 20, 20]]))
    >>> judge_open_images(answer, crowd, overlap_of_areas, 0.5).verdicts.tolist()
    [-1]
    """
    judged = judge_pascal(answers, _those(sought, ~sought.group_of), overlap, least)
    wrong = np.flatnonzero(judged.verdicts == WRONG)
    lines = judged.order[wrong]
    inside = _in_a_group(answers.boxes[lines], answers.image[lines], _those(sought, sought.group_of))
    verdicts = judged.verdicts.copy()
    verdicts[wrong[inside]] = IGNORED
    return Judged(judged.order, verdicts, on_all=verdicts)


def _those(sought: Sought, chosen: Flags) -> Sought:
    """The chosen objects alone; all of them must be found."""
    before = np.concatenate([[0], np.cumsum(chosen)])
    first = before[sought.first].astype(np.int32)
    count = (before[sought.first + sought.count] - first).astype(np.int32)
    none = np.zeros(np.count_nonzero(chosen), np.bool_)
    return Sought(first, count, sought.boxes[chosen], difficult=none, group_of=none)


def _in_a_group(boxes: Floats, image: Integers, groups: Sought) -> Flags:
    """Which boxes lie inside one of the groups of their image: bool (n,)."""
    first, count = groups.first[image], groups.count[image]
    inside = np.zeros(len(boxes), np.bool_)
    for nth in range(int(count.max(initial=0))):
        asking = np.flatnonzero((count > nth) & ~inside)
        inside[asking] = share_covered(boxes[asking], groups.boxes[first[asking] + nth]) > INSIDE
    return inside
