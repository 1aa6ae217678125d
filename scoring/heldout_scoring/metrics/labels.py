"""Rankings of images or persons, and confusion matrices of pixels, with their measures."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..data.arrays import Bytes, Flags, Floats, Integers, Labels, Places
from ..data.matches import FALSE_POSITIVE, IGNORED, TRUE_POSITIVE, RankedPredictions
from ..data.predictions import ClassConfidences
from .ranking import auc, average_precision, average_precision_11_points, ends_of_ties, rank, roc

Value = Callable[[RankedPredictions], float]
"""The value of a class's ranking; NaN where the kit's is."""

_OUTCOMES: Final = np.array([IGNORED, TRUE_POSITIVE, FALSE_POSITIVE], np.int8)  # of the labels 0, 1 and -1


@dataclass(frozen=True, slots=True, eq=False)
class ClassLabels:
    """The labels of a class or an action: a row for each image or person, in the order that decides ties.

    subjects: the number of images or persons that predictions can name; subject: int32 (m,), the index of each row's among
    them; image: int32 (m,), into the images of the ground truth; label: int8 (m,), 1 present, -1 absent, 0 difficult.
    """

    subjects: int
    subject: Integers
    image: Integers
    label: Labels

    @property
    def positives(self) -> int:
        """The number of rows with label 1."""
        return int(np.count_nonzero(self.label == 1))


def rank_by_confidence(name: str, predictions: ClassConfidences, known: ClassLabels) -> RankedPredictions:
    """Rank the labelled rows by the confidence predicted for them; equal confidences keep the order of the rows.

    Of several predictions for one subject the last counts. Rows without a prediction rank last, with a confidence of -inf;
    predictions for subjects without a row are left out. Source: VOC2012 development kit, VOCevalcls.m.

    >>> known = ClassLabels(3, np.arange(3), np.arange(3), np.array([1, -1, 1], np.int8))
    >>> rank_by_confidence("car", ClassConfidences(np.array([2, 1, 2]), np.array([0.1, 0.5, 0.9])), known).image.tolist()
    [2, 1, 0]
    """
    by_subject = np.full(known.subjects, -np.inf)
    # of several assignments to one place the last one stays
    by_subject[predictions.subject] = predictions.confidence
    confidence = by_subject[known.subject]
    order = rank(confidence)
    outcomes = _OUTCOMES[known.label[order]]
    return RankedPredictions(name, known.positives, known.image[order], confidence[order], outcomes)


def with_difficult(ranked: RankedPredictions) -> RankedPredictions:
    """The same ranking with ignored rows as positives: images that have difficult objects only count like others.

    >>> ranked = RankedPredictions("car", 1, np.arange(3), np.array([0.9, 0.5, 0.1]), np.array([-1, 1, 0], np.int8))
    >>> with_difficult(ranked).positives, with_difficult(ranked).outcomes.tolist()
    (2, [1, 1, 0])
    """
    outcomes = np.where(ranked.outcomes == IGNORED, np.int8(TRUE_POSITIVE), ranked.outcomes)
    return replace(ranked, positives=int(np.count_nonzero(outcomes == TRUE_POSITIVE)), outcomes=outcomes)


def ranked_average_precision(ranked: RankedPredictions) -> float:
    """`average_precision` of a class, as in VOC2010 to VOC2012.

    Source: VOC2012 development kit, VOCevalcls.m.

    >>> ranked = RankedPredictions("car", 2, np.arange(3), np.array([0.9, 0.5, 0.1]), np.array([1, 0, 1], np.int8))
    >>> round(ranked_average_precision(ranked), 6)
    0.833333
    """
    return average_precision(ranked.outcomes, ranked.positives)


def ranked_average_precision_11_points(ranked: RankedPredictions) -> float:
    """`average_precision_11_points` of a class, as in VOC2007 to VOC2009.

    Source: VOC2007 development kit, VOCevalcls.m.

    >>> ranked = RankedPredictions("car", 2, np.arange(3), np.array([0.9, 0.5, 0.1]), np.array([1, 0, 1], np.int8))
    >>> round(ranked_average_precision_11_points(ranked), 6)
    0.848485
    """
    return average_precision_11_points(ranked.outcomes, ranked.positives)


def roc_auc(ranked: RankedPredictions) -> float:
    """The area under the ROC curve of a class, as in VOC2006; equal confidences make one step.

    Source: VOC2006 development kit, VOCroc.m.

    >>> ranked = RankedPredictions("car", 2, np.arange(3), np.array([0.9, 0.5, 0.1]), np.array([1, 0, 1], np.int8))
    >>> roc_auc(ranked)
    0.5
    """
    return auc(roc(ranked.outcomes, ends_of_ties(ranked.confidence)))


Counts = NDArray[np.int64]
"""A confusion matrix of pixels, int64 (labels, labels): true labels as rows, predicted ones as columns, background first."""


Runs = tuple[Bytes, Integers]
"""Labels along the rows of an image, run by run: the label of each run, uint8 (runs,), and its length in pixels."""


PixelMeasure = Callable[[Counts], Floats]
"""A value in [0, 1] for each label, float64 (labels,); NaN where the kit's is."""


