"""Boxes that are drawn around several objects, and the rules of Open Images for them."""

from dataclasses import replace
from typing import Final

import numpy as np

from scoring.data.arrays import Flags, Floats, Integers
from scoring.data.detections import ClassDetections
from scoring.metrics.boxes import IoU, ioa
from scoring.metrics.matching import ClassObjects, Matches, match_pascal
from scoring.metrics.ranking import FALSE_POSITIVE, IGNORED

INSIDE: Final = 0.5
"""An answer lies inside a group if more than this share of it does."""


def single_objects_positive(ground_truth: ClassObjects) -> ClassObjects:
    """What must be found are the boxes around one object, difficult or not: Open Images knows no difficult ones.

    >>> group, one = np.array([True, False]), np.zeros(1, np.int32)
    >>> single_objects_positive(ClassObjects(one, one + 2, np.ones((2, 4)), ~group, group)).difficult.tolist()
    [True, False]
    """
    return replace(ground_truth, difficult=ground_truth.group_of)


def match_open_images(
    predictions: ClassDetections, ground_truth: ClassObjects, iou: IoU, iou_threshold: float
) -> Matches:
    """Verdicts by the rules of Open Images, on objects as `single_objects_positive` leaves them.

    An answer means the single object that it overlaps most, as in `match_pascal`. One that is not right is ignored
    where more than half of its area lies in a box around a group, and else is wrong.
    Source: TensorFlow Object Detection API, evaluation_protocols.md; its program takes exactly one half for enough.

    >>> from scoring.metrics.boxes import iou_half_open
    >>> one, group, boxes = np.zeros(1, np.int32), np.array([True]), np.array([[0.0, 0, 50, 50]])
    >>> crowd = ClassObjects(one, one + 1, boxes, group, group)
    >>> prediction = ClassDetections(one, np.array([0.9]), np.array([[10.0, 10, 20, 20]]))
    >>> match_open_images(prediction, crowd, iou_half_open, 0.5).outcomes.tolist()
    [-1]
    """
    matched = match_pascal(predictions, _those(ground_truth, ~ground_truth.group_of), iou, iou_threshold)
    wrong = np.flatnonzero(matched.outcomes == FALSE_POSITIVE)
    lines = matched.order[wrong]
    inside = _in_a_group(
        predictions.boxes[lines], predictions.image[lines], _those(ground_truth, ground_truth.group_of)
    )
    outcomes = matched.outcomes.copy()
    outcomes[wrong[inside]] = IGNORED
    return Matches(matched.order, outcomes, including_difficult=outcomes)


def _those(ground_truth: ClassObjects, chosen: Flags) -> ClassObjects:
    """The chosen objects alone; all of them must be found."""
    before = np.concatenate([[0], np.cumsum(chosen)])
    first = before[ground_truth.first].astype(np.int32)
    count = (before[ground_truth.first + ground_truth.count] - first).astype(np.int32)
    none = np.zeros(np.count_nonzero(chosen), np.bool_)
    return ClassObjects(first, count, ground_truth.boxes[chosen], difficult=none, group_of=none)


def _in_a_group(boxes: Floats, image: Integers, groups: ClassObjects) -> Flags:
    """Which boxes lie inside one of the groups of their image: bool (n,)."""
    first, count = groups.first[image], groups.count[image]
    inside = np.zeros(len(boxes), np.bool_)
    for nth in range(int(count.max(initial=0))):
        asking = np.flatnonzero((count > nth) & ~inside)
        inside[asking] = ioa(boxes[asking], groups.boxes[first[asking] + nth]) > INSIDE
    return inside
