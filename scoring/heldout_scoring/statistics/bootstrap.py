"""The paired bootstrap over images, and confidence intervals from its replicates.

A replicate draws as many images as there are, with replacement; matches stay as they are, only the number of times that
each image counts changes. Replicate k depends on the seed, the number of images and k alone, so the replicates of several
methods and classes are paired. Source: Efron and Tibshirani, "An Introduction to the Bootstrap", 1993.

The file is one of `heldout_scoring.stored` of the kind `replicates`, version 1. Its facts are those of `Setup` and `Draws`, and `names`
and `scores` as in `Replicates`; its array `values` has 32 bits a number, which is exact to 6e-8.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from statistics import NormalDist
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from ..data.arrays import Floats, Integers, assert_kinds
from ..data.matches import AllMatches, ImageCounts, Origin, RankedPredictions, open_matches
from ..data.truth import GroundTruth
from ..errors import DataError
from ..metrics.labels import PixelMeasure
from ..metrics.ranking import Average, Pool, WeightedMetric, Weights, as_weights
from ..parallel import thread_count
from ..protocols import PROTOCOLS, TASKS, spell
from ..results import Result, matches_in_memory, rules_of
from ..stored import Packed, complete, pack, unpack
from ..tasks.task import PixelSample, RankingSample, Sample

KIND: Final = "replicates"
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

    @property
    def content(self) -> bytes:
        """The content of their file; the same replicates give the same bytes."""
        facts = {**asdict(self.setup), **asdict(self.draws), "names": self.names, "scores": self.scores}
        return pack(KIND, Packed(facts, {"values": self.values.astype(np.float32)}))

    @classmethod
    def of_bytes(cls, content: bytes) -> Self:
        """The replicates in the content of a file. Raises ForeignFileError for anything else.

        >>> kept = Replicates(Setup("detection", "voc2012", "0f"), Draws(9, 2), (), (0.5,), np.array([[0.25, 0.75]]))
        >>> again = Replicates.of_bytes(kept.content)
        >>> again.setup.protocol, again.draws.replicates, again.scores, again.values.tolist()
        ('voc2012', 2, (0.5,), [[0.25, 0.75]])
        """
        packed = unpack(KIND, content)
        facts, arrays = packed.facts, packed.arrays
        with complete(KIND):
            setup = Setup(**{each.name: facts[each.name] for each in fields(Setup)})
            draws = Draws(**{each.name: facts[each.name] for each in fields(Draws)})
            names, scores = tuple(facts["names"]), tuple(facts["scores"])
            return cls(setup, draws, names, scores, arrays["values"].astype(np.float64))


def headline_by_replicate(values: Floats, average: Average) -> Floats:
    """The average in each replicate of the classes that it drew: float64 (classes, replicates) to (replicates,).

    A class with few objects is missing from some replicates, with 2 objects from one in seven. The average is
    conditional on the classes present, as evaluators average over the classes that have objects; leaving out every
    replicate that lacks some class would keep 5 % of the replicates of 20 classes of 2 objects. A class without a
    value in any replicate stays in the average, as NaN.

    >>> from heldout_scoring.metrics.ranking import mean_of_classes
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
    >>> from heldout_scoring.metrics.ranking import AP_AREA
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

    >>> from heldout_scoring.metrics.ranking import pool_classes_with_positives
    >>> from heldout_scoring.metrics.ranking import AP_AREA
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

    >>> from heldout_scoring.metrics.labels import class_accuracy
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


LEVEL: Final = 0.95
HEADLINE: Final = "mean"
"""The name of the row of all classes together."""
FEWEST: Final = 20
"""The fewest replicates with a value that an interval is computed from."""
TOO_FEW_REPLICATES: Final = "too few replicates have an object of the class"
NO_VALUE: Final = "the score itself has no value"

WIDENING: Final = 1.05
"""Percentiles are taken this many times further from the score, in standard deviations of a normal distribution.

The bootstrap's spread is too narrow, and a normal quantile takes it for exact: Hesterberg's expanded percentiles stretch
the distance by t(n - 1) / z * sqrt(n / (n - 1)), which is 1.05 at n = 36 observations. Source: Hesterberg, "What Teachers
Should Know About the Bootstrap", The American Statistician 69, 2015, section 4.3.2. One factor for all classes is enough,
as simulations show; 1 gives the percentiles themselves.
"""
_ROUNDING: Final = 1e-12
_NORMAL: Final = NormalDist()


