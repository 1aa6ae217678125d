"""Ranking by confidence: precision and recall, average precision, ROC curves, with weights of images too.

An image of weight m stands for m copies of it, each with its objects and its detections, whose matches do not change. The
copies of a detection follow each other in the ranking. Along consecutive true positives precision rises, so each run of
them, copies included, is one step of the precision envelope, as high as the precision at the end of the run. All that is
needed are the cumulative weights of true and false positives at the ends of the runs.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from ..data.arrays import Flags, Floats, Integers, Labels, Places
from ..data.matches import FALSE_POSITIVE, IGNORED, TRUE_POSITIVE, RankedPredictions
from ..errors import DataError

ELEVEN_RECALLS: Final = tuple(k * 0.1 for k in range(11))
"""The recalls at which 11-point average precision is taken: multiples of 0.1 as Octave and NumPy round them, so that the
fourth is 0.30000000000000004 and not 0.3. Where a recall is exactly 0.3, 0.6 or 0.7 this moves a value by up to 0.0014."""


Measure = Callable[[Labels, int], float]
"""The value of a ranking, from outcomes int8 (n,), most confident first, and the number of positives; NaN where the kit's is."""


@dataclass(frozen=True, slots=True, eq=False)
class PrecisionRecall:
    """A PR curve: float64 (n,) each, a point for each prediction; an ignored one repeats the point before it.

    precision is NaN before the first true or false positive, recall where there are no positives.
    """

    recall: Floats
    precision: Floats


def rank(confidence: NDArray[np.floating[Any]]) -> Places:
    """Indices of confidences in descending order; equal confidences keep their order, as in the kit's sort.

    confidence: (n,), of any floating type. Returns intp (n,). Raises DataError for NaN or another shape.

    >>> rank(np.array([0.1, 0.9, 0.1, 0.5])).tolist()
    [1, 3, 0, 2]
    """
    confidence = np.asarray(
        confidence, np.float64
    )  # exact for narrower types, whose bits compare differently
    if confidence.ndim != 1:
        raise DataError(f"expected confidences of shape (n,), found {confidence.shape}")
    if np.isnan(confidence).any():
        raise DataError(f"expected numbers as confidences, found NaN at {int(np.isnan(confidence).argmax())}")
    # Six times as fast as a stable argsort: the bits of the confidences as integers that compare as the confidences
    # do, their lowest bits replaced by the index, are sorted as values.
    falling = 0.0 - confidence  # not -confidence: 0.0 and -0.0 are equal
    bits = falling.view(np.int64)
    bits = bits ^ ((bits >> 63) & np.int64(2**63 - 1))
    places = np.int64((1 << len(confidence).bit_length()) - 1)
    keys = (bits & ~places) | np.arange(len(confidence))
    keys.sort()
    order = keys & places
    ranked = falling[order]
    if np.any(ranked[1:] < ranked[:-1]):  # confidences that differ in the lowest bits only
        return np.argsort(falling, kind="stable")
    return order


def precision_recall(outcomes: Labels, positives: int) -> PrecisionRecall:
    """The PR curve of a ranking: outcomes int8 (n,), most confident first, and the number of positives.

    Source: VOC2012 development kit, VOCevaldet.m.

    >>> precision_recall(np.array([1, 0, 1], np.int8), 4).recall.tolist()
    [0.25, 0.25, 0.5]
    """
    true_positives = np.cumsum(outcomes == TRUE_POSITIVE, dtype=np.float64)
    false_positives = np.cumsum(outcomes == FALSE_POSITIVE, dtype=np.float64)
    # 0/0 is NaN, on purpose; a layout of a difficult person is a true positive in 2007, even without any positive
    with np.errstate(invalid="ignore", divide="ignore"):
        precision = true_positives / (false_positives + true_positives)
        return PrecisionRecall(true_positives / positives, precision)


def average_precision(outcomes: Labels, positives: int) -> float:
    """The area under the PR curve with precision made monotone, as in VOC2010 to VOC2012.

    outcomes: int8 (n,), most confident first. Returns a value in [0, 1]; without positives NaN, or 0 if there are no
    predictions either. Source: VOC2012 development kit, VOCap.m.

    >>> average_precision(np.array([1, 0, 1], np.int8), 2)
    0.8333333333333333
    """
    if positives == 0:
        return float("nan") if len(outcomes) else 0.0
    recall, precision = _steps(outcomes, positives)
    return _sum_in_order(np.diff(recall, prepend=0.0) * precision)


def average_precision_of_objects(outcomes: Labels, positives: int) -> float:
    """As `average_precision`, but NaN wherever there are no positives.

    Source: TensorFlow Object Detection API, metrics.py.

    >>> average_precision_of_objects(np.empty(0, np.int8), 0)
    nan
    """
    return average_precision(outcomes, positives) if positives else float("nan")


