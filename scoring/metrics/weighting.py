"""Average precision with integer weights of the images, for many weightings at once: the inner loop of the bootstrap.

An image of weight m stands for m copies of it, each with its objects and its detections, whose matches do not change. The
copies of a detection follow each other in the ranking. Along consecutive true positives precision rises, so each run of
them, copies included, is one step of the precision envelope, as high as the precision at the end of the run. All that is
needed are the cumulative weights of true and false positives at the ends of the runs.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from scoring.data.arrays import Floats, Integers, Labels, Places
from scoring.data.matches import RankedPredictions
from scoring.metrics.ranking import (
    ELEVEN_RECALLS,
    FALSE_POSITIVE,
    TRUE_POSITIVE,
    Measure,
)

Weights = NDArray[np.uint8] | NDArray[np.uint16]
"""The number of times that each image counts: (images, replicates)."""

_TOGETHER: Final = 16
"""Rows added before a sum is widened: fits uint8 for weights up to 15, uint16 for any weight that can be drawn."""


def as_weights(counts: NDArray[Any]) -> Weights:
    """Counts, (images, replicates), in the narrowest type that holds the sum of `_TOGETHER` of them.

    >>> as_weights(np.array([[2, 0], [0, 2]])).dtype, as_weights(np.array([[300]])).dtype
    (dtype('uint8'), dtype('uint16'))
    """
    heaviest = int(counts.max(initial=0))
    fits = heaviest * _TOGETHER <= np.iinfo(np.uint8).max
    return np.ascontiguousarray(counts, np.uint8) if fits else np.ascontiguousarray(counts, np.uint16)


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """Cumulative weights of the true and false positives at the end of each run of true positives, by replicate.

    true_positives, false_positives: int32 (replicates, runs); positives: int32 (replicates,).
    """

    true_positives: Integers
    false_positives: Integers
    positives: Integers

    def envelope(self) -> Floats:
        """The highest precision at the end of each run or later, float64 (replicates, runs); 0 without true positives."""
        counted = np.maximum(self.true_positives + self.false_positives, 1)
        precision: Floats = self.true_positives / counted
        # bits of non-negative floats compare like the floats, in a third of the time
        bits = precision[:, ::-1].view(np.int64)
        np.maximum.accumulate(bits, axis=1, out=bits)
        return precision


def weighted_average_precision(steps: Steps) -> Floats:
    """`average_precision` of each replicate, to within rounding: float64 (replicates,) in [0, 1].

    >>> steps = Steps(np.array([[1, 2]]), np.array([[0, 1]]), np.array([2]))
    >>> weighted_average_precision(steps).round(6).tolist()
    [0.833333]
    """
    in_each_run = np.diff(steps.true_positives, axis=1, prepend=0)
    return _divided(_sums_in_order(in_each_run * steps.envelope()), steps.positives)


def weighted_average_precision_11_points(steps: Steps) -> Floats:
    """`average_precision_11_points` of each replicate; recall is compared with the levels after the same division.

    Returns float64 (replicates,) in [0, 1].

    >>> steps = Steps(np.array([[1, 2]]), np.array([[0, 1]]), np.array([2]))
    >>> weighted_average_precision_11_points(steps).round(6).tolist()
    [0.848485]
    """
    return weighted_average_precision_at(steps, np.array(ELEVEN_RECALLS))


def weighted_average_precision_at(steps: Steps, levels: Floats) -> Floats:
    """The mean of the envelope at recalls, float64 (levels,), in each replicate: float64 (replicates,) in [0, 1].

    >>> steps = Steps(np.array([[1, 2]]), np.array([[0, 1]]), np.array([2]))
    >>> weighted_average_precision_at(steps, np.array([0.5, 1.0])).round(6).tolist()
    [0.833333]
    """
    replicates, runs = steps.true_positives.shape
    positives = np.maximum(steps.positives, 1).astype(np.int64)[:, None]
    needed = np.ceil(levels * positives).astype(np.int64)
    needed -= (needed - 1) / positives >= levels
    needed += needed / positives < levels
    # one search for all replicates, the counts of each offset beyond those of the one before; VOC2007 layouts can have more
    # true positives than positives, because those of difficult persons count, too
    largest = max(int(steps.true_positives.max(initial=0)), int(positives.max(initial=1))) + 2
    offset = (np.arange(replicates) * largest)[:, None]
    index = np.searchsorted((steps.true_positives + offset).ravel(), (needed + offset).ravel())
    index = index.reshape(needed.shape) - (np.arange(replicates) * runs)[:, None]
    heights = np.concatenate([steps.envelope(), np.zeros((replicates, 1))], axis=1)
    best = np.take_along_axis(heights, np.minimum(index, runs), axis=1)
    values = np.minimum(_sums_in_order(best / len(levels)), 1.0)  # as in `ranking`
    return np.where(steps.positives > 0, values, np.nan)


WeightedMetric = Callable[[RankedPredictions, Integers], Callable[[Weights], Floats]]
"""Prepares a class, given its ranking and its positives by image, int32 (images,); the result computes the value for each
weighting, float64 (replicates,): NaN without positives.
"""


@dataclass(frozen=True, slots=True)
class WeightedMeasure:
    """A measure of rankings for many weightings of the images at once, as a `WeightedMetric`.

    measure: gives the value of a class without positives; weighted: computes the same measure from `Steps`,
    float64 (replicates,).

    >>> from scoring.metrics.ranking import average_precision
    >>> ranking = RankedPredictions("car", 1, np.array([1, 0], np.int32), np.array([0.9, 0.5]),
    ...     np.array([0, 1], np.int8))
    >>> weighted_metric = WeightedMeasure(average_precision, weighted_average_precision)(
    ...     ranking, np.array([1, 0], np.int32))
    >>> weighted_metric(np.array([[1, 1, 2], [1, 0, 0]], np.uint8)).tolist()
    [0.5, 1.0, 1.0]
    """

    measure: Measure
    weighted: Callable[[Steps], Floats]

    def __call__(self, ranking: RankedPredictions, positives: Integers) -> Callable[[Weights], Floats]:
        """Prepare a class."""
        if not positives.any():
            constant = self.measure(ranking.outcomes, 0)
            return lambda weights: np.full(weights.shape[1], constant)
        runs = Runs.of(ranking.image, ranking.outcomes, positives)
        return lambda weights: self.weighted(runs.steps(weights))


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """The images of a class's positives, and of its true and false positives by runs of true positives."""

    positives: "CumulativeWeights"
    true_positives: "CumulativeWeights"
    false_positives: "CumulativeWeights"

    @classmethod
    def of(cls, image: Integers, outcomes: Labels, positives: Integers) -> Self:
        """From a ranking, best first, image int32 (n,), outcomes int8 (n,), and positives by image, int32 (images,).

        Ignored predictions and those after the last true positive change no value and are left out.
        """
        is_true = outcomes == TRUE_POSITIVE
        last = np.flatnonzero(is_true)[-1:] + 1
        end = int(last[0]) if len(last) else 0
        image, is_true, is_false = image[:end], is_true[:end], outcomes[:end] == FALSE_POSITIVE
        # false positives before each true positive: equal numbers belong to the same run
        before = np.cumsum(is_false)[is_true]
        ends = np.flatnonzero(np.diff(before, append=-1))
        images_of_positives = np.repeat(np.arange(len(positives), dtype=np.int32), positives)
        return cls(
            positives=CumulativeWeights.of(images_of_positives, np.array([len(images_of_positives)])),
            true_positives=CumulativeWeights.of(image[is_true], ends + 1),
            false_positives=CumulativeWeights.of(image[is_false], before[ends]),
        )

    def steps(self, weights: Weights) -> Steps:
        """The cumulative weights at the ends of the runs, for each weighting."""
        positives = self.positives.sums(weights)[:, 0]
        return Steps(self.true_positives.sums(weights), self.false_positives.sums(weights), positives)


