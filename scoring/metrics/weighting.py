"""What a ranking is worth when every image counts a whole number of times: the inner loop of the bootstrap.

An image that counts m times is m images, each with its own objects and its own answers; no verdict changes by
that, for an answer is held against its own image only. The copies of an answer stand one after another in the
ranking. While right answers follow each other precision rises, so a run of them, copies and all, is one step
of the envelope, whose height is the precision at the run's end. All that is needed is how much weight of
right and of wrong answers has gone by at the end of each run, for many replicates at once.
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
"""How often each image counts: (images, replicates), a column for each replicate."""

_TOGETHER: Final = 16
"""Rows added before a sum is widened: in uint8 for weights up to 15, in uint16 for any that can be drawn."""


def as_weights(counts: NDArray[Any]) -> Weights:
    """Counts as narrow as the sums of so many of them allow; (images, replicates).

    >>> as_weights(np.array([[2, 0], [0, 2]])).dtype, as_weights(np.array([[300]])).dtype
    (dtype('uint8'), dtype('uint16'))
    """
    heaviest = int(counts.max(initial=0))
    fits = heaviest * _TOGETHER <= np.iinfo(np.uint8).max
    return np.ascontiguousarray(counts, np.uint8) if fits else np.ascontiguousarray(counts, np.uint16)


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """The envelope of many replicates.

    right, wrong: answers up to the end of each run, int32 (replicates, runs); positives: int32 (replicates,).
    """

    right: Integers
    wrong: Integers
    positives: Integers

    def envelope(self) -> Floats:
        """The best precision at the end of each run or later, float64 (replicates, runs); 0 before any right one."""
        counted = np.maximum(self.right + self.wrong, 1)
        precision: Floats = self.right / counted
        # numbers that are not negative compare as their bits do, at a third of the time
        bits = precision[:, ::-1].view(np.int64)
        np.maximum.accumulate(bits, axis=1, out=bits)
        return precision


def weighted_average_precision(steps: Steps) -> Floats:
    """`average_precision` of each replicate, to within rounding.

    >>> steps = Steps(np.array([[1, 2]]), np.array([[0, 1]]), np.array([2]))
    >>> weighted_average_precision(steps).round(6).tolist()
    [0.833333]
    """
    found = np.diff(steps.right, axis=1, prepend=0)
    return _shares(_sums_in_order(found * steps.envelope()), steps.positives)


def weighted_average_precision_11_points(steps: Steps) -> Floats:
    """`average_precision_11_points` of each replicate; a level is reached where the same division says so.

    >>> steps = Steps(np.array([[1, 2]]), np.array([[0, 1]]), np.array([2]))
    >>> weighted_average_precision_11_points(steps).round(6).tolist()
    [0.848485]
    """
    replicates, runs = steps.right.shape
    levels = np.array(ELEVEN_RECALLS)
    positives = np.maximum(steps.positives, 1).astype(np.int64)[:, None]
    needed = np.ceil(levels * positives).astype(np.int64)
    needed -= (needed - 1) / positives >= levels
    needed += needed / positives < levels
    # one search for all: the counts of the replicates, each lifted above those of the one before; of 2007's layouts more
    # may be right than there are positives, for those of difficult persons are, too
    most = max(int(steps.right.max(initial=0)), int(positives.max(initial=1))) + 2
    lift = (np.arange(replicates) * most)[:, None]
    reached = np.searchsorted((steps.right + lift).ravel(), (needed + lift).ravel())
    reached = reached.reshape(needed.shape) - (np.arange(replicates) * runs)[:, None]
    heights = np.concatenate([steps.envelope(), np.zeros((replicates, 1))], axis=1)
    best = np.take_along_axis(heights, np.minimum(reached, runs), axis=1)
    values = np.minimum(_sums_in_order(best / len(ELEVEN_RECALLS)), 1.0)  # as in `ranking`
    return np.where(steps.positives > 0, values, np.nan)


WeightedMetric = Callable[[RankedPredictions, Integers], Callable[[Weights], Floats]]
"""Makes a class ready, given what there is to be found in each image, int32 (images,); what comes out gives
the value under each weighting, float64 (replicates,): NaN where there is nothing to be found.
"""


def weighted_metric_of(measure: Measure, weighted: Callable[[Steps], Floats]) -> WeightedMetric:
    """A measure of rankings for many weightings of the images at once.

    measure: decides the value of a class without positives; weighted: the same measure from a ranking's steps.

    >>> from scoring.metrics.ranking import average_precision
    >>> ranking = RankedPredictions("car", 1, np.array([1, 0], np.int32), np.array([0.9, 0.5]),
    ...     np.array([0, 1], np.int8))
    >>> weighted_metric = weighted_metric_of(average_precision, weighted_average_precision)(
    ...     ranking, np.array([1, 0], np.int32))
    >>> weighted_metric(np.array([[1, 1, 2], [1, 0, 0]], np.uint8)).tolist()
    [0.5, 1.0, 1.0]
    """

    def prepare(ranking: RankedPredictions, wanted: Integers) -> Callable[[Weights], Floats]:
        if not wanted.any():
            constant = measure(ranking.outcomes, 0)
            return lambda weights: np.full(weights.shape[1], constant)
        ranked = Ranked.of(ranking.image, ranking.outcomes, wanted)
        return lambda weights: weighted(ranked.steps(weights))

    return prepare


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """A class made ready for any number of weightings: the images of its positives, and of its answers by run."""

    positives: "RunningSums"
    right: "RunningSums"
    wrong: "RunningSums"

    @classmethod
    def of(cls, image: Integers, outcomes: Labels, wanted: Integers) -> Self:
        """From a ranking, best first: image int32 (n,), verdicts int8 (n,); wanted: int32 (images,), what is there.

        Ignored answers and those behind the last right one change nothing and are left out.
        """
        right = outcomes == TRUE_POSITIVE
        last = np.flatnonzero(right)[-1:] + 1
        end = int(last[0]) if len(last) else 0
        image, right, wrong = image[:end], right[:end], outcomes[:end] == FALSE_POSITIVE
        # wrong answers before each right one; the same number is the same run
        gone_by = np.cumsum(wrong)[right]
        ends = np.flatnonzero(np.diff(gone_by, append=-1))
        everything = np.repeat(np.arange(len(wanted), dtype=np.int32), wanted)
        return cls(
            positives=RunningSums.of(everything, np.array([len(everything)])),
            right=RunningSums.of(image[right], ends + 1),
            wrong=RunningSums.of(image[wrong], gone_by[ends]),
        )

    def steps(self, weights: Weights) -> Steps:
        """The envelope's steps under each of these weightings."""
        positives = self.positives.under(weights)[:, 0]
        return Steps(self.right.under(weights), self.wrong.under(weights), positives)


