"""Detections from arrays, class by class."""

from collections.abc import Iterator

import numpy as np

from scoring.data.detections import ClassDetections, Detections
from scoring.data.ground_truth import GroundTruth
from scoring.tasks.matching_names import places_of
from scoring.tasks.task import Keyed


def accepts(predictions: object) -> bool:
    """Whether these are detections."""
    return isinstance(predictions, Detections)


def split(predictions: Detections, truth: GroundTruth) -> Iterator[Keyed[ClassDetections]]:
    """The detections of every class of the ground truth, also of classes that have none.

    Raises DataError for detections in an image, or of a class, that the ground truth does not have.
    """
    lists = truth.lists
    image = places_of("image", predictions.image, predictions.images, lists.images[: lists.main])
    label = places_of("class", predictions.label, predictions.classes, lists.classes)
    convention = predictions.convention or truth.tables.convention
    order = np.argsort(label, kind="stable")
    ends = np.searchsorted(label[order], np.arange(len(lists.classes) + 1))
    for number, name in enumerate(lists.classes):
        rows = order[ends[number] : ends[number + 1]]
        found = ClassDetections(image[rows], predictions.score[rows], predictions.boxes[rows], convention)
        yield Keyed(name, found)
