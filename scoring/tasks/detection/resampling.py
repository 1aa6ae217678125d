"""The bootstrap of detection."""

from collections.abc import Sequence

import numpy as np

from scoring.data.arrays import Integers
from scoring.data.ground_truth import GroundTruth
from scoring.data.matches import RankedPredictions
from scoring.metrics.matching import ClassObjects
from scoring.tasks.detection.rules import DetectionRules
from scoring.tasks.detection.scoring import load
from scoring.tasks.resampling import RankingSample, as_table


def resample(
    rankings: Sequence[RankedPredictions], truth: GroundTruth, rules: DetectionRules
) -> RankingSample:
    """The ranked detections, drawn by the images of the Main set."""
    ground_truth = load(truth)
    positives = [
        count_objects_by_image(rules.select_positives(ground_truth[each.class_name])) for each in rankings
    ]
    images = truth.lists.images[: truth.lists.main]
    table = as_table(positives, len(images))
    return RankingSample(rankings, table, rules.measure.weighted, rules.average, images, rules.pool)


def count_objects_by_image(ground_truth: ClassObjects) -> Integers:
    """The objects of a class in each image that are not difficult, int32 (images,).

    >>> count, difficult = np.array([0, 2], np.int32), np.array([True, False])
    >>> count_objects_by_image(ClassObjects(count, count, np.ones((2, 4)), difficult, ~difficult)).tolist()
    [0, 1]
    """
    image = np.repeat(np.arange(len(ground_truth.count)), ground_truth.count)
    return np.bincount(image[~ground_truth.difficult], minlength=len(ground_truth.count)).astype(np.int32)
