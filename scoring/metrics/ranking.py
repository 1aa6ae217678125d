"""Ranking by confidence, precision and recall, average precision."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from scoring.data.arrays import Floats, Labels, Places

TRUE_POSITIVE: Final = 1


FALSE_POSITIVE: Final = 0


IGNORED: Final = -1


ELEVEN_RECALLS: Final = tuple(k * 0.1 for k in range(11))
"""The recalls at which 11-point average precision is taken: multiples of 0.1 as Octave and NumPy round them, so that the
fourth is 0.30000000000000004 and not 0.3. Where a recall is exactly 0.3, 0.6 or 0.7 this moves a value by up to 0.0014."""


Measure = Callable[[Labels, int], float]
"""The value of a ranking, from outcomes int8 (n,), most confident first, and the number of positives; NaN where the kit's is."""


@dataclass(frozen=True, slots=True, eq=False)
class PrecisionRecall:
    """A PR curve: float64 (n,) each, a point for each prediction; an ignored one repeats the point before it.

    precision is NaN before the first true or false positive, recall where there are no positives.
    """

    recall: Floats
    precision: Floats


def rank(confidence: NDArray[np.floating[Any]]) -> Places:
    """Indices of confidences in descending order; equal confidences keep their order, as in the kit's sort.

    confidence: (n,), of any floating type. Returns intp (n,). Raises ValueError for NaN or another shape.

    >>> rank(np.array([0.1, 0.9, 0.1, 0.5])).tolist()
    [1, 3, 0, 2]
    """
    confidence = np.asarray(
        confidence, np.float64
    )  # exact for narrower types, whose bits compare differently
    if confidence.ndim != 1:
        raise ValueError(f"expected confidences of shape (n,), found {confidence.shape}")
    if np.isnan(confidence).any():
        raise ValueError(
            f"expected numbers as confidences, found NaN at {int(np.isnan(confidence).argmax())}"
        )
    # Six times as fast as a stable argsort: the bits of the confidences as integers that compare as the confidences
    # do, their lowest bits replaced by the index, are sorted as values.
    falling = 0.0 - confidence  # not -confidence: 0.0 and -0.0 are equal
    bits = falling.view(np.int64)
    bits = bits ^ ((bits >> 63) & np.int64(2**63 - 1))
    places = np.int64((1 << len(confidence).bit_length()) - 1)
    keys = (bits & ~places) | np.arange(len(confidence))
    keys.sort()
    order = keys & places
    ranked = falling[order]
    if np.any(ranked[1:] < ranked[:-1]):  # confidences that differ in the lowest bits only
        return np.argsort(falling, kind="stable")
    return order


def precision_recall(outcomes: Labels, positives: int) -> PrecisionRecall:
    """The PR curve of a ranking: outcomes int8 (n,), most confident first, and the number of positives.

    Source: VOC2012 development kit, VOCevaldet.m.

    >>> precision_recall(np.array([1, 0, 1], np.int8), 4).recall.tolist()
    [0.25, 0.25, 0.5]
    """
    true_positives = np.cumsum(outcomes == TRUE_POSITIVE, dtype=np.float64)
    false_positives = np.cumsum(outcomes == FALSE_POSITIVE, dtype=np.float64)
    # 0/0 is NaN, on purpose; a layout of a difficult person is a true positive in 2007, even without any positive
    with np.errstate(invalid="ignore", divide="ignore"):
        precision = true_positives / (false_positives + true_positives)
        return PrecisionRecall(true_positives / positives, precision)


def average_precision(outcomes: Labels, positives: int) -> float:
    """The area under the PR curve with precision made monotone, as in VOC2010 to VOC2012.

    outcomes: int8 (n,), most confident first. Returns a value in [0, 1]; without positives NaN, or 0 if there are no
    predictions either. Source: VOC2012 development kit, VOCap.m.

    >>> average_precision(np.array([1, 0, 1], np.int8), 2)
    0.8333333333333333
    """
    if positives == 0:
        return float("nan") if len(outcomes) else 0.0
    recall, precision = _steps(outcomes, positives)
    return _sum_in_order(np.diff(recall, prepend=0.0) * precision)


def average_precision_of_objects(outcomes: Labels, positives: int) -> float:
    """As `average_precision`, but NaN wherever there are no positives.

    Source: TensorFlow Object Detection API, metrics.py.

    >>> average_precision_of_objects(np.empty(0, np.int8), 0)
    nan
    """
    return average_precision(outcomes, positives) if positives else float("nan")


def average_precision_11_points(outcomes: Labels, positives: int) -> float:
    """The mean of the highest precision at or beyond each of eleven recalls, as in VOC2006 to VOC2009.

    outcomes: int8 (n,), most confident first. Returns a value in [0, 1]; NaN where every prediction is ignored, since then
    there is no precision. Source: VOC2007 development kit, VOCevaldet.m.

    >>> round(average_precision_11_points(np.array([1, 0, 1], np.int8), 2), 6)
    0.848485
    """
    if len(outcomes) and positives and bool(np.all(outcomes == IGNORED)):
        return float("nan")
    recall, precision = _steps(outcomes, positives)
    reached = np.searchsorted(recall, ELEVEN_RECALLS)
    return _sum_in_order(np.append(precision, 0.0)[reached] / len(ELEVEN_RECALLS))


def _steps(outcomes: Labels, positives: int) -> tuple[Floats, Floats]:
    """Recall at each true positive, and the highest precision from there on; recall does not rise elsewhere."""
    hits = np.flatnonzero(outcomes == TRUE_POSITIVE)
    counted = np.cumsum(outcomes != IGNORED)[hits]
    true_positives = np.arange(1.0, len(hits) + 1)
    precision = true_positives / counted
    with np.errstate(
        divide="ignore"
    ):  # a layout of 2007 may be a true positive without any positive, as above
        return true_positives / positives, np.maximum.accumulate(precision[::-1])[::-1]


def _sum_in_order(terms: Floats) -> float:
    # neither NumPy's pairwise sum nor the compensated one of Python 3.12: their last bits differ from the kit's, in whose
    # order eleven elevenths come to 1.0000000000000002
    return min(float(np.cumsum(terms)[-1]), 1.0) if len(terms) else 0.0
