"""The similarity of two methods' predictions of a class."""

from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from scoring.analysis.ranked_detections import RankedDetections
from scoring.data.arrays import Bytes, Floats
from scoring.data.matches import RankedPredictions

VOID: Final = 255


def rank_correlation(one: RankedPredictions, other: RankedPredictions, images: int) -> float | None:
    """Spearman's rank correlation of the images' confidences, in [-1, 1]; None if one of them is constant.

    images: how many there are; an image has the confidence of its most confident prediction, or the lowest without any.

    >>> ranking = RankedPredictions("cat", 1, np.array([1, 0], np.int32), np.array([0.9, 0.5]),
    ...     np.array([1, 0], np.int8))
    >>> rank_correlation(ranking, ranking, 2)
    1.0
    """
    first, second = (centred_ranks(each, images) for each in (one, other))
    variances = _product(first, first), _product(second, second)
    return None if 0.0 in variances else _product(first, second) / (variances[0] * variances[1]) ** 0.5


def common_boxes(one: RankedDetections, other: RankedDetections) -> float | None:
    """The fraction of the smaller set of boxes that is also in the other, in the same image: in [0, 1].

    Boxes are rounded to whole pixels; repeated boxes count as often as they are in both. None if a set is empty.

    >>> ranking = RankedPredictions("cat", 1, np.zeros(2, np.int32), np.array([0.9, 0.5]),
    ...     np.array([1, 0], np.int8))
    >>> one = RankedDetections(ranking, np.array([[1.0, 1, 10, 10], [5, 5, 9, 9]]))
    >>> common_boxes(one, RankedDetections(ranking, one.boxes + [[0, 0, 0.2, 0], [0, 0, 0, 3]]))
    0.5
    """
    fewer = min(len(one.boxes), len(other.boxes))
    if fewer == 0:
        return None
    rows = np.concatenate([_rows(one), _rows(other)])
    _, number = np.unique(rows, axis=0, return_inverse=True)
    number = number.reshape(-1)
    first, second = np.split(number, [len(one.boxes)])
    counts = (np.bincount(each, minlength=int(number.max()) + 1) for each in (first, second))
    return int(np.minimum(*counts).sum()) / fewer


def pixel_agreement(masks: Iterable[tuple[Bytes, Bytes, Bytes]]) -> float | None:
    """The fraction of pixels with the same label in two segmentations, in [0, 1]; None without pixels.

    masks: for each image the labels of both methods and of the ground truth, uint8 (height, width); void is left out.

    >>> one, other, truth = np.array([[1, 1, 2]]), np.array([[1, 2, 0]]), np.array([[1, 1, 255]])
    >>> pixel_agreement([(one, other, truth)])
    0.5
    """
    equal = counted = 0
    for one, other, truth in masks:
        is_labelled = truth != VOID
        counted += int(np.count_nonzero(is_labelled))
        equal += int(np.count_nonzero(is_labelled & (one == other)))
    return equal / counted if counted else None


def centred_ranks(ranking: RankedPredictions, images: int) -> Floats:
    """Twice the centred ranks of the images by confidence, whole numbers within ±images: float64 (images,).

    >>> ranking = RankedPredictions("cat", 1, np.array([1, 0], np.int32), np.array([0.9, 0.5]),
    ...     np.array([1, 0], np.int8))
    >>> centred_ranks(ranking, 2).tolist()
    [-1.0, 1.0]
    """
    confidence = np.full(images, -np.inf)
    np.maximum.at(confidence, ranking.image, ranking.confidence)
    _, value, count = np.unique(confidence, return_inverse=True, return_counts=True)
    ends = np.cumsum(count)
    ranks: Floats = (2 * ends - count - images).astype(np.float64)[value]
    return ranks


def _product(one: Floats, other: Floats) -> float:
    return float(np.cumsum(one * other)[-1]) if len(one) else 0.0  # added up in order, on every machine alike


def _rows(detections: RankedDetections) -> NDArray[np.int32]:
    return np.column_stack([detections.ranked.image, np.rint(detections.boxes)]).astype(np.int32)
