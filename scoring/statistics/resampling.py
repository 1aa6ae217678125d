"""The paired bootstrap over images.

A replicate draws as many images as there are, with replacement; matches stay as they are, only the number of times that
each image counts changes. Replicate k depends on the seed, the number of images and k alone, so the replicates of several
methods and classes are paired. Source: Efron and Tibshirani, "An Introduction to the Bootstrap", 1993.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from scoring.data.arrays import Floats, Integers
from scoring.data.matches import ImageCounts, RankedPredictions
from scoring.metrics.averaging import Average, Pool
from scoring.metrics.confusion import PixelMeasure
from scoring.metrics.weighting import WeightedMetric, Weights, as_weights
from scoring.parallel import thread_count

REPLICATES: Final = 1000
SEED: Final = 2012

_TOGETHER: Final = 128
"""Replicates computed at once: their weights for 11,000 images fit into a core's cache."""


@dataclass(frozen=True, slots=True)
class Draws:
    """The images that each replicate draws: the same on every machine and with every version of NumPy.

    Random numbers are the raw output of PCG64, mapped to images here: the distributions of NumPy's `Generator` may
    change between versions, the output of a bit generator may not (NumPy enhancement proposal 19).
    """

    images: int
    replicates: int = REPLICATES
    seed: int = SEED

    def weights(self, first: int, end: int) -> Weights:
        """The number of times that each image is drawn in replicates `first` to `end` - 1: (images, end - first).

        >>> Draws(5).weights(0, 2).T.tolist()
        [[2, 1, 1, 0, 1], [0, 1, 2, 1, 1]]
        """
        numbers = -(-self.images // 2)  # the two halves of each number draw an image each
        generator = np.random.PCG64(self.seed).advance(first * numbers)
        counts = np.empty((end - first, self.images), np.int64 if self.images > 2**16 else np.uint16)
        for row in counts:
            raw = np.asarray(generator.random_raw(numbers), "<u8").view("<u4")[: self.images]
            # the high half of a product: relative errors of the probabilities are below images / 2**32
            drawn = (raw * np.uint64(self.images)) >> np.uint64(32)
            row[:] = np.bincount(drawn.view(np.int64), minlength=self.images)
        return as_weights(counts.T)


@dataclass(frozen=True, slots=True)
class Setup:
    """What scores must have in common to be compared; truth: the ground truth's fingerprint."""

    task: str
    protocol: str
    truth: str


@dataclass(frozen=True, slots=True, eq=False)
class Replicates:
    """The scores of a run, and the scores in each bootstrap replicate, all in [0, 1].

    scores: of each class of `names` and, last, the headline; None for one that has none. values: float64 (classes + 1,
    replicates), rows as `scores`; NaN in a replicate that drew no object of the class.
    """

    setup: Setup
    draws: Draws
    names: tuple[str, ...]
    scores: tuple[float | None, ...]
    values: Floats


def headline_by_replicate(values: Floats, average: Average) -> Floats:
    """The average in each replicate of the classes that it drew: float64 (classes, replicates) to (replicates,).

    A class with few objects is missing from some replicates, with 2 objects from one in seven. The average is
    conditional on the classes present, as evaluators average over the classes that have objects; leaving out every
    replicate that lacks some class would keep 5 % of the replicates of 20 classes of 2 objects. A class without a
    value in any replicate stays in the average, as NaN.

    >>> from scoring.metrics.averaging import mean_of_classes
    >>> headline_by_replicate(np.array([[0.5, 0.7, np.nan], [1.0, 0.3, 0.2]]), mean_of_classes).tolist()
    [0.75, 0.5, 0.2]
    """
    counted = ~np.isnan(values)
    counted |= ~counted.any(axis=1, keepdims=True)
    columns = zip(values.T, counted.T, strict=True)
    return np.array([average(column[present].tolist()) for column, present in columns], np.float64)


def resample_rankings(
    rankings: Sequence[RankedPredictions],
    positives: Integers | Sequence[Integers],
    weighted_metric: WeightedMetric,
    draws: Draws,
) -> Floats:
    """The value of each class in each replicate: float64 (classes, replicates).

    rankings: one for each class; positives: int32 (classes, images). A value is that of scoring the images drawn, each
    as many times as it was drawn.

    >>> ranking = RankedPredictions("cat", 1, np.array([0, 1], np.int32), np.array([0.9, 0.5]),
    ...     np.array([0, 1], np.int8))
    >>> from scoring.metrics.measures import AP_AREA
    >>> resample_rankings([ranking], np.array([[0, 1]], np.int32), AP_AREA.weighted, Draws(2, 6)).tolist()
    [[0.5, nan, nan, nan, 0.5, 1.0]]
    """
    classes = list(map(weighted_metric, rankings, positives))

    def block(weights: Weights) -> Floats:
        return np.array([each(weights) for each in classes]).reshape(len(classes), weights.shape[1])

    return _in_threads(block, draws)


def resample_pool(
    rankings: Sequence[RankedPredictions],
    positives: Integers,
    pool: Pool,
    weighted_metric: WeightedMetric,
    draws: Draws,
) -> Floats:
    """The value of all classes in one ranking, in each replicate: float64 (1, replicates).

    positives: int32 (classes, images). A class of which a replicate drew no object has no positives there, so that a pool that
    leaves such classes out leaves their predictions out.

    >>> from scoring.metrics.averaging import pool_classes_with_positives
    >>> from scoring.metrics.measures import AP_AREA
    >>> cat = RankedPredictions("cat", 1, np.array([0, 1], np.int32), np.array([0.9, 0.5]), np.array([0, 1], np.int8))
    >>> dog = RankedPredictions("dog", 1, np.array([1], np.int32), np.array([0.7]), np.array([0], np.int8))
    >>> counts = np.array([[0, 1], [1, 0]], np.int32)
    >>> resample_pool([cat, dog], counts, pool_classes_with_positives, AP_AREA.weighted, Draws(2, 6)).round(3).tolist()
    [[0.167, 0.0, 0.0, 0.0, 0.167, 1.0]]
    """
    together = positives.sum(axis=0, dtype=np.int32)

    def block(weights: Weights) -> Floats:
        drawn = (positives.astype(np.float64) @ weights > 0).T
        patterns, pattern = np.unique(drawn, axis=0, return_inverse=True)
        values = np.empty(weights.shape[1])
        for number, there in enumerate(patterns):
            classes = [
                each if present else replace(each, positives=0)
                for each, present in zip(rankings, there.tolist(), strict=True)
            ]
            columns = np.flatnonzero(pattern.ravel() == number)
            value = weighted_metric(pool(classes), together)
            values[columns] = value(as_weights(weights[:, columns]))
        return values[None]

    return _in_threads(block, draws)


def resample_confusions(counts: ImageCounts, measure: PixelMeasure, draws: Draws) -> Floats:
    """The scores of a segmentation in each replicate: float64 (labels, replicates).

    measure: from a confusion matrix, int64 (labels, labels), to a score for each label, which may be NaN. Only the
    pairs of labels that occur in an image are held in memory, and one confusion matrix at a time in each thread.

    >>> from scoring.metrics.confusion import class_accuracy
    >>> counts = ImageCounts.of(["background", "cat"], [np.array([[2, 2], [0, 4]]), np.array([[4, 0], [2, 2]])])
    >>> resample_confusions(counts, class_accuracy, Draws(2, 3)).tolist()
    [[0.75, 0.5, 0.5], [0.75, 1.0, 1.0]]
    """
    labels = len(counts.labels)
    image = np.repeat(np.arange(len(counts)), np.diff(counts.first))
    cell = counts.true.astype(np.intp) * labels + counts.prediction
    pixels = counts.pixels.astype(np.float64)  # whole numbers below 2**53 are exact

    def scores(times: NDArray[Any]) -> Floats:
        sums = np.bincount(cell, times[image] * pixels, labels * labels)
        return measure(sums.astype(np.int64).reshape(labels, labels))

    def block(weights: Weights) -> Floats:
        return np.array([scores(times) for times in np.ascontiguousarray(weights.T)]).T

    return _in_threads(block, draws)


def _in_threads(block: Callable[[Weights], Floats], draws: Draws) -> Floats:
    """The values of all replicates, computed in blocks by several threads: float64 (rows, replicates)."""

    def of(first: int) -> Floats:
        return block(draws.weights(first, min(first + _TOGETHER, draws.replicates)))

    with ThreadPoolExecutor(max(1, thread_count() - 1)) as pool:  # here the caller only waits
        return np.concatenate(list(pool.map(of, range(0, draws.replicates, _TOGETHER))), axis=1)