@dataclass(frozen=True, slots=True)
class Interval:
    """The confidence interval of a score in [0, 1] or of a difference in [-1, 1], or the reason why there is none.

    replicates: how many had a value; the bounds are computed from these.
    """

    name: str
    value: float | None
    low: float | None
    high: float | None
    reason: str | None
    replicates: int


@dataclass(frozen=True, slots=True)
class IntervalTable:
    """Confidence intervals at a level in (0, 1), of each class and, last, of the headline.

    replicates: how many were drawn.
    """

    kind: ClassVar[str] = "interval_table"
    level: float
    replicates: int
    rows: tuple[Interval, ...]

    def __str__(self) -> str:
        """The score of each class with the bounds of its interval, as a table.

        >>> print(IntervalTable(0.95, 1000, (Interval("mean", 0.4, 0.3, 0.5, None, 1000),)))
        95 % confidence intervals
        class      value      low     high
        mean      0.4000   0.3000   0.5000
        """
        width = max([8, *(len(each.name) for each in self.rows)])
        lines = [
            f"{100 * self.level:g} % confidence intervals",
            f"{'class':{width}} {'value':>7}  {'low':>7}  {'high':>7}",
        ]
        for each in self.rows:
            numbers = (
                "-" if value is None else f"{value:.4f}" for value in (each.value, each.low, each.high)
            )
            shown = "  ".join(f"{number:>7}" for number in numbers)
            lines.append(f"{each.name:{width}} {shown}" + (f"  {each.reason}" if each.reason else ""))
        return "\n".join(lines)

    def by_class(self) -> Mapping[str | None, Interval]:
        """The interval of each class, and under None that of the headline.

        >>> car, mean = Interval("car", 0.5, 0.41, 0.6, None, 1000), Interval("mean", 0.4, 0.3, 0.5, None, 1000)
        >>> IntervalTable(0.95, 1000, (car, mean)).by_class()[None].high
        0.5
        """
        *classes, headline = self.rows
        return {each.name: each for each in classes} | {None: headline}


def interval_table(
    replicates: Replicates, *, level: float = LEVEL, widening: float = WIDENING
) -> IntervalTable:
    """The confidence interval of each class and, last, of the headline; see `interval`.

    >>> from heldout_scoring.statistics.bootstrap import Draws, Setup
    >>> drawn = np.tile(np.arange(1, 1000) / 1000, (2, 1))
    >>> setup = Setup("detection", "voc2012", "0f")
    >>> table = interval_table(Replicates(setup, Draws(9, 999), ("cat",), (0.5, 0.5), drawn))
    >>> [(row.name, row.low, row.high) for row in table.rows]
    [('cat', 0.02, 0.98), ('mean', 0.02, 0.98)]
    """
    rows = zip((*replicates.names, HEADLINE), replicates.scores, replicates.values, strict=True)
    intervals = (interval(*row, level=level, widening=widening) for row in rows)
    return IntervalTable(level, replicates.draws.replicates, tuple(intervals))


def interval(
    name: str,
    value: float | None,
    drawn: Floats,
    *,
    level: float = LEVEL,
    widening: float = WIDENING,
    lowest: float = 0.0,
) -> Interval:
    """The confidence interval, for the expected score on as many images, of a score from its replicates.

    drawn: float64 (replicates,), of which NaN are left out; with fewer than `FEWEST` others there is no interval.
    The bounds are percentiles of the replicates, extended to the score itself where it lies outside, with two
    corrections. Replicates tend to exceed the score, because repeated images raise the envelope of a curve, so
    percentiles are counted from the score's own place among its replicates instead of their median; and their
    distance from it is stretched by `widening`. Where that asks for a percentile beyond the replicates, as for the mean of
    hundreds of rare classes, whose replicates all exceed the score, percentiles are counted from the median and moved by
    the difference of score and median. Bounds lie in [lowest, 1].

    Simulated 95 % intervals of the mean of 20 classes cover the expected score in 96 % of the cases with 2 objects
    per class, 97 % with 5, 96 % with 50; those of a single class in 68, 93 and 97 %: two objects say too little
    (`tests/scoring/test_coverage.py` repeats a part). Plain percentiles cover 91 to 95 % with 50 to 300 objects, and
    the BC and BCa intervals, which correct the bias twice, 86 to 93 % for means.

    >>> interval("cat", 0.5, np.arange(1, 1000) / 1000)
    Interval(name='cat', value=0.5, low=0.02, high=0.98, reason=None, replicates=999)
    """
    drawn = np.sort(drawn[~np.isnan(drawn)])
    if value is None:
        return Interval(name, None, None, None, NO_VALUE, len(drawn))
    if len(drawn) < FEWEST:
        return Interval(name, value, None, None, TOO_FEW_REPLICATES, len(drawn))
    low, high = _bounds(value, drawn, widening * _NORMAL.inv_cdf((1 + level) / 2))
    return Interval(name, value, min(max(low, lowest), value), max(min(high, 1.0), value), None, len(drawn))


