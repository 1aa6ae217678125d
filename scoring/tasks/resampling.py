"""What the bootstrap draws from: matched predictions by class, or pixel counts by image."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from scoring.data.arrays import Integers
from scoring.data.ground_truth import GroundTruth
from scoring.data.matches import ImageCounts, RankedPredictions
from scoring.metrics.averaging import Average, Pool
from scoring.metrics.confusion import PixelMeasure
from scoring.metrics.weighting import WeightedMetric


@dataclass(frozen=True, slots=True, eq=False)
class RankingSample:
    """Ranked predictions, the number of positives, int32 (classes, images), and how a value is computed from both.

    images: the names of those that are drawn from, into which the rankings' `image` counts. pool: puts all classes into one ranking whose value is the headline; None where the headline is the average.
    together: how many consecutive rankings belong to a class, whose value is the mean of theirs.
    """

    rankings: Sequence[RankedPredictions]
    positives: Integers
    weighted_metric: WeightedMetric
    average: Average
    images: Sequence[str]
    pool: Pool | None = None
    together: int = 1


@dataclass(frozen=True, slots=True, eq=False)
class PixelSample:
    """Pixel counts by image, and how a value is computed from the confusion matrix that they add up to; images: their names."""

    counts: ImageCounts
    measure: PixelMeasure
    average: Average
    images: Sequence[str]


Sample = RankingSample | PixelSample


def only_images(sample: RankingSample, truth: GroundTruth, names: Sequence[str]) -> RankingSample:
    """The sample drawn from the images of these names only, for a set that lists some of the images.

    Predictions on other images are ignored ones and are assigned to the first image.
    """
    places = {name: place for place, name in enumerate(truth.lists.images)}
    listed = np.unique([places[name] for name in names]).astype(np.intp)
    place = np.zeros(len(places), np.int32)
    place[listed] = np.arange(len(listed))
    rankings = [replace(each, image=place[each.image]) for each in sample.rankings]
    drawn = [truth.lists.images[each] for each in listed]
    return replace(sample, rankings=rankings, positives=sample.positives[:, listed], images=drawn)


def count_by_class(images_of: Iterable[Integers], classes: int, images: int) -> Integers:
    """How often each image occurs for each class: int32 (classes, images).

    images_of: of each class the image of each positive, int32 (n,); one at a time, for a thousand classes fill memory.

    >>> count_by_class([np.array([0, 2, 2])], 1, 3).tolist()
    [[1, 0, 2]]
    """
    table = np.zeros((classes, images), np.int32)
    for row, image in zip(table, images_of, strict=True):
        row[:] = np.bincount(image, minlength=images)
    return table
