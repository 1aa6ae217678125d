"""The bootstrap of person layout."""

from collections.abc import Sequence

import numpy as np

from scoring.data.ground_truth import GroundTruth
from scoring.data.matches import RankedPredictions
from scoring.data.tables import PARTS
from scoring.metrics.persons import persons_of_layout_set
from scoring.tasks.layout.rules import LayoutRules
from scoring.tasks.resampling import RankingSample, as_table, only_images


def resample(rankings: Sequence[RankedPredictions], truth: GroundTruth, rules: LayoutRules) -> RankingSample:
    """The ranked parts or persons, drawn by the images of the Layout set."""
    people, images = persons_of_layout_set(truth), len(truth.lists.images)
    parts = {name: people.parts_of(kind) for kind, name in enumerate(PARTS)}
    lines = np.repeat(np.arange(len(people.image)), people.persons.count)
    positives = []
    for ranking in rankings:
        if ranking.class_name in parts:
            image = np.repeat(people.image[lines], parts[ranking.class_name].count)
        else:
            image = people.image[lines[~people.persons.difficult]]
        positives.append(np.bincount(image, minlength=images).astype(np.int32))
    table = as_table(positives, images)
    sample = RankingSample(rankings, table, rules.measure.weighted, rules.average, truth.lists.images)
    return only_images(sample, truth, [image for image, _ in truth.lists.persons])
