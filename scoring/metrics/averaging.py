"""One number for several classes."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from scoring.metrics.ranking import rank
from scoring.ranked_predictions import RankedPredictions

Average = Callable[[Sequence[float]], float]
"""The headline of the classes' values; NaN where there is none."""

Pool = Callable[[Sequence[RankedPredictions]], RankedPredictions]
"""One ranking of the answers of several classes."""


def mean_of_classes(values: Sequence[float]) -> float:
    """The mean, added up from left to right; NaN where there is no value, and as soon as one of them is NaN.

    >>> mean_of_classes([0.5, 0.25])
    0.375
    """
    total = 0.0
    # not sum(): from Python 3.12 on it compensates, and the last bit would depend on the version
    for value in values:
        total += value
    return total / len(values) if values else float("nan")


def mean_of_classes_with_a_value(values: Sequence[float]) -> float:
    """The mean of those that are not NaN. Source: TensorFlow Object Detection API, object_detection_evaluation.py.

    >>> mean_of_classes_with_a_value([0.5, math.nan])
    0.5
    """
    return mean_of_classes([value for value in values if not math.isnan(value)])


def pool_all_classes(classes: Sequence[RankedPredictions]) -> RankedPredictions:
    """All classes as if they were one, which so counts for more the more objects it has: "weighted PASCAL".

    Equal confidences are taken in the order of the classes. What was answered for a class without objects is wrong
    like any other mistake; the original program leaves it out. Source: TensorFlow Object Detection API,
    evaluation_protocols.md.

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
