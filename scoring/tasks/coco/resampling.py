"""The bootstrap of COCO's figures."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from scoring.data.arrays import Floats, Integers
from scoring.data.ground_truth import GroundTruth
from scoring.data.matches import RankedPredictions
from scoring.metrics.averaging import mean_of_classes_with_a_value
from scoring.metrics.coco.arrays import EVERY_SIZE, CocoRules
from scoring.metrics.weighting import Runs, Weights, weighted_average_precision_at
from scoring.tasks.coco.truth import load_boxes
from scoring.tasks.resampling import RankingSample, as_table


def resample(rankings: Sequence[RankedPredictions], truth: GroundTruth, rules: CocoRules) -> RankingSample:
    """The ranked detections at each threshold, drawn by image; the headline is the mean of the classes drawn."""
    objects = load_boxes(truth).instances.objects
    _, low, high = rules.areas[EVERY_SIZE]
    counts = ~objects.crowd & (objects.area >= low) & (objects.area <= high)
    labels = {name: label for label, name in enumerate(truth.lists.classes)}
    images = truth.lists.main
    positives = [
        np.bincount(
            objects.image[counts & (objects.label == labels[each.class_name])], minlength=images
        ).astype(np.int32)
        for each in rankings
    ]
    return RankingSample(
        [part for each in rankings for part in _by_threshold(each)],
        as_table(positives, images),
        partial(_weighted, rules.recalls),
        mean_of_classes_with_a_value,
        truth.lists.images[:images],
        together=len(rules.iou_thresholds),
    )


def _by_threshold(ranking: RankedPredictions) -> Iterator[RankedPredictions]:
    yield ranking
    for outcomes in () if ranking.further is None else ranking.further.T:
        yield replace(ranking, outcomes=outcomes)


def _weighted(
    recalls: Floats, ranking: RankedPredictions, positives: Integers
) -> Callable[[Weights], Floats]:
    runs = Runs.of(ranking.image, ranking.outcomes, positives)
    return lambda weights: weighted_average_precision_at(runs.steps(weights), recalls)
