"""One figure for several classes: means, and pools of their rankings."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from scoring.data.matches import RankedPredictions
from scoring.metrics.ranking import rank

Average = Callable[[Sequence[float]], float]
"""The mean of the values of the classes; NaN where it is undefined."""

Pool = Callable[[Sequence[RankedPredictions]], RankedPredictions]
"""Merges the rankings of several classes into one."""


def mean_of_classes(values: Sequence[float]) -> float:
    """The arithmetic mean, added up from left to right; NaN where there is no value or one of them is NaN.

    >>> mean_of_classes([0.5, 0.25])
    0.375
    """
    total = 0.0
    # not sum(): from Python 3.12 on it compensates, and the last bit would depend on the version
    for value in values:
        total += value
    return total / len(values) if values else float("nan")


def mean_of_classes_with_a_value(values: Sequence[float]) -> float:
    """The mean of the values that are not NaN.

    Source: TensorFlow Object Detection API, object_detection_evaluation.py.

    >>> mean_of_classes_with_a_value([0.5, math.nan])
    0.5
    """
    return mean_of_classes([value for value in values if not math.isnan(value)])


def pool_all_classes(classes: Sequence[RankedPredictions]) -> RankedPredictions:
    """Pool all classes as if they were one, so that a class weighs as much as it has objects.

    Equal confidences keep the order of the classes. Detections of a class without positives are false positives.
    Source: TensorFlow Object Detection API, g3doc/evaluation_protocols.md, "weighted PASCAL".

    >>> one, right, wrong = np.zeros(1, np.int32), np.ones(1, np.int8), np.zeros(1, np.int8)
    >>> car = RankedPredictions("car", 4, one, np.array([0.5]), right)
    >>> pooled = pool_all_classes([car, RankedPredictions("cat", 1, one, np.array([0.9]), wrong)])
    >>> pooled.positives, pooled.outcomes.tolist()
    (5, [0, 1])
    """
    confidence = np.concatenate([np.empty(0), *(each.confidence for each in classes)])
    order = rank(confidence)
    return RankedPredictions(
        class_name="all classes",
        positives=sum(each.positives for each in classes),
        image=np.concatenate([np.empty(0, np.int32), *(each.image for each in classes)])[order],
        confidence=confidence[order],
        outcomes=np.concatenate([np.empty(0, np.int8), *(each.outcomes for each in classes)])[order],
    )


def pool_classes_with_positives(classes: Sequence[RankedPredictions]) -> RankedPredictions:
    """Pool as `pool_all_classes` does, but leave out classes without positives and their detections.

    Source: tf-models-research-object-detection 2.8.0, object_detection_evaluation.py.

    >>> one, right, wrong = np.zeros(1, np.int32), np.ones(1, np.int8), np.zeros(1, np.int8)
    >>> car = RankedPredictions("car", 4, one, np.array([0.5]), right)
    >>> pooled = pool_classes_with_positives([car, RankedPredictions("cat", 0, one, np.array([0.9]), wrong)])
    >>> pooled.positives, pooled.outcomes.tolist()
    (4, [1])
    """
    return pool_all_classes([each for each in classes if each.positives])
