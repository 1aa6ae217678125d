"""The area under the ROC curve with integer weights of the images."""

from collections.abc import Callable

import numpy as np

from scoring.data.arrays import Floats, Integers
from scoring.data.matches import RankedPredictions
from scoring.metrics.ranking import FALSE_POSITIVE, TRUE_POSITIVE
from scoring.metrics.roc import ends_of_ties
from scoring.metrics.weighting import CumulativeWeights, Weights


def weighted_roc_auc(ranking: RankedPredictions, _positives: Integers) -> Callable[[Weights], Floats]:
    """`scoring.metrics.roc.auc` for many weightings at once, as a `scoring.metrics.weighting.WeightedMetric`.

    A false positive counts with the true positives before its tie. Only ties with a true positive raise the TPR, so the
    weights at their ends are enough. Values are float64 (replicates,), NaN without positives or without negatives.

    >>> ranking = RankedPredictions("car", 1, np.arange(3), np.array([0.9, 0.5, 0.1]),
    ...     np.array([0, 1, 0], np.int8))
    >>> weighted_roc_auc(ranking, np.array([0, 1, 0]))(np.array([[1], [1], [3]], np.uint8)).tolist()
    [0.75]
    """
    is_true, is_false = ranking.outcomes == TRUE_POSITIVE, ranking.outcomes == FALSE_POSITIVE
    ends = np.flatnonzero(ends_of_ties(ranking.confidence))
    true_by, false_by = np.cumsum(is_true)[ends], np.cumsum(is_false)[ends]
    rising = np.flatnonzero(np.diff(true_by, prepend=0))
    true_positives = CumulativeWeights.of(ranking.image[is_true], true_by[rising])
    ends_of_false = np.append(false_by[rising], np.count_nonzero(is_false))
    false_positives = CumulativeWeights.of(ranking.image[is_false], ends_of_false)

    def values(weights: Weights) -> Floats:
        heights = np.pad(true_positives.sums(weights).astype(np.int64), ((0, 0), (1, 0)))
        passed = false_positives.sums(weights).astype(np.int64)
        area = (heights * np.diff(passed, axis=1, prepend=0)).sum(axis=1)  # integers: exact in any order
        whole = heights[:, -1] * passed[:, -1]
        areas: Floats = np.divide(area, whole, out=np.full(len(area), np.nan), where=whole > 0)
        return areas

    return values
