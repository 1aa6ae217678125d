"""Which images are easy and which are hard, for several methods together."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scoring.data.arrays import Flags, Floats, Labels
from scoring.data.matches import RankedPredictions


@dataclass(frozen=True, slots=True)
class RankedImage:
    """An image, from 0 in the Main set's order, and its median rank over methods, 1 the surest to show the class."""

    image: int
    rank: float


@dataclass(frozen=True, slots=True)
class Hardness:
    """Images that show a class and are ranked first, or last; and the first ones of those that do not show it."""

    class_name: str
    easiest: tuple[RankedImage, ...]
    hardest: tuple[RankedImage, ...]
    confusing: tuple[RankedImage, ...]


def find_hardest(rankings: Sequence[RankedPredictions], labels: Labels, *, count: int = 5) -> Hardness:
    """The easiest, hardest and most confusing images of a class, so many each.

    rankings: the answers of each method for the class, at least one method; labels: int8 (images,), 1 for an
    image that shows the class, -1 for one that does not, 0 for hard to tell, which is in no list. Equal
    median ranks keep the order of the set. Source: Everingham et al., "The PASCAL Visual Object Classes (VOC)
    Challenge", 2010, section 6.1.4 and Figures 10 to 14.

    >>> ranking = RankedPredictions("cat", 1, np.array([1, 0], np.int32), np.array([0.9, 0.5]),
    ...     np.array([0, 1], np.int8))
    >>> find_hardest([ranking], np.array([1, -1])).confusing
    (RankedImage(image=1, rank=1.0),)
    """
    ranks = median_ranks(rankings, len(labels))
    return Hardness(
        rankings[0].class_name,
        easiest=_listed(ranks, labels == 1, count),
        hardest=_listed(-ranks, labels == 1, count),
        confusing=_listed(ranks, labels == -1, count),
    )


def median_ranks(rankings: Sequence[RankedPredictions], images: int) -> Floats:
    """The median over methods of each image's rank, float64 (images,).

    An image has the rank of its surest answer, counting images and not answers; all images without an answer
    share the mean of the ranks that are left.

    >>> one = RankedPredictions("cat", 1, np.array([2, 0, 2], np.int32), np.array([0.9, 0.5, 0.1]),
    ...     np.array([1, 0, 0], np.int8))
    >>> median_ranks([one], 4).tolist()
    [2.0, 3.5, 1.0, 3.5]
    """
    return np.median([_ranks(each, images) for each in rankings], axis=0)


def _ranks(ranking: RankedPredictions, images: int) -> Floats:
    answered, first = np.unique(ranking.image, return_index=True)
    ranks = np.full(images, (len(answered) + 1 + images) / 2)
    ranks[answered[np.argsort(first)]] = np.arange(1, len(answered) + 1)
    return ranks


def _listed(ranks: Floats, chosen: Flags, count: int) -> tuple[RankedImage, ...]:
    places = np.flatnonzero(chosen)
    first = places[np.argsort(ranks[places], kind="stable")[:count]]
    return tuple(map(RankedImage, first.tolist(), np.abs(ranks[first]).tolist()))
