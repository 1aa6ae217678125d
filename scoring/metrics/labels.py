"""Images and persons in the order of their confidence, and what such a ranking is worth."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from scoring.data.arrays import Integers, Labels
from scoring.data.confidences import ClassConfidences
from scoring.metrics.ranking import (
    FALSE_POSITIVE,
    IGNORED,
    TRUE_POSITIVE,
    average_precision,
    average_precision_11_points,
    rank,
)
from scoring.metrics.roc import auc, ends_of_ties, roc
from scoring.ranked_predictions import RankedPredictions

Value = Callable[[RankedPredictions], float]
"""What a ranking is worth; NaN where the kit's number is."""

_OUTCOMES: Final = np.array([IGNORED, TRUE_POSITIVE, FALSE_POSITIVE], np.int8)  # of the labels 0, 1 and -1


@dataclass(frozen=True, slots=True, eq=False)
class ClassLabels:
    """What is known of a class or an action: a row for each image or person, in the order that decides ties.

    subject: int32 (m,), its place in the set of those that answers may name, which has so many subjects; image: int32
    (m,), into the ground truth's images; label: int8 (m,), 1 for yes, -1 for no, 0 for hard to tell.
    """

    subjects: int
    subject: Integers
    image: Integers
    label: Labels

    @property
    def positives(self) -> int:
        """How many are labelled 1."""
        return int(np.count_nonzero(self.label == 1))


def rank_by_confidence(name: str, predictions: ClassConfidences, known: ClassLabels) -> RankedPredictions:
    """Every row, the surest first; equal confidences keep the order of the rows, whatever the order of the answers.

    Of several answers for one subject the last counts. A subject without any ranks behind all others, with a confidence of
    -inf; answers for subjects that have no row are left out. Source: VOC2012 development kit, VOCevalcls.m.

    >>> known = ClassLabels(3, np.arange(3), np.arange(3), np.array([1, -1, 1], np.int8))
    >>> rank_by_confidence("car", ClassConfidences(np.array([2, 1, 2]), np.array([0.1, 0.5, 0.9])), known).image.tolist()
    [2, 1, 0]
    """
    said = np.full(known.subjects, -np.inf)
    said[predictions.subject] = (
        predictions.confidence
    )  # of several assignments to one place the last one stays
    confidence = said[known.subject]
    order = rank(confidence)
    outcomes = _OUTCOMES[known.label[order]]
    return RankedPredictions(name, known.positives, known.image[order], confidence[order], outcomes)


def with_difficult(ranked: RankedPredictions) -> RankedPredictions:
    """The ranking if what is ignored were right: images with difficult objects only count like those with others.

    >>> ranked = RankedPredictions("car", 1, np.arange(3), np.array([0.9, 0.5, 0.1]), np.array([-1, 1, 0], np.int8))
    >>> with_difficult(ranked).positives, with_difficult(ranked).outcomes.tolist()
    (2, [1, 1, 0])
    """
    outcomes = np.where(ranked.outcomes == IGNORED, np.int8(TRUE_POSITIVE), ranked.outcomes)
    return replace(ranked, positives=int(np.count_nonzero(outcomes == TRUE_POSITIVE)), outcomes=outcomes)


def ranked_average_precision(ranked: RankedPredictions) -> float:
    """The measure of 2010 to 2012, `average_precision`.

    >>> ranked = RankedPredictions("car", 2, np.arange(3), np.array([0.9, 0.5, 0.1]), np.array([1, 0, 1], np.int8))
    >>> round(ranked_average_precision(ranked), 6)
    0.833333
    """
    return average_precision(ranked.outcomes, ranked.positives)


def ranked_average_precision_11_points(ranked: RankedPredictions) -> float:
    """The measure of 2007 to 2009, `average_precision_11_points`.

    >>> ranked = RankedPredictions("car", 2, np.arange(3), np.array([0.9, 0.5, 0.1]), np.array([1, 0, 1], np.int8))
    >>> round(ranked_average_precision_11_points(ranked), 6)
    0.848485
    """
    return average_precision_11_points(ranked.outcomes, ranked.positives)


def roc_auc(ranked: RankedPredictions) -> float:
    """The measure of 2006, `auc`.

    >>> ranked = RankedPredictions("car", 2, np.arange(3), np.array([0.9, 0.5, 0.1]), np.array([1, 0, 1], np.int8))
    >>> roc_auc(ranked)
    0.5
    """
    return auc(roc(ranked.outcomes, ends_of_ties(ranked.confidence)))