def _bounds(value: float, drawn: Floats, reach: float) -> tuple[float, float]:
    """Percentiles at a distance in standard deviations: from the value's place, or from the median and then moved."""
    centre = _NORMAL.inv_cdf(_quantile_of(value, drawn))
    low, high = (_NORMAL.cdf(centre + side * reach) for side in (-1, 1))
    if low * (len(drawn) + 1) >= 0.5 and (1 - high) * (len(drawn) + 1) >= 0.5:
        return quantile(low, drawn), quantile(high, drawn)
    shift = value - quantile(0.5, drawn)
    return quantile(_NORMAL.cdf(-reach), drawn) + shift, quantile(_NORMAL.cdf(reach), drawn) + shift


def _quantile_of(value: float, drawn: Floats) -> float:
    """The share of replicates below the value, in (0, 1); those equal to it, but for rounding, are counted half."""
    below = int(np.searchsorted(drawn, value - _ROUNDING)) + int(np.searchsorted(drawn, value + _ROUNDING))
    return min(max(below / 2, 0.5), len(drawn) - 0.5) / len(drawn)


def quantile(share: float, drawn: Floats) -> float:
    """The element of sorted values, float64 (n,), nearest to a share in [0, 1] of n + 1.

    >>> quantile(0.5, np.array([0.1, 0.2, 0.4]))
    0.2
    """
    number = math.floor(share * (len(drawn) + 1) + 0.5)
    return float(drawn[min(max(number, 1), len(drawn)) - 1])


def bootstrap(
    result: Result,
    truth: GroundTruth,
    *,
    statistics: Path | str | None = None,
    replicates: int = REPLICATES,
    seed: int = SEED,
) -> Replicates:
    r"""Bootstrap replicates of a result, over images, without matching anything again.

    statistics: the file of its matches that `evaluate` or `save_matches` wrote, for a result without them in memory.
    Replicates of several results with the same ground truth, number and seed are paired. Raises ForeignFileError for a
    file of another kind, and DataError for the matches of another result, another ground truth, or no matches.

    >>> from heldout_scoring import Detections, GroundTruth, evaluate
    >>> box = [1, 1, 10, 10]
    >>> truth = GroundTruth.from_arrays(["a", "b"], ["cat", "cat"], [box, box], convention="inclusive")
    >>> found = Detections.from_arrays(["a", "b"], ["cat", "cat"], [0.9, 0.5], [box, [1, 1, 9, 2]])
    >>> bootstrap(evaluate(found, truth, protocol="voc2012"), truth, replicates=6).values[-1].tolist()
    [0.5, 1.0, 1.0, 1.0, 0.5, 0.0]
    """
    if replicates < 1:
        raise DataError(f"expected at least 1 replicate, found {replicates}")
    sample = sample_of(result, truth, statistics=statistics)
    scores = {each.name: each.value for each in result.classes}
    if isinstance(sample, PixelSample):
        draws = Draws(len(sample.counts), replicates, seed)
        names = tuple(name for name in sample.counts.labels if name in scores)
        values = _pixel_values(sample, names, draws)
    else:
        draws = Draws(sample.positives.shape[1], replicates, seed)
        names = tuple(each.class_name for each in sample.rankings[:: sample.together])
        values = _ranking_values(sample, draws)
    setup = Setup(result.task, _spelled_protocol(result), truth.fingerprint)
    return Replicates(setup, draws, names, (*(scores[name] for name in names), result.headline), values)


