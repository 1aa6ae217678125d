"""Entries of packs as what is drawn."""

import json
import zlib
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, Final

from app.overlays.schemas import (
    Box,
    ClassExamples,
    ClassHardImages,
    DrawnObject,
    DrawnPrediction,
    ExampleView,
    HardImage,
    Part,
    Predictions,
    Truth,
)

RECIPE: Final = "1"  # grows with every change of what is drawn
SORTS: Final = ("true_positives", "near_misses", "false_positives", "missed")

Entry = Mapping[str, Any]


def version_of(names: Sequence[str]) -> str:
    """The version of what is drawn over these images in this order.

    >>> version_of(["a", "b"]) == version_of(["b", "a"])
    False
    """
    return sha256("\n".join([RECIPE, *names]).encode()).hexdigest()[:24]


def entry_of(part: bytes, name: str) -> Entry | None:
    """The entry of an image; none where it is of another one, because the images have changed since.

    >>> entry_of(zlib.compress(b'{"image": "a"}'), "a"), entry_of(b"", "a")
    ({'image': 'a'}, None)
    """
    if not part:
        return None
    entry: Entry = json.loads(zlib.decompress(part))
    return entry if entry["image"] == name else None


def truth_of(entry: Entry) -> Truth:
    """The annotation of an image."""
    return Truth(
        tuple(
            DrawnObject(
                each["number"],
                each["name"],
                _box(each["box"]),
                each["difficult"],
                _parts(each["parts"]),
                tuple(each["actions"]),
            )
            for each in entry.get("objects", ())
        ),
        entry["labels"],
    )


def predictions_of(entry: Entry, truth: Truth | None) -> Predictions:
    """The predictions of a run in an image, best first; a person's box is that of the annotation."""
    persons = {each.number: each.box for each in truth.objects} if truth else {}
    found = [
        *(
            DrawnPrediction(name, confidence, _box(box), outcome)
            for name, confidence, box, outcome in entry.get("boxes", ())
        ),
        *(
            DrawnPrediction(name, confidence, None, outcome)
            for name, confidence, outcome in entry.get("classes", ())
        ),
        *(
            DrawnPrediction(action, confidence, persons.get(number), None, number)
            for number, action, confidence in entry.get("actions", ())
        ),
        *(
            DrawnPrediction("person", confidence, persons.get(number), None, number, _parts(parts))
            for number, confidence, parts in entry.get("layouts", ())
        ),
    ]
    found.sort(key=lambda each: -each.confidence)
    return Predictions(tuple(found), entry["labels"])


def shown(
    predictions: Sequence[DrawnPrediction], threshold: float | None, most: int
) -> tuple[DrawnPrediction, ...]:
    """The predictions that are at least so confident, or without a threshold the first of them.

    >>> both = [DrawnPrediction("cat", 0.9, None, 1), DrawnPrediction("dog", 0.2, None, 0)]
    >>> [each.name for each in shown(both, 0.5, 1)], [each.name for each in shown(both, None, 1)]
    (['cat'], ['cat'])
    """
    if threshold is None:
        return tuple(predictions[:most])
    return tuple(each for each in predictions if each.confidence >= threshold)


def examples_of(content: bytes) -> tuple[ClassExamples, ...]:
    """The examples of each class of a run."""
    return tuple(
        ClassExamples(each["class_name"], *(tuple(map(_example, each[sort])) for sort in SORTS))
        for each in json.loads(content)
    )


def hard_images_of(content: bytes) -> tuple[ClassHardImages, ...]:
    """The hard images of each class of a board."""
    return tuple(
        ClassHardImages(
            each["class_name"],
            *(tuple(map(_hard_image, each[sort])) for sort in ("easiest", "hardest", "confusing")),
        )
        for each in json.loads(content)
    )


def _hard_image(plain: Entry) -> HardImage:
    [(kind, value)] = ((key, each) for key, each in plain.items() if key != "image")
    return HardImage(plain["image"], kind, value)


def _example(plain: Entry) -> ExampleView:
    box = plain["box"]
    return ExampleView(**{**plain, "box": _box(box) if box else None})


def _parts(plain: Sequence[Any]) -> tuple[Part, ...]:
    return tuple(Part(kind, _box(box)) for kind, box in plain)


def _box(edges: Sequence[float]) -> Box:
    left, top, right, bottom = edges
    return left, top, right, bottom
