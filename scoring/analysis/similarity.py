"""How much alike two results are: near 1 where one was made from the other."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from scoring.analysis.placed_detections import PlacedDetections
from scoring.data.arrays import Bytes, Floats
from scoring.data.matches import RankedPredictions

VOID: Final = 255


@dataclass(frozen=True, slots=True)
class Similarity:
    """Two results of a class: rank correlation of confidences, in [-1, 1], and the share of common boxes, in [0, 1].

    None where it cannot be said: for a constant confidence, or for no boxes.
    """

    class_name: str
    confidences: float | None
    boxes: float | None


def compare_classifications(one: RankedPredictions, other: RankedPredictions, images: int) -> Similarity:
    """The likeness of two rankings of images.

    >>> one = RankedPredictions("cat", 1, np.array([1, 0], np.int32), np.array([0.9, 0.5]), np.array([1, 0], np.int8))
    >>> other = RankedPredictions("cat", 1, np.array([0, 1], np.int32), np.array([0.7, 0.2]), np.array([0, 1], np.int8))
    >>> compare_classifications(one, other, 2)
    Similarity(class_name='cat', confidences=-1.0, boxes=None)
    """
    return Similarity(one.class_name, correlation_of_confidences(one, other, images), None)


def compare_detections(one: PlacedDetections, other: PlacedDetections, images: int) -> Similarity:
    """The likeness of two results of boxes; an image is as sure as its surest box.

    >>> ranking = RankedPredictions("cat", 1, np.array([1, 0], np.int32), np.array([0.9, 0.5]), np.array([1, 0], np.int8))
    >>> one = PlacedDetections(ranking, np.array([[1.0, 1, 10, 10], [5, 5, 9, 9]]))
    >>> compare_detections(one, one, 2)
    Similarity(class_name='cat', confidences=1.0, boxes=1.0)
    """
    correlation = correlation_of_confidences(one.ranked, other.ranked, images)
    return Similarity(one.ranked.class_name, correlation, share_of_boxes_in_common(one, other))


def correlation_of_confidences(one: RankedPredictions, other: RankedPredictions, images: int) -> float | None:
    """Spearman's correlation of the images' confidences; an image without an answer has the least.

    None where all images are equally sure. Equal confidences share the mean of their ranks.

    >>> ranking = RankedPredictions("cat", 1, np.array([1, 0], np.int32), np.array([0.9, 0.5]),
    ...     np.array([1, 0], np.int8))
    >>> correlation_of_confidences(ranking, ranking, 2)
    1.0
    """
    mine, its = (_centred_ranks(each, images) for each in (one, other))
    spread = _product(mine, mine), _product(its, its)
    return None if 0.0 in spread else _product(mine, its) / (spread[0] * spread[1]) ** 0.5


def share_of_boxes_in_common(one: PlacedDetections, other: PlacedDetections) -> float | None:
    """How many boxes of the smaller result are also in the other, in the same image, to the nearest pixel: in [0, 1].

    A box that is there several times counts as often as it is in both. None where one of the results is empty.

    >>> ranking = RankedPredictions("cat", 1, np.zeros(2, np.int32), np.array([0.9, 0.5]),
    ...     np.array([1, 0], np.int8))
    >>> one = PlacedDetections(ranking, np.array([[1.0, 1, 10, 10], [5, 5, 9, 9]]))
    >>> share_of_boxes_in_common(one, PlacedDetections(ranking, one.boxes + [[0, 0, 0.2, 0], [0, 0, 0, 3]]))
    0.5
    """
    fewer = min(len(one.boxes), len(other.boxes))
    if fewer == 0:
        return None
    rows = np.concatenate([_rows(one), _rows(other)])
    _, number = np.unique(rows, axis=0, return_inverse=True)
    number = number.reshape(-1)
    mine, its = np.split(number, [len(one.boxes)])
    counts = (np.bincount(each, minlength=int(number.max()) + 1) for each in (mine, its))
    return int(np.minimum(*counts).sum()) / fewer


def agreement_of_masks(masks: Iterable[tuple[Bytes, Bytes, Bytes]]) -> float | None:
    """The share of pixels that two segmentations give the same label, in [0, 1].

    masks: for each image one result's labels, the other's, and the true ones, uint8 (height, width) each;
    what is void there is left out, for nobody is asked about it. None where nothing is left.

    >>> one, other, truth = np.array([[1, 1, 2]]), np.array([[1, 2, 0]]), np.array([[1, 1, 255]])
    >>> agreement_of_masks([(one, other, truth)])
    0.5
    """
    same = counted = 0
    for one, other, truth in masks:
        asked = truth != VOID
        counted += int(np.count_nonzero(asked))
        same += int(np.count_nonzero(asked & (one == other)))
    return same / counted if counted else None


def _centred_ranks(ranking: RankedPredictions, images: int) -> Floats:
    """Ranks of the images by their surest answer, the mean taken off; doubled, so that they are whole numbers."""
    confidence = np.full(images, -np.inf)
    np.maximum.at(confidence, ranking.image, ranking.confidence)
    _, value, count = np.unique(confidence, return_inverse=True, return_counts=True)
    ends = np.cumsum(count)
    ranks: Floats = (2 * ends - count - images).astype(np.float64)[value]
    return ranks


def _product(one: Floats, other: Floats) -> float:
    return float(np.cumsum(one * other)[-1]) if len(one) else 0.0  # added up in order, on every machine alike


def _rows(placed: PlacedDetections) -> NDArray[np.int32]:
    return np.column_stack([placed.ranked.image, np.rint(placed.boxes)]).astype(np.int32)
