"""The bootstrap of segmentation."""

from scoring.data.ground_truth import GroundTruth
from scoring.data.matches import ImageCounts
from scoring.tasks.resampling import PixelSample
from scoring.tasks.segmentation.rules import SegmentationRules


def resample(counts: ImageCounts, truth: GroundTruth, rules: SegmentationRules) -> PixelSample:
    """The pixel counts of the images of the Segmentation set."""
    return PixelSample(counts, rules.measure.of, rules.average, truth.lists.segmentation)
