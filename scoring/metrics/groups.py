"""Matching by the rules of Open Images, whose annotation has boxes around groups of objects.

A group-of box is drawn around five or more objects that touch. Each function below matches detections to the boxes of
single objects first, as `match_pascal` does, and what is a false positive then to the group-of boxes. A detection lies in a
group if enough of its own area does (`ioa`); among several groups it belongs to the one that covers it most.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from scoring.data.arrays import Flags, Integers, Places
from scoring.data.detections import ClassDetections
from scoring.metrics.boxes import IoU, ioa
from scoring.metrics.matching import ClassObjects, Matches, match_pascal
from scoring.metrics.ranking import FALSE_POSITIVE, IGNORED, TRUE_POSITIVE
from scoring.metrics.tensorflow import ignore, is_evaluated

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

    >>> from scoring.metrics.boxes import iou_half_open
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

    >>> from scoring.metrics.boxes import iou_half_open
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

    >>> from scoring.metrics.boxes import iou_half_open
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

    >>> from scoring.metrics.boxes import iou_half_open
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