@dataclass(frozen=True, slots=True, eq=False)
class RunningSums:
    """How much weight has gone by at certain ends in a sequence of images.

    The sequence is cut into pieces of at most `_TOGETHER` images, none of which reaches over an end. rows: for each place
    in a piece, the images there, for the pieces that are so long, longest first; order: where each piece, as the
    sequence has them, stands among these; last: for each end, how many pieces lie before it.
    """

    rows: tuple[Integers, ...]
    order: Places
    last: Places

    @classmethod
    def of(cls, images: Integers, ends: Places) -> Self:
        """images: int32 (n,); ends: intp (k,), never falling, how many images lie before each end."""
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

    def under(self, weights: Weights) -> Integers:
        """The sums at the ends, int32 (replicates, k)."""
        replicates = weights.shape[1]
        sums: NDArray[Any] = np.zeros((len(self.order), replicates), weights.dtype)
        more = np.empty_like(sums)
        for rows in self.rows:
            part, added = sums[: len(rows)], more[: len(rows)]
            # with an `out`, any other mode makes a copy
            np.take(weights, rows, axis=0, out=added, mode="clip")
            np.add(part, added, out=part)
        gone_by = np.zeros((replicates, len(self.order) + 1), np.int32)
        # turned over in memory, for sums along rows are twice as fast
        by_replicate = np.ascontiguousarray(sums.take(self.order, axis=0).T)
        np.cumsum(by_replicate, axis=1, dtype=np.int32, out=gone_by[:, 1:])
        at_ends: Integers = gone_by.take(self.last, axis=1)
        return at_ends


def _shares(sums: Floats, positives: Integers) -> Floats:
    shares: Floats = np.divide(sums, positives, out=np.full(len(sums), np.nan), where=positives > 0)
    return np.minimum(shares, 1.0)


def _sums_in_order(terms: Floats) -> Floats:
    # as in `ranking`: the order in which NumPy's own sum adds depends on its version and on the processor
    if terms.shape[1] == 0:
        return np.zeros(len(terms))
    sums: Floats = np.cumsum(terms, axis=1)[:, -1]
    return sums
