"""The bootstrap of action classification."""

from collections.abc import Sequence

from scoring.data.ground_truth import GroundTruth
from scoring.data.matches import RankedPredictions
from scoring.tasks.ranking.resampling import sample_of_labels
from scoring.tasks.ranking.rules import LabelRules
from scoring.tasks.resampling import RankingSample, only_images


def resample(rankings: Sequence[RankedPredictions], truth: GroundTruth, rules: LabelRules) -> RankingSample:
    """The ranked persons, drawn by the images of the Action set."""
    sample = sample_of_labels(rankings, truth.lists.images, rules)
    return only_images(sample, truth, [image for image, _ in truth.lists.acting])
