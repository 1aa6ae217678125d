"""Layouts from arrays."""

from collections.abc import Iterator

import numpy as np

from scoring.data.ground_truth import GroundTruth
from scoring.data.layouts import UNLISTED, Layouts, LayoutTable
from scoring.tasks.task import Keyed


def accepts(predictions: object) -> bool:
    """Whether these are layouts."""
    return isinstance(predictions, Layouts)


def split(predictions: Layouts, truth: GroundTruth) -> Iterator[Keyed[LayoutTable]]:
    """All layouts under the key "person"; those of persons who are not in the Layout set are not counted, as in the kits."""
    places = {person: place for place, person in enumerate(truth.lists.persons)}
    image, number = predictions.image.tolist(), predictions.person.tolist()
    persons = [(predictions.images[place], object_) for place, object_ in zip(image, number, strict=True)]
    table = LayoutTable(
        person=np.array([places.get(person, UNLISTED) for person in persons], np.int32),
        confidence=predictions.score,
        boxes=predictions.boxes,
        first=np.searchsorted(predictions.owner, np.arange(len(predictions) + 1)),
        kind=predictions.kind,
        parts=predictions.parts,
    )
    yield Keyed("person", table)