def average_precision_11_points(outcomes: Labels, positives: int) -> float:
    """The mean of the highest precision at or beyond each of eleven recalls, as in VOC2006 to VOC2009.

    outcomes: int8 (n,), most confident first. Returns a value in [0, 1]; NaN where every prediction is ignored, since then
    there is no precision. Source: VOC2007 development kit, VOCevaldet.m.

    >>> round(average_precision_11_points(np.array([1, 0, 1], np.int8), 2), 6)
    0.848485
    """
    if len(outcomes) and positives and bool(np.all(outcomes == IGNORED)):
        return float("nan")
    recall, precision = _steps(outcomes, positives)
    reached = np.searchsorted(recall, ELEVEN_RECALLS)
    return _sum_in_order(np.append(precision, 0.0)[reached] / len(ELEVEN_RECALLS))


def _steps(outcomes: Labels, positives: int) -> tuple[Floats, Floats]:
    """Recall at each true positive, and the highest precision from there on; recall does not rise elsewhere."""
    hits = np.flatnonzero(outcomes == TRUE_POSITIVE)
    counted = np.cumsum(outcomes != IGNORED)[hits]
    true_positives = np.arange(1.0, len(hits) + 1)
    precision = true_positives / counted
    with np.errstate(
        divide="ignore"
    ):  # a layout of 2007 may be a true positive without any positive, as above
        return true_positives / positives, np.maximum.accumulate(precision[::-1])[::-1]


def _sum_in_order(terms: Floats) -> float:
    # neither NumPy's pairwise sum nor the compensated one of Python 3.12: their last bits differ from the kit's, in whose
    # order eleven elevenths come to 1.0000000000000002
    return min(float(np.cumsum(terms)[-1]), 1.0) if len(terms) else 0.0


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

    >>> from heldout_scoring.metrics.ranking import average_precision
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


@dataclass(frozen=True, slots=True, eq=False)
class RocPoints:
    """A ROC curve from (0, 0) to (1, 1), with a point at the end of each run of equal confidences.

    fpr, tpr: float64 (n,), the shares of negatives and of positives ranked up to there; NaN without any.
    """

    fpr: Floats
    tpr: Floats


def ends_of_ties(confidence: Floats) -> Flags:
    """Whether each prediction is the last with its confidence, bool (n,); confidence: float64 (n,), falling.

    >>> ends_of_ties(np.array([0.9, 0.5, 0.5, -np.inf])).tolist()
    [True, False, True, True]
    """
    ends = np.ones(len(confidence), np.bool_)
    np.not_equal(confidence[1:], confidence[:-1], out=ends[:-1])
    return ends


def roc(outcomes: Labels, ends: Flags) -> RocPoints:
    """The ROC curve of a ranking: outcomes int8 (n,), most confident first; ends: bool (n,), see `ends_of_ties`.

    Equal confidences make one step, whatever their order. Source: VOC2006 development kit, VOCroc.m.

    >>> roc(np.array([1, 0, 1], np.int8), np.array([True, True, True])).tpr.tolist()
    [0.0, 0.5, 0.5, 1.0, 1.0]
    """
    return RocPoints(_shares(outcomes == FALSE_POSITIVE, ends), _shares(outcomes == TRUE_POSITIVE, ends))


def _shares(counted: Flags, ends: Flags) -> Floats:
    so_far = np.cumsum(counted, dtype=np.float64)
    with np.errstate(invalid="ignore"):  # 0/0 is NaN, on purpose
        shares = so_far[ends] / np.count_nonzero(counted)
    return np.concatenate([[0.0], shares, [1.0]])


def auc(points: RocPoints) -> float:
    """The area under the lower steps of the ROC curve: a rise of tpr counts from the next false positive on.

    NaN where there is no positive or no negative. Source: VOC2006 development kit, VOCroc.m.

    >>> auc(roc(np.array([1, 0, 1], np.int8), np.array([True, True, True])))
    0.5
    """
    tpr = points.tpr
    kept = np.ones(len(tpr), np.bool_)
    np.not_equal(tpr[1:-1], tpr[:-2], out=kept[1:-1])
    steps = np.diff(points.fpr[kept]) * tpr[kept][:-1]
    return float(np.cumsum(steps)[-1])  # added up from left to right, as everywhere