_EIGHT: Final = 8  # flags in a word


PixelTotal = Callable[[Counts], float]
"""One value in [0, 1] for all pixels; NaN where there is none."""


def count_labels(predictions: Sequence[Bytes], truths: Sequence[Runs], labels: int) -> Counts:
    """The confusion matrix of each image, without its void pixels: int64 (images, labels, labels).

    predictions: uint8, each below `labels`; truths: the runs of each image, where labels from `labels` on are void. Runs in
    which both labels stay the same are counted at once, in floats that are exact up to 2**53. Several
    images are counted together, so that calls are few and two threads work at the same time.

    >>> count_labels([np.array([[0, 1], [1, 1]])], [(np.array([0, 1, 255], np.uint8), np.array([2, 1, 1]))], 2)
    array([[[1, 1],
            [0, 1]]])
    """
    cells = (labels + 1) * labels  # of an image; the last row is what is void
    prediction = _joined(predictions)
    true, lengths = (np.concatenate(each) for each in zip(*truths, strict=True))
    image = np.repeat(np.arange(len(truths)) * cells, [len(each) for each, _ in truths])
    rows = np.minimum(true, labels) * np.intp(labels) + image
    ends = np.empty(prediction.size, np.bool_)
    np.not_equal(prediction[1:], prediction[:-1], out=ends[:-1])
    true_ends = np.cumsum(lengths) - 1
    ends[true_ends] = True
    last = _places(ends)
    # each true run holds the ends up to its own: to repeat its row is faster than to look it up for each end
    cell = np.repeat(rows, np.diff(np.searchsorted(last, true_ends), prepend=-1))
    cell += prediction[last]
    counts = np.bincount(cell, np.diff(last, prepend=-1), len(truths) * cells)
    return counts.astype(np.int64).reshape(len(truths), labels + 1, labels)[:, :labels]


def _joined(images: Sequence[Bytes]) -> Bytes:
    """The pixels of all images, row by row; an image whose rows lie apart is copied once."""
    ends = np.cumsum([0, *(each.size for each in images)]).tolist()
    found = np.empty(ends[-1], np.uint8)
    for each, (begin, end) in zip(images, pairwise(ends), strict=True):
        found[begin:end].reshape(each.shape)[...] = each
    return found


def _places(flags: Flags) -> Places:
    """`np.flatnonzero`, twice as fast where few flags are set: first the words of eight with any, then these."""
    whole = len(flags) // _EIGHT * _EIGHT
    words = flags[:whole].view(np.uint64)
    some = np.flatnonzero(words != 0)
    if len(some) > len(words) // _EIGHT:
        return np.flatnonzero(flags)
    found = np.flatnonzero(words[some].view(np.bool_))
    places = (some[found // _EIGHT] * _EIGHT) + found % _EIGHT
    return np.concatenate([places, whole + np.flatnonzero(flags[whole:])])


def iou_of_labels(counts: Counts) -> Floats:
    """Intersection over union of the pixels of each label; NaN for a label that occurs neither as true nor as predicted.

    counts: int64 (labels, labels), a row for each true label. Returns float64 (labels,) in [0, 1]. Source: VOC2008 development kit and later, VOCevalseg.m.

    >>> iou_of_labels(np.array([[2, 1, 0], [1, 0, 0], [0, 0, 0]]))
    array([0.5, 0. , nan])
    """
    found = np.diagonal(counts)
    return _divided(found, counts.sum(0) + counts.sum(1) - found)


def class_accuracy(counts: Counts) -> Floats:
    """The share of the pixels of each true label that are predicted as it; 0 for a label without pixels.

    counts: int64 (labels, labels), a row for each true label. Returns float64 (labels,) in [0, 1]. Source: VOC2007 development kit, VOCevalseg.m.

    >>> class_accuracy(np.array([[2, 2, 0], [1, 0, 0], [0, 0, 0]]))
    array([0.5, 0. , 0. ])
    """
    return np.nan_to_num(_divided(np.diagonal(counts), counts.sum(1)))


def pixel_accuracy(counts: Counts) -> float:
    """The share of pixels that are predicted as their true label; NaN without pixels.

    counts: int64 (labels, labels), a row for each true label. Returns a value in [0, 1]. Source: VOC2007 development kit, VOCevalseg.m.

    >>> pixel_accuracy(np.array([[2, 1], [1, 0]]))
    0.5
    """
    total = int(counts.sum())
    return int(np.trace(counts)) / total if total else math.nan


def _divided(part: Counts, whole: Counts) -> Floats:
    shares = np.full(len(whole), np.nan)
    np.divide(part, whole, out=shares, where=whole > 0)
    return shares
