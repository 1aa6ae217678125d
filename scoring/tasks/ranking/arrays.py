"""Confidences from arrays, class by class or action by action."""

from collections.abc import Iterator, Sequence

import numpy as np

from scoring.data.arrays import Integers
from scoring.data.checking import DataError, some_of
from scoring.data.confidences import ClassConfidences, Confidences
from scoring.data.ground_truth import GroundTruth
from scoring.tasks.matching_names import assert_once, places_of
from scoring.tasks.task import Keyed


def accepts_images(predictions: object) -> bool:
    """Whether these are confidences of images."""
    return isinstance(predictions, Confidences) and predictions.person is None


def accepts_persons(predictions: object) -> bool:
    """Whether these are confidences of persons."""
    return isinstance(predictions, Confidences) and predictions.person is not None


def split_images(predictions: Confidences, truth: GroundTruth) -> Iterator[Keyed[ClassConfidences]]:
    """The confidences of every class that has some.

    Raises DataError for an image or class that the ground truth does not have, and for two confidences of one of them.
    """
    lists = truth.lists
    image = places_of("image", predictions.image, predictions.images, lists.images[: lists.main])
    yield from _by_class(predictions, image, "image", lists.classes)


def split_persons(predictions: Confidences, truth: GroundTruth) -> Iterator[Keyed[ClassConfidences]]:
    """The confidences of every action that has some.

    Raises DataError for a person or action that the ground truth does not have, and for two confidences of one of them.
    """
    if predictions.person is None:
        raise DataError("expected the number of a person in each row, found confidences of images")
    places = {person: place for place, person in enumerate(truth.lists.acting)}
    persons = [
        (predictions.images[image], number)
        for image, number in zip(predictions.image.tolist(), predictions.person.tolist(), strict=True)
    ]
    if unknown := [f"{image} {number}" for image, number in persons if (image, number) not in places]:
        raise DataError(f"the ground truth has no person {some_of(unknown)}")
    place = np.array([places[person] for person in persons], np.int32)
    yield from _by_class(predictions, place, "person", truth.lists.actions)


def _by_class(
    predictions: Confidences, subject: Integers, kind: str, classes: Sequence[str]
) -> Iterator[Keyed[ClassConfidences]]:
    label = places_of("class", predictions.label, predictions.classes, classes)
    assert_once({kind: subject, "class": label})
    for number, name in enumerate(classes):
        rows = np.flatnonzero(label == number)
        if len(rows):
            yield Keyed(name, ClassConfidences(subject[rows], predictions.score[rows]))