def weighted_roc_auc(ranking: RankedPredictions, _positives: Integers) -> Callable[[Weights], Floats]:
    """`heldout_scoring.metrics.ranking.auc` for many weightings at once, as a `heldout_scoring.metrics.ranking.WeightedMetric`.

    A false positive counts with the true positives before its tie. Only ties with a true positive raise the TPR, so the
    weights at their ends are enough. Values are float64 (replicates,), NaN without positives or without negatives.

    >>> ranking = RankedPredictions("car", 1, np.arange(3), np.array([0.9, 0.5, 0.1]),
    ...     np.array([0, 1, 0], np.int8))
    >>> weighted_roc_auc(ranking, np.array([0, 1, 0]))(np.array([[1], [1], [3]], np.uint8)).tolist()
    [0.75]
    """
    is_true, is_false = ranking.outcomes == TRUE_POSITIVE, ranking.outcomes == FALSE_POSITIVE
    ends = np.flatnonzero(ends_of_ties(ranking.confidence))
    true_by, false_by = np.cumsum(is_true)[ends], np.cumsum(is_false)[ends]
    rising = np.flatnonzero(np.diff(true_by, prepend=0))
    true_positives = CumulativeWeights.of(ranking.image[is_true], true_by[rising])
    ends_of_false = np.append(false_by[rising], np.count_nonzero(is_false))
    false_positives = CumulativeWeights.of(ranking.image[is_false], ends_of_false)

    def values(weights: Weights) -> Floats:
        heights = np.pad(true_positives.sums(weights).astype(np.int64), ((0, 0), (1, 0)))
        passed = false_positives.sums(weights).astype(np.int64)
        area = (heights * np.diff(passed, axis=1, prepend=0)).sum(axis=1)  # integers: exact in any order
        whole = heights[:, -1] * passed[:, -1]
        areas: Floats = np.divide(area, whole, out=np.full(len(area), np.nan), where=whole > 0)
        return areas

    return values


Average = Callable[[Sequence[float]], float]
"""The mean of the values of the classes; NaN where it is undefined."""

Pool = Callable[[Sequence[RankedPredictions]], RankedPredictions]
"""Merges the rankings of several classes into one."""


def mean_of_classes(values: Sequence[float]) -> float:
    """The arithmetic mean, added up from left to right; NaN where there is no value or one of them is NaN.

    >>> mean_of_classes([0.5, 0.25])
    0.375
    """
    total = 0.0
    # not sum(): from Python 3.12 on it compensates, and the last bit would depend on the version
    for value in values:
        total += value
    return total / len(values) if values else float("nan")


def mean_of_classes_with_a_value(values: Sequence[float]) -> float:
    """The mean of the values that are not NaN.

    Source: TensorFlow Object Detection API, object_detection_evaluation.py.

    >>> mean_of_classes_with_a_value([0.5, math.nan])
    0.5
    """
    return mean_of_classes([value for value in values if not math.isnan(value)])


def pool_all_classes(classes: Sequence[RankedPredictions]) -> RankedPredictions:
    """Pool all classes as if they were one, so that a class weighs as much as it has objects.

    Equal confidences keep the order of the classes. Detections of a class without positives are false positives.
    Source: TensorFlow Object Detection API, g3doc/evaluation_protocols.md, "weighted PASCAL".

    >>> one, right, wrong = np.zeros(1, np.int32), np.ones(1, np.int8), np.zeros(1, np.int8)
    >>> car = RankedPredictions("car", 4, one, np.array([0.5]), right)
    >>> pooled = pool_all_classes([car, RankedPredictions("cat", 1, one, np.array([0.9]), wrong)])
    >>> pooled.positives, pooled.outcomes.tolist()
    (5, [0, 1])
    """
    confidence = np.concatenate([np.empty(0), *(each.confidence for each in classes)])
    order = rank(confidence)
    return RankedPredictions(
        class_name="all classes",
        positives=sum(each.positives for each in classes),
        image=np.concatenate([np.empty(0, np.int32), *(each.image for each in classes)])[order],
        confidence=confidence[order],
        outcomes=np.concatenate([np.empty(0, np.int8), *(each.outcomes for each in classes)])[order],
    )


def pool_classes_with_positives(classes: Sequence[RankedPredictions]) -> RankedPredictions:
    """Pool as `pool_all_classes` does, but leave out classes without positives and their detections.

    Source: tf-models-research-object-detection 2.8.0, object_detection_evaluation.py.

    >>> one, right, wrong = np.zeros(1, np.int32), np.ones(1, np.int8), np.zeros(1, np.int8)
    >>> car = RankedPredictions("car", 4, one, np.array([0.5]), right)
    >>> pooled = pool_classes_with_positives([car, RankedPredictions("cat", 0, one, np.array([0.9]), wrong)])
    >>> pooled.positives, pooled.outcomes.tolist()
    (4, [1])
    """
    return pool_all_classes([each for each in classes if each.positives])


@dataclass(frozen=True, slots=True)
class RankingMeasure:
    """A measure of a ranking: its name, the function, and the same function for weighted images.

    `weighted` serves the bootstrap only. It decides no score and so does not appear in a receipt.
    """

    name: str
    of: Measure
    weighted: WeightedMetric = field(repr=False)


AP_11_POINTS: Final = RankingMeasure(
    "11-point average precision",
    average_precision_11_points,
    WeightedMeasure(average_precision_11_points, weighted_average_precision_11_points),
)


AP_AREA: Final = RankingMeasure(
    "Average precision",
    average_precision,
    WeightedMeasure(average_precision, weighted_average_precision),
)


AP_AREA_OF_OBJECTS: Final = RankingMeasure(
    AP_AREA.name,
    average_precision_of_objects,
    WeightedMeasure(average_precision_of_objects, weighted_average_precision),
)
"""The same area, NaN for every class without objects, as in the TensorFlow Object Detection API."""