def sample_of(result: Result, truth: GroundTruth, *, statistics: Path | str | None = None) -> Sample:
    r"""What the bootstrap of a result draws from; arguments and errors as for `bootstrap`.

    >>> from heldout_scoring import Detections, GroundTruth, evaluate
    >>> box = [1, 1, 10, 10]
    >>> truth = GroundTruth.from_arrays(["a", "b"], ["cat", "cat"], [box, box], convention="inclusive")
    >>> found = Detections.from_arrays(["a"], ["cat"], [0.9], [box])
    >>> sample_of(evaluate(found, truth, protocol="voc2012"), truth).positives.tolist()
    [[1, 1]]
    """
    assert_kinds(result=(result, Result), truth=(truth, GroundTruth))
    origin, matches = _open(result, statistics)
    _check_same(origin, result, truth)
    if isinstance(matches, tuple):
        scored = {each.name for each in result.classes}
        matches = tuple(each for each in matches if each.class_name in scored)
    return TASKS[result.task].resample(matches, truth, rules_of(result))


def intervals_of(
    result: Result,
    truth: GroundTruth,
    *,
    statistics: Path | str | None = None,
    replicates: int = REPLICATES,
    seed: int = SEED,
    level: float = LEVEL,
    widening: float = WIDENING,
) -> IntervalTable:
    r"""Confidence intervals of the classes of a result that have predictions, and of its headline.

    statistics: as for `bootstrap`; level: in (0, 1); widening: see `heldout_scoring.statistics.bootstrap.WIDENING`, 1 for none.

    >>> from heldout_scoring import Detections, GroundTruth, evaluate
    >>> boxes, images, cats = [[1, 1, 10, 10]] * 10, list("abcdefghij"), ["cat"] * 10
    >>> truth = GroundTruth.from_arrays(images, cats, boxes, convention="inclusive")
    >>> found = Detections.from_arrays(images[:6], cats[:6], [0.9] * 6, boxes[:6])
    >>> *_, headline = intervals_of(evaluate(found, truth, protocol="voc2012"), truth, replicates=100).rows
    >>> headline.name, round(headline.low, 3), round(headline.value, 3), round(headline.high, 3)
    ('mean', 0.3, 0.6, 0.9)
    """
    drawn = bootstrap(result, truth, statistics=statistics, replicates=replicates, seed=seed)
    return interval_table(drawn, level=level, widening=widening)


def _spelled_protocol(result: Result) -> str:
    """The name of the protocol, with the rules of one that is not official: others may have that name, too."""
    is_official = result.protocol in PROTOCOLS
    return result.protocol if is_official else f"{result.protocol}: {spell(rules_of(result))}"


def _open(result: Result, statistics: Path | str | None) -> tuple[Origin, AllMatches]:
    if statistics is None:
        return result.origin, matches_in_memory(result)
    return open_matches(statistics)


def _check_same(origin: Origin, result: Result, truth: GroundTruth) -> None:
    if origin.receipt != result.receipt:
        raise DataError(
            f"these are the statistics of another result: expected the receipt {result.receipt},"
            f" found {origin.receipt}"
        )
    if origin.truth != truth.fingerprint:
        raise DataError(f"this result is of another ground truth, {origin.truth}")


def _ranking_values(sample: RankingSample, draws: Draws) -> Floats:
    positives_of = [row for row in sample.positives for _ in range(sample.together)]
    values = resample_rankings(sample.rankings, positives_of, sample.weighted_metric, draws)
    values = values.reshape(-1, sample.together, values.shape[1]).mean(axis=1)
    if sample.pool is None:
        return np.vstack([values, headline_by_replicate(values, sample.average)])
    pooled = resample_pool(sample.rankings, sample.positives, sample.pool, sample.weighted_metric, draws)
    return np.vstack([values, pooled])


def _pixel_values(sample: PixelSample, names: Sequence[str], draws: Draws) -> Floats:
    values = resample_confusions(sample.counts, sample.measure, draws)
    values = values[[sample.counts.labels.index(name) for name in names]]
    return np.vstack([values, headline_by_replicate(values, sample.average)])
