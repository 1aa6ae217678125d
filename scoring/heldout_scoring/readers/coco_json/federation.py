"""What LVIS adds to COCO's annotation: classes that are not in an image, or not annotated throughout, and their frequency."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from ...data.arrays import Integers
from ...data.tables import Federation
from ...errors import Rule
from .fields import Entries, Identifiers, numbers_of, written

_NEGATIVE: Final = "neg_category_ids"
_INEXHAUSTIVE: Final = "not_exhaustive_category_ids"
_FREQUENCIES: Final[Mapping[Any, int]] = {"r": 0, "c": 1, "f": 2}


def read_federation(
    images: Entries, image_ids: Identifiers, categories: Entries, category_ids: Identifiers
) -> Federation | None:
    """The fields `neg_category_ids` and `not_exhaustive_category_ids` of every image and `frequency` of every category.

    image_ids, category_ids: in rising order. None where no image says which categories are not in it, not even that it is none of
    them; a problem for each field that is wrong or missing, since lvis reads both lists of every image.

    >>> from heldout_scoring.errors import Problems
    >>> image = {"id": 3, "neg_category_ids": [7], "not_exhaustive_category_ids": []}
    >>> images = Entries([image], "images", "instances.json", Problems())
    >>> categories = Entries([{"id": 7, "frequency": "c"}], "categories", "instances.json", Problems())
    >>> read_federation(images, np.array([3]), categories, np.array([7])).negative.tolist()
    [[0, 0]]
    """
    if not any(_NEGATIVE in image for image in images.values):
        return None
    frequency = np.array([_frequency(value) for value in categories.column("frequency")], np.int8)
    for index in np.flatnonzero((frequency < 0) & categories.objects).tolist():
        value = categories.values[index].get("frequency")
        message = Rule("expected 'r', 'c' or 'f' as 'frequency', found {}", written(value))
        categories.say(index, "bad-frequency", message, written(value), "'r', 'c' or 'f'")
    order = np.argsort(categories.wholes("id"), kind="stable")
    place = numbers_of(images.wholes("id"), image_ids)
    negative, inexhaustive = (
        _pairs(images, name, place, category_ids) for name in (_NEGATIVE, _INEXHAUSTIVE)
    )
    return Federation(negative, inexhaustive, frequency[order])


def _frequency(value: Any) -> int:
    return _FREQUENCIES.get(value, -1) if isinstance(value, str) else -1


def _pairs(images: Entries, name: str, place: Integers, category_ids: Identifiers) -> Integers:
    """Pairs of an image and each category in its list: int32 (k, 2)."""
    known = {number: label for label, number in enumerate(category_ids.tolist())}
    pairs: list[tuple[int, int]] = []
    for index, listed in enumerate(images.column(name)):
        if name not in images.values[index]:
            images.say(index, "missing-field", Rule(f"'{name}' is missing"), expected="a list of categories")
            continue
        if not isinstance(listed, list) or not all(type(each) is int for each in listed):
            message = Rule(f"expected a list of category ids as '{name}', found {{}}", written(listed))
            images.say(index, "bad-list", message, written(listed), "a list of categories")
            continue
        unknown = [number for number in listed if number not in known]
        if unknown:
            message = Rule(f"'{name}' has {{}}, which is none of the {len(known)} categories", unknown[0])
            images.say(
                index, "unknown-category", message, str(unknown[0]), f"one of the {len(known)} categories"
            )
        pairs += [(int(place[index]), known[number]) for number in listed if number in known]
    return np.array(pairs, np.int32).reshape(-1, 2)
