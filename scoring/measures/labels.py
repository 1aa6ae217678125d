"""Images and persons in the order of their confidence, and what such a ranking is worth."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from scoring.answers import RankedAnswers
from scoring.arrays import Integers, Labels
from scoring.formats.confidences import Confidences
from scoring.measures.ranking import (
    IGNORED,
    RIGHT,
    WRONG,
    average_precision,
    average_precision_at_levels,
    rank,
)
from scoring.measures.roc import area_under_roc, ends_of_ties, roc

Value = Callable[[RankedAnswers], float]
"""What a ranking is worth; NaN where the kit's number is."""

_VERDICTS: Final = np.array([IGNORED, RIGHT, WRONG], np.int8)  # of the labels 0, 1 and -1


@dataclass(frozen=True, slots=True, eq=False)
class Labelled:
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


def rank_labelled(name: str, answers: Confidences, known: Labelled) -> RankedAnswers:
    """Every row, the surest first; equal confidences keep the order of the rows, whatever the order of the answers.

    Of several answers for one subject the last counts. A subject without any ranks behind all others, with a confidence of
    -inf; answers for subjects that have no row are left out. Source: VOC2012 development kit, VOCevalcls.m.

    >>> known = Labelled(3, np.arange(3), np.arange(3), np.array([1, -1, 1], np.int8))
    >>> rank_labelled("car", Confidences(np.array([2, 1, 2]), np.array([0.1, 0.5, 0.9])), known).image.tolist()
    [2, 1, 0]
    """
    said = np.full(known.subjects, -np.inf)
    said[answers.subject] = answers.confidence  # of several assignments to one place the last one stays
    confidence = said[known.subject]
    order = rank(confidence)
    verdicts = _VERDICTS[known.label[order]]
    return RankedAnswers(name, known.positives, known.image[order], confidence[order], verdicts)


def with_difficult(ranked: RankedAnswers) -> RankedAnswers:
    """The ranking if what is ignored were right: images with difficult objects only count like those with others.

    >>> ranked = RankedAnswers("car", 1, np.arange(3), np.array([0.9, 0.5, 0.1]), np.array([-1, 1, 0], np.int8))
    >>> with_difficult(ranked).positives, with_difficult(ranked).verdicts.tolist()
    (2, [1, 1, 0])
    """
    verdicts = np.where(ranked.verdicts == IGNORED, np.int8(RIGHT), ranked.verdicts)
    return replace(ranked, positives=int(np.count_nonzero(verdicts == RIGHT)), verdicts=verdicts)


def precision_over_every_recall(ranked: RankedAnswers) -> float:
    """The measure of 2010 to 2012, `average_precision`.

    >>> ranked = RankedAnswers("car", 2, np.arange(3), np.array([0.9, 0.5, 0.1]), np.array([1, 0, 1], np.int8))
    >>> round(precision_over_every_recall(ranked), 6)
    0.833333
    """
    return average_precision(ranked.verdicts, ranked.positives)


def precision_at_eleven_recalls(ranked: RankedAnswers) -> float:
    """The measure of 2007 to 2009, `average_precision_at_levels`.

    >>> ranked = RankedAnswers("car", 2, np.arange(3), np.array([0.9, 0.5, 0.1]), np.array([1, 0, 1], np.int8))
    >>> round(precision_at_eleven_recalls(ranked), 6)
    0.848485
    """
    return average_precision_at_levels(ranked.verdicts, ranked.positives)


def area_below_found(ranked: RankedAnswers) -> float:
    """The measure of 2006, `area_under_roc`.

    >>> ranked = RankedAnswers("car", 2, np.arange(3), np.array([0.9, 0.5, 0.1]), np.array([1, 0, 1], np.int8))
    >>> area_below_found(ranked)
    0.5
    """
    return area_under_roc(roc(ranked.verdicts, ends_of_ties(ranked.confidence)))
