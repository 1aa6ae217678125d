"""The easiest, hardest and most confusing images of a class, over several methods."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scoring.data.arrays import Flags, Floats, Labels
from scoring.data.matches import RankedPredictions


@dataclass(frozen=True, slots=True)
class RankedImage:
    """An image, from 0 in the order of the Main set, and its median rank over methods, 1 the most confident."""

    image: int
    rank: float


@dataclass(frozen=True, slots=True)
class HardImages:
    """Positives that are ranked first, positives that are ranked last, and negatives that are ranked first."""

    class_name: str
    easiest: tuple[RankedImage, ...]
    hardest: tuple[RankedImage, ...]
    confusing: tuple[RankedImage, ...]


def find_hard_images(rankings: Sequence[RankedPredictions], labels: Labels, *, count: int = 5) -> HardImages:
    """The `count` easiest, hardest and most confusing images of a class.

    rankings: of at least one method; labels: int8 (images,), 1 positive, -1 negative, 0 ignored. Equal median ranks
    keep the order of the set. Source: Everingham et al., "The PASCAL Visual Object Classes (VOC)
    Challenge", 2010, section 6.1.4 and Figures 10 to 14.

    >>> ranking = RankedPredictions("cat", 1, np.array([1, 0], np.int32), np.array([0.9, 0.5]),
    ...     np.array([0, 1], np.int8))
    >>> find_hard_images([ranking], np.array([1, -1])).confusing
    (RankedImage(image=1, rank=1.0),)
    """
    ranks = median_ranks(rankings, len(labels))
    return HardImages(
        rankings[0].class_name,
        easiest=_first(ranks, labels == 1, count),
        hardest=_first(-ranks, labels == 1, count),
        confusing=_first(ranks, labels == -1, count),
    )


def median_ranks(rankings: Sequence[RankedPredictions], images: int) -> Floats:
    """The median over methods of each image's rank, float64 (images,).

    Images are ranked by their most confident prediction; those without one share the mean of the remaining ranks.

    >>> one = RankedPredictions("cat", 1, np.array([2, 0, 2], np.int32), np.array([0.9, 0.5, 0.1]),
    ...     np.array([1, 0, 0], np.int8))
    >>> median_ranks([one], 4).tolist()
    [2.0, 3.5, 1.0, 3.5]
    """
    return np.median([_ranks(each, images) for each in rankings], axis=0)


def _ranks(ranking: RankedPredictions, images: int) -> Floats:
    predicted, first = np.unique(ranking.image, return_index=True)
    ranks = np.full(images, (len(predicted) + 1 + images) / 2)
    ranks[predicted[np.argsort(first)]] = np.arange(1, len(predicted) + 1)
    return ranks


def _first(ranks: Floats, chosen: Flags, count: int) -> tuple[RankedImage, ...]:
    places = np.flatnonzero(chosen)
    first = places[np.argsort(ranks[places], kind="stable")[:count]]
    return tuple(map(RankedImage, first.tolist(), np.abs(ranks[first]).tolist()))