@dataclass(frozen=True, slots=True, eq=False)
class CumulativeWeights:
    """The cumulative weights of a sequence of images at chosen ends.

    The sequence is cut into pieces of at most `_TOGETHER` images, at every end at least. rows: for each position in a piece,
    the images there, of the pieces that are long enough, longest first; order: the index of each piece of the sequence
    among these; last: for each end, the number of pieces before it.
    """

    rows: tuple[Integers, ...]
    order: Places
    last: Places

    @classmethod
    def of(cls, images: Integers, ends: Places) -> Self:
        """The cumulative weights of these images at these ends.

        images: int32 (n,); ends: intp (k,), ascending, the number of images before each end.
        """
        lengths = np.diff(ends, prepend=0)
        pieces = -(-lengths // _TOGETHER)
        last = np.cumsum(pieces)
        within = np.arange(pieces.sum()) - np.repeat(last - pieces, pieces)
        first = np.repeat(ends - lengths, pieces) + within * _TOGETHER
        size = np.minimum(np.repeat(ends, pieces) - first, _TOGETHER)
        longest_first = np.argsort(-size, kind="stable")
        first, size = first[longest_first], size[longest_first]
        counts = [int(np.count_nonzero(size > place)) for place in range(int(size.max(initial=0)))]
        rows = tuple(images[first[:count] + place] for place, count in enumerate(counts))
        return cls(rows, np.argsort(longest_first), last)

    def sums(self, weights: Weights) -> Integers:
        """The cumulative weights at the ends, int32 (replicates, k)."""
        replicates = weights.shape[1]
        totals: NDArray[Any] = np.zeros((len(self.order), replicates), weights.dtype)
        buffer = np.empty_like(totals)
        for rows in self.rows:
            total, added = totals[: len(rows)], buffer[: len(rows)]
            # with an `out`, any other mode makes a copy
            np.take(weights, rows, axis=0, out=added, mode="clip")
            np.add(total, added, out=total)
        cumulative = np.zeros((replicates, len(self.order) + 1), np.int32)
        # transposed in memory, for cumulative sums along rows are twice as fast
        by_replicate = np.ascontiguousarray(totals.take(self.order, axis=0).T)
        np.cumsum(by_replicate, axis=1, dtype=np.int32, out=cumulative[:, 1:])
        at_ends: Integers = cumulative.take(self.last, axis=1)
        return at_ends


def _divided(sums: Floats, positives: Integers) -> Floats:
    values: Floats = np.divide(sums, positives, out=np.full(len(sums), np.nan), where=positives > 0)
    return np.minimum(values, 1.0)


def _sums_in_order(terms: Floats) -> Floats:
    # as in `ranking`: the order in which NumPy's own sum adds depends on its version and on the processor
    if terms.shape[1] == 0:
        return np.zeros(len(terms))
    sums: Floats = np.cumsum(terms, axis=1)[:, -1]
    return sums
