"""Rankings of images or persons by confidence, and their measures."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from scoring.data.arrays import Integers, Labels
from scoring.data.confidences import ClassConfidences
from scoring.data.matches import RankedPredictions
from scoring.metrics.ranking import (
    FALSE_POSITIVE,
    IGNORED,
    TRUE_POSITIVE,
    average_precision,
    average_precision_11_points,
    rank,
)
from scoring.metrics.roc import auc, ends_of_ties, roc

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
