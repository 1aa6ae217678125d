"""The area under a ROC curve when every image counts a whole number of times."""

from collections.abc import Callable

import numpy as np

from scoring.data.arrays import Floats, Integers
from scoring.data.matches import RankedPredictions
from scoring.metrics.ranking import FALSE_POSITIVE, TRUE_POSITIVE
from scoring.metrics.roc import ends_of_ties
from scoring.metrics.weighting import RunningSums, Weights


def weighted_roc_auc(ranking: RankedPredictions, _wanted: Integers) -> Callable[[Weights], Floats]:
    """What `scoring.metrics.roc.auc` says, for many weightings at once: float64 (replicates,); see
    `scoring.metrics.weighting.WeightedMetric`.

    A wrong answer counts for what was found before its tie began. What is found grows only with ties that
    hold a right answer, so it is enough to look at where these end. NaN where there is no positive or no
    negative.

    >>> ranking = RankedPredictions("car", 1, np.arange(3), np.array([0.9, 0.5, 0.1]),
    ...     np.array([0, 1, 0], np.int8))
    >>> weighted_roc_auc(ranking, np.array([0, 1, 0]))(np.array([[1], [1], [3]], np.uint8)).tolist()
    [0.75]
    """
    right, wrong = ranking.outcomes == TRUE_POSITIVE, ranking.outcomes == FALSE_POSITIVE
    ends = np.flatnonzero(ends_of_ties(ranking.confidence))
    found_by, wrong_by = np.cumsum(right)[ends], np.cumsum(wrong)[ends]
    growing = np.flatnonzero(np.diff(found_by, prepend=0))
    found = RunningSums.of(ranking.image[right], found_by[growing])
    fpr = RunningSums.of(ranking.image[wrong], np.append(wrong_by[growing], np.count_nonzero(wrong)))

    def values(weights: Weights) -> Floats:
        heights = np.pad(found.under(weights).astype(np.int64), ((0, 0), (1, 0)))
        passed = fpr.under(weights).astype(np.int64)
        area = (heights * np.diff(passed, axis=1, prepend=0)).sum(axis=1)  # whole numbers: exact in any order
        whole = heights[:, -1] * passed[:, -1]
        areas: Floats = np.divide(area, whole, out=np.full(len(area), np.nan), where=whole > 0)
        return areas

    return values
