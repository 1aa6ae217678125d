"""The bootstrap of classification and action classification."""

from collections.abc import Iterable, Sequence

import numpy as np

from scoring.data.arrays import Integers
from scoring.data.matches import RankedPredictions
from scoring.metrics.ranking import TRUE_POSITIVE
from scoring.tasks.ranking.rules import LabelRules
from scoring.tasks.resampling import RankingSample, as_table


def sample_of_labels(
    rankings: Sequence[RankedPredictions], images: Sequence[str], rules: LabelRules
) -> RankingSample:
    """Rankings with their positives in each of these images."""
    positives = count_positives_by_image(rankings, len(images))
    return RankingSample(rankings, positives, rules.measure.weighted, rules.average, images)


def count_positives_by_image(rankings: Iterable[RankedPredictions], images: int) -> Integers:
    """The positives of each class in each image, int32 (classes, images), where every image or person is ranked.

    >>> ranking = RankedPredictions("cat", 1, np.array([2, 0], np.int32), np.array([0.9, 0.5]),
    ...     np.array([1, 0], np.int8))
    >>> count_positives_by_image([ranking], 3).tolist()
    [[0, 0, 1]]
    """
    right = (each.image[each.outcomes == TRUE_POSITIVE] for each in rankings)
    return as_table([np.bincount(image, minlength=images).astype(np.int32) for image in right], images)
