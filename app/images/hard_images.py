"""The easiest, hardest and most confusing images of a class, over several methods."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heldout_scoring import FALSE_POSITIVE, TRUE_POSITIVE, ImageCounts, RankedPredictions
from heldout_scoring.analysis import image_shares

Floats = NDArray[np.float64]
Labels = NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class HardImage:
    """An image, with the median over methods of the value that it is chosen by.

    image: from 0 in the order of the Main set, or of the Segmentation set; value: its rank, 1 the most confident, or for
    segmentation the IoU of the class or the share of pixels that were given it, in [0, 1].
    """

    image: int
    value: float


@dataclass(frozen=True, slots=True)
class HardImages:
    """Of a class: images with it that methods rank first, those that they rank last, and images without it that they rank first.

    In segmentation: images in which its IoU is largest, those in which it is smallest, and those in which most pixels are
    wrongly given it.
    """

    class_name: str
    easiest: tuple[HardImage, ...]
    hardest: tuple[HardImage, ...]
    confusing: tuple[HardImage, ...]


def find_hard_images(rankings: Sequence[RankedPredictions], labels: Labels, *, count: int = 5) -> HardImages:
    """The `count` easiest, hardest and most confusing images of a class.

    rankings: of at least one method; labels: int8 (images,), 1 positive, -1 negative, 0 ignored. Equal median ranks
    keep the order of the set. Source: Everingham et al., "The PASCAL Visual Object Classes (VOC)
    Challenge", 2010, section 6.1.4 and Figures 10 to 14.

    >>> ranking = RankedPredictions("cat", 1, np.array([1, 0], np.int32), np.array([0.9, 0.5]),
    ...     np.array([0, 1], np.int8))
    >>> find_hard_images([ranking], np.array([1, -1])).confusing
    (HardImage(image=1, value=1.0),)
    """
    ranks = median_ranks(rankings, len(labels))
    return HardImages(
        rankings[0].class_name,
        easiest=_first(ranks, labels == 1, count),
        hardest=_first(-ranks, labels == 1, count),
        confusing=_first(ranks, labels == -1, count),
    )


def find_hard_images_of_segmentation(
    counts: Sequence[ImageCounts], *, count: int = 5
) -> tuple[HardImages, ...]:
    """The `count` easiest, hardest and most confusing images of each label, over the same images of at least one method.

    >>> one = ImageCounts.of(["background", "cat"], [np.array([[4, 1], [1, 2]]), np.array([[6, 2], [0, 0]])])
    >>> cat = find_hard_images_of_segmentation([one])[1]
    >>> cat.easiest, cat.confusing
    ((HardImage(image=0, value=0.5),), (HardImage(image=1, value=0.25),))
    """
    shares = [image_shares(each) for each in counts]
    present = shares[0].present
    iou = np.median([each.iou for each in shares], axis=0)
    share = np.median([each.predicted for each in shares], axis=0)
    return tuple(
        HardImages(
            name,
            easiest=_first(-iou[:, place], present[:, place], count),
            hardest=_first(iou[:, place], present[:, place], count),
            confusing=_first(-share[:, place], ~present[:, place] & (share[:, place] > 0), count),
        )
        for place, name in enumerate(counts[0].labels)
    )


def labels_of_persons(ranking: RankedPredictions, images: int) -> Labels:
    """Whether an image has a person of the class, int8 (images,): 1 yes, -1 only persons without it, 0 only ignored ones; images: how many there are.

    >>> persons = RankedPredictions("running", 1, np.array([0, 0, 2], np.int32), np.array([0.9, 0.5, 0.1]),
    ...     np.array([0, 1, 0], np.int8))
    >>> labels_of_persons(persons, 3).tolist()
    [1, 0, -1]
    """
    labels = np.zeros(images, np.int8)
    labels[ranking.image[ranking.outcomes == FALSE_POSITIVE]] = -1
    labels[ranking.image[ranking.outcomes == TRUE_POSITIVE]] = 1
    return labels


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
    predicted, first = np.unique(ranking.image[np.isfinite(ranking.confidence)], return_index=True)
    ranks = np.full(images, (len(predicted) + 1 + images) / 2)
    ranks[predicted[np.argsort(first)]] = np.arange(1, len(predicted) + 1)
    return ranks


def _first(ranks: Floats, chosen: NDArray[np.bool_], count: int) -> tuple[HardImage, ...]:
    places = np.flatnonzero(chosen)
    first = places[np.argsort(ranks[places], kind="stable")[:count]]
    return tuple(map(HardImage, first.tolist(), np.abs(ranks[first]).tolist()))
