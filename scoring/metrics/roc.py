"""ROC curves, and the area under them, also with integer weights of the images."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from scoring.data.arrays import Flags, Floats, Integers, Labels
from scoring.data.matches import RankedPredictions
from scoring.metrics.ranking import FALSE_POSITIVE, TRUE_POSITIVE
from scoring.metrics.weighting import CumulativeWeights, Weights


@dataclass(frozen=True, slots=True, eq=False)
class RocPoints:
    """A ROC curve from (0, 0) to (1, 1), with a point at the end of each run of equal confidences.

    fpr, tpr: float64 (n,), the shares of negatives and of positives ranked up to there; NaN without any.
    """

    fpr: Floats
    tpr: Floats


def ends_of_ties(confidence: Floats) -> Flags:
    """Whether each prediction is the last with its confidence, bool (n,); confidence: float64 (n,), falling.

    >>> ends_of_ties(np.array([0.9, 0.5, 0.5, -np.inf])).tolist()
    [True, False, True, True]
    """
    ends = np.ones(len(confidence), np.bool_)
    np.not_equal(confidence[1:], confidence[:-1], out=ends[:-1])
    return ends


def roc(outcomes: Labels, ends: Flags) -> RocPoints:
    """The ROC curve of a ranking: outcomes int8 (n,), most confident first; ends: bool (n,), see `ends_of_ties`.

    Equal confidences make one step, whatever their order. Source: VOC2006 development kit, VOCroc.m.

    >>> roc(np.array([1, 0, 1], np.int8), np.array([True, True, True])).tpr.tolist()
    [0.0, 0.5, 0.5, 1.0, 1.0]
    """
    return RocPoints(_shares(outcomes == FALSE_POSITIVE, ends), _shares(outcomes == TRUE_POSITIVE, ends))


def _shares(counted: Flags, ends: Flags) -> Floats:
    so_far = np.cumsum(counted, dtype=np.float64)
    with np.errstate(invalid="ignore"):  # 0/0 is NaN, on purpose
        shares = so_far[ends] / np.count_nonzero(counted)
    return np.concatenate([[0.0], shares, [1.0]])


def auc(points: RocPoints) -> float:
    """The area under the lower steps of the ROC curve: a rise of tpr counts from the next false positive on.

    NaN where there is no positive or no negative. Source: VOC2006 development kit, VOCroc.m.

    >>> auc(roc(np.array([1, 0, 1], np.int8), np.array([True, True, True])))
    0.5
    """
    tpr = points.tpr
    kept = np.ones(len(tpr), np.bool_)
    np.not_equal(tpr[1:-1], tpr[:-2], out=kept[1:-1])
    steps = np.diff(points.fpr[kept]) * tpr[kept][:-1]
    return float(np.cumsum(steps)[-1])  # added up from left to right, as everywhere


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
