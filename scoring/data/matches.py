"""Predictions after they have been compared with the ground truth: all that further questions need."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from scoring.data.arrays import Bytes, Floats, Integers, Labels

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class RankedPredictions:
    """The predictions of one class, the most confident first.

    positives: the number of objects (images, persons) that count; image: int32 (n,), into `Lists.images`, which begins with the
    Main set's; confidence: float64 (n,), -inf where a labelled image or person has no prediction; outcomes: int8 (n,), 1 for
    a true positive, 0 for a false positive, -1 for one that is ignored; further: int8 (n, thresholds - 1), the outcomes at higher
    IoU thresholds, where a measure asks for several.
    """

    class_name: str
    positives: int
    image: Integers
    confidence: Floats
    outcomes: Labels
    further: Labels | None = None


@dataclass(frozen=True, slots=True, eq=False)
class LabelPairs:
    """The pairs of labels that occur in one image: true, prediction: uint8 (pairs,); pixels: int32 (pairs,) of each pair."""

    true: Bytes
    prediction: Bytes
    pixels: Integers

    @classmethod
    def of(cls, counts: Counts) -> Self:
        """The pairs of a confusion matrix, int64 (labels, labels).

        >>> LabelPairs.of(np.array([[5, 0], [1, 2]])).pixels.tolist()
        [5, 1, 2]
        """
        true, prediction = np.nonzero(counts)
        pixels = counts[true, prediction].astype(np.int32)
        return cls(true.astype(np.uint8), prediction.astype(np.uint8), pixels)


NO_PAIRS: Final = LabelPairs.of(np.zeros((0, 0), np.int64))
"""Those of an image without a prediction."""


@dataclass(frozen=True, slots=True, eq=False)
class ImageCounts:
    """The confusion matrix of each image, as the pairs of labels that occur in it.

    labels: their names from 0 on, the background first; first: int64 (images + 1,), where in the following an image's pairs
    begin, images in the order of the Segmentation set; true, prediction: uint8 (pairs,), into labels; pixels: int32 (pairs,).
    Void is left out.
    """

    labels: tuple[str, ...]
    first: Counts
    true: Bytes
    prediction: Bytes
    pixels: Integers

    @classmethod
    def of(cls, labels: Sequence[str], images: Sequence[Counts]) -> Self:
        """The counts of each image, int64 (labels, labels), the images in order.

        >>> ImageCounts.of(["background", "car"], [np.array([[5, 0], [1, 2]])]).pixels.tolist()
        [5, 1, 2]
        """
        return cls.of_pairs(labels, [LabelPairs.of(counts) for counts in images])

    @classmethod
    def of_pairs(cls, labels: Sequence[str], images: Sequence[LabelPairs]) -> Self:
        """The pairs of each image, the images in order.

        >>> ImageCounts.of_pairs(["background", "car"], [LabelPairs.of(np.array([[5, 0], [1, 2]]))]).first.tolist()
        [0, 3]
        """
        joined = [*images, NO_PAIRS]
        return cls(
            labels=tuple(labels),
            first=np.cumsum([0, *(len(each.pixels) for each in images)], dtype=np.int64),
            true=np.concatenate([each.true for each in joined]),
            prediction=np.concatenate([each.prediction for each in joined]),
            pixels=np.concatenate([each.pixels for each in joined]),
        )

    def __len__(self) -> int:
        """The number of images."""
        return len(self.first) - 1

    def by_image(self) -> Counts:
        """The confusion matrix of each image, int64 (images, labels, labels), by true and predicted label.

        >>> ImageCounts.of(["background", "car"], [np.array([[5, 0], [1, 2]])]).by_image().tolist()
        [[[5, 0], [1, 2]]]
        """
        counts = np.zeros((len(self), len(self.labels), len(self.labels)), np.int64)
        image = np.repeat(np.arange(len(self)), np.diff(self.first))
        counts[image, self.true, self.prediction] = self.pixels
        return counts

    def total(self) -> Counts:
        """The confusion matrix of all images together."""
        counts = np.zeros((len(self.labels), len(self.labels)), np.int64)
        np.add.at(counts, (self.true, self.prediction), self.pixels)
        return counts


AllMatches = tuple[RankedPredictions, ...] | ImageCounts
"""The ranked predictions of each class; of segmentation the pixel counts of each image."""
