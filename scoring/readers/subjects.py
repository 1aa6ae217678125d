"""What classification files rank: the images of a set, or persons in them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from scoring.data.arrays import Integers
from scoring.data.description import Description
from scoring.errors import shown

if TYPE_CHECKING:
    import polars as pl

Keys = NDArray[np.int64]

_NAME: Final = re.compile(r"[!-~]+")


@dataclass(frozen=True, slots=True, eq=False)
class Subjects:
    """The images or persons that a file should have one line each for; created once for all files.

    kind and where: "image" or "person", and the set, for messages; fields: the names of the fields that identify one in a
    line; places: the place in the set by these fields; images: all images that occur; words: the fields' column types;
    keys and order: the sorted keys that `find` searches, and their places.
    """

    kind: str
    where: str
    fields: tuple[str, ...]
    places: Mapping[tuple[bytes, ...], int]
    images: frozenset[bytes]
    words: tuple[pl.Enum, ...]
    keys: Keys
    order: Integers

    @classmethod
    def of(cls, kind: str, where: str, names: Mapping[str, Iterable[str]]) -> Self:
        """The subjects in their order; names: for each field its values for all of them.

        Raises ValueError for an image that no line can name.
        """
        names = {field: tuple(column) for field, column in names.items()}
        check_names(names["image"])
        columns = list(names.values())
        numbers = [{word: number for number, word in enumerate(dict.fromkeys(column))} for column in columns]
        import polars as pl  # noqa: PLC0415 - polars takes longer to import than all of `scoring`

        words = tuple(pl.Enum(list(known)) for known in numbers)
        codes = [
            np.array([known[word] for word in column], np.int64)
            for known, column in zip(numbers, columns, strict=True)
        ]
        keys = _keys(codes, words)
        order = np.argsort(keys).astype(np.int32)
        written = zip(*([word.encode() for word in column] for column in columns), strict=True)
        places = {name: place for place, name in enumerate(written)}
        images = frozenset(image for image, *_ in places)
        return cls(kind, where, tuple(names), places, images, words, keys[order], order)

    def __len__(self) -> int:
        """The number of subjects."""
        return len(self.places)

    def find(self, columns: Sequence[NDArray[Any]]) -> Integers | None:
        """The places of the subjects in the columns, which hold each field's number in `words`; None if one is unknown."""
        places, known = self.search(columns)
        return places if known.all() else None

    def search(self, columns: Sequence[NDArray[Any]]) -> tuple[Integers, NDArray[np.bool_]]:
        """The places of the subjects in the columns, and which are known; an arbitrary place for the others."""
        keys = _keys(columns, self.words)
        if len(self.fields) == 1:  # every word is somebody's name
            return self.order[keys], np.ones(len(keys), np.bool_)
        found = np.searchsorted(self.keys[:-1], keys)  # the last one is where every larger key ends, too
        return self.order[found], self.keys[found] == keys


def check_names(images: Iterable[str]) -> None:
    """Raise ValueError for an image whose name cannot stand in a line of a result file.

    >>> check_names(["2008_000008"])
    """
    for image in images:
        if not _NAME.fullmatch(image):
            raise ValueError(
                f"no line of a result file can name the image '{shown(image)}': names there are of ASCII characters without"
                " blanks; rename it, or evaluate arrays instead of files"
            )


def images_of(description: Description) -> Subjects:
    """The images of the Main set."""
    where = f"the set {description.dataset} {description.image_set}"
    return Subjects.of("image", where, {"image": (image.id for image in description.images)})


def persons_of(description: Description) -> Subjects:
    """The persons of the Action set, whose images need not be in the Main set.

    >>> persons = persons_of(Description("VOC2012", "val", (), (), (), acting=(("2008_000008", 2),)))
    >>> persons.places[b"2008_000008", b"2"]
    0
    """
    where = f"the Action set of {description.dataset} {description.image_set}"
    names = {
        "image": (image for image, _ in description.acting),
        "object": (str(number) for _, number in description.acting),
    }
    return Subjects.of("person", where, names)


def _keys(columns: Sequence[NDArray[Any]], words: Sequence[pl.Enum]) -> Keys:
    """One integer for each combination."""
    keys = columns[0].astype(np.int64)
    for column, known in zip(columns[1:], words[1:], strict=True):
        keys = keys * len(known.categories) + column
    return keys
