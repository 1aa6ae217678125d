"""The bootstrap of classification."""

from collections.abc import Sequence

from scoring.data.ground_truth import GroundTruth
from scoring.data.matches import RankedPredictions
from scoring.tasks.ranking.resampling import sample_of_labels
from scoring.tasks.ranking.rules import LabelRules
from scoring.tasks.resampling import RankingSample


def resample(rankings: Sequence[RankedPredictions], truth: GroundTruth, rules: LabelRules) -> RankingSample:
    """The ranked images of the Main set."""
    return sample_of_labels(rankings, truth.lists.images[: truth.lists.main], rules)
