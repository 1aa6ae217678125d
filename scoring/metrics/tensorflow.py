"""Matching of detections as the PASCAL evaluators of the TensorFlow Object Detection API do it.

The evaluators drop some detections before they match; here these stay in the ranking with the outcome `IGNORED`, which
gives the same figures. Equal confidences keep the order of the file. The evaluators sort with NumPy's unstable `argsort`,
so their own figures for tied detections depend on the version of NumPy and on the processor.
Source: tf-models-research-object-detection 2.8.0, object_detection/utils/per_image_evaluation.py.
"""

from dataclasses import replace
from typing import Final

import numpy as np

from scoring.data.arrays import Flags
from scoring.data.detections import ClassDetections
from scoring.metrics.boxes import IoU
from scoring.metrics.matching import ClassObjects, Matches, match_pascal
from scoring.metrics.ranking import IGNORED, rank

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

    >>> from scoring.metrics.boxes import iou_half_open
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
