"""The images or persons that results are about, indexed by name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from ..data.arrays import Flags, Integers
from ..data.description import Description, Image
from ..data.layouts import LayoutSet
from ..errors import DataError, from_extra, shown
from .coco_json.fields import CocoNumbers

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """Different words in their order.

    Columns of this list's type hold places instead of words. Unlike an `Enum`, which the reader of tables prepares anew
    for every file, the list is prepared once; it lives as long as this column does, and takes in unknown words after
    its own, which `places` tells.
    """

    column: pl.Series

    @classmethod
    def of(cls, words: Iterable[str]) -> Self:
        """The list of these words.

        >>> import polars as pl
        >>> cats = Words.of(["cat", "tiger"])
        >>> cats.places(pl.Series(["tiger", "cat"], dtype=cats.type))
        array([1, 0], dtype=int32)
        >>> cats.places(pl.Series(["dog"], dtype=cats.type)) is None
        True
        """
        with from_extra("files"):
            import polars as pl  # noqa: PLC0415 - polars takes longer to import than the whole library

        column = pl.Series(list(words), dtype=pl.String).cast(pl.Categorical(pl.Categories.random()))
        assert np.array_equal(column.to_physical().to_numpy(), np.arange(len(column))), (
            "polars numbers otherwise"
        )
        return cls(column)

    def __len__(self) -> int:
        """How many words there are."""
        return len(self.column)

    @property
    def type(self) -> pl.DataType:
        """The type of a column of these words, for a schema."""
        return self.column.dtype

    def places(self, column: pl.Series) -> Integers | None:
        """The places of a column's words in the list, int32 (n,); None if one is not in it."""
        places = column.to_physical().to_numpy()
        if len(places) and int(places.max()) >= len(self):
            return None
        return places.view(np.int32)

    def known_places(self, column: pl.Series) -> tuple[Integers, NDArray[np.bool_]]:
        """The places of a column's words in the list, int32 (n,), 0 for unknown ones, and which are known, bool (n,)."""
        places = column.to_physical().fill_null(len(self)).to_numpy()
        known: NDArray[np.bool_] = places < len(self)
        return np.where(known, places, 0).astype(np.int32), known


Keys = NDArray[np.int64]

_NAME: Final = re.compile(r"[!-~]+")
_NAMES: Final = re.compile(r"[!-~]+(?:\n[!-~]+)*")


@dataclass(frozen=True, eq=False)
class Subjects:
    """The images or persons that a file should have one line each for; created once for all files.

    kind and where: "image" or "person", and the set, for messages; fields: the names of the fields that identify one in a
    line; columns: for each field its values for all of them; images: all images that occur; words: the fields' column
    types; keys and order: the sorted keys that `find` searches, and their places.
    """

    kind: str
    where: str
    fields: tuple[str, ...]
    columns: Sequence[Sequence[str]]
    images: frozenset[bytes]
    words: tuple[Words, ...]
    keys: Keys
    order: Integers

    @classmethod
    def of(cls, kind: str, where: str, names: Mapping[str, Iterable[str]]) -> Self:
        """The subjects in their order; names: for each field its values for all of them, that of the image first.

        Raises DataError for an image that no line can name.
        """
        columns = [tuple(column) for column in names.values()]
        check_names(columns[0])
        different = [dict.fromkeys(column) for column in columns]
        words = tuple(map(Words.of, different))
        numbers = [dict(zip(each, range(len(each)), strict=True)) for each in different]
        codes = [
            np.fromiter(map(known.__getitem__, column), np.int64, len(column))
            for known, column in zip(numbers, columns, strict=True)
        ]
        keys = _keys(codes, words)
        order = np.argsort(keys).astype(np.int32)
        images = frozenset(as_written(tuple(different[0])))
        return cls(kind, where, tuple(names), columns, images, words, keys[order], order)

    def __len__(self) -> int:
        """The number of subjects."""
        return int(np.count_nonzero(np.diff(self.keys, prepend=-1)))

    @cached_property
    def places(self) -> Mapping[tuple[bytes, ...], int]:
        """The place of each subject in the set by its fields, which only lines that may be invalid are looked up by."""
        return {name: place for place, name in enumerate(zip(*map(as_written, self.columns), strict=True))}

    def types(self) -> Mapping[str, pl.DataType]:
        """The type of each field's column, for a schema."""
        return {name: words.type for name, words in zip(self.fields, self.words, strict=True)}

    def find(self, table: pl.DataFrame) -> Integers | None:
        """The places of the subjects in the rows, whose fields are of `types`: int32 (n,); None if one is unknown."""
        columns = []
        for name, words in zip(self.fields, self.words, strict=True):
            column = words.places(table[name])
            if column is None:
                return None
            columns.append(column)
        places, known = self._search(columns)
        return places if known.all() else None

    def search(self, table: pl.DataFrame) -> tuple[Integers, Flags]:
        """The places of the subjects in the rows, int32 (n,), and which are known, bool (n,); others have any place."""
        columns = [
            words.known_places(table[name]) for name, words in zip(self.fields, self.words, strict=True)
        ]
        places, found = self._search([column for column, _ in columns])
        return places, np.logical_and.reduce([found, *(known for _, known in columns)])

    def _search(self, columns: Sequence[Integers]) -> tuple[Integers, Flags]:
        keys = _keys(columns, self.words)
        if len(self.fields) == 1:  # every word is the name of a subject
            return self.order[keys], np.ones(len(keys), np.bool_)
        found = np.searchsorted(self.keys[:-1], keys)  # the last one is where every larger key ends, too
        return self.order[found], self.keys[found] == keys


def check_names(images: Iterable[str]) -> None:
    """Raise DataError for an image whose name cannot stand in a line of a result file.

    >>> check_names(["2008_000008"])
    """
    images = tuple(images)
    together = "\n".join(images)
    if not images or (_NAMES.fullmatch(together) and together.count("\n") == len(images) - 1):
        return
    wrong = next(image for image in images if not _NAME.fullmatch(image))
    raise DataError(
        f"no line of a result file can name the image '{shown(wrong)}': names there are of ASCII characters without"
        " blanks; rename it, or evaluate arrays instead of files"
    )


def as_written(names: Sequence[str]) -> list[bytes]:
    """ASCII names without line feeds as bytes.

    >>> as_written(["a", "b"])
    [b'a', b'b']
    """
    return "\n".join(names).encode().split(b"\n") if names else []


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
    images = [image for image, _ in description.acting]
    numbers = [str(number) for _, number in description.acting]
    return Subjects.of("person", where, {"image": images, "object": numbers})


def _keys(columns: Sequence[NDArray[Any]], words: Sequence[Words]) -> Keys:
    """One integer for each combination."""
    keys = columns[0].astype(np.int64)
    for column, known in zip(columns[1:], words[1:], strict=True):
        keys = keys * len(known) + column
    return keys


@dataclass(frozen=True, eq=False)
class ImageIndex:
    """The images of a description, indexed once for all result files, and how long these may be.

    Each task uses its own part, which is computed when it is first used.
    """

    description: Description
    max_lines: int | None = None

    @classmethod
    def of(cls, description: Description, *, max_lines: int | None = None) -> Self:
        """The index of a description's images; max_lines: of one result file, None for any number."""
        return cls(description, max_lines)

    @property
    def title(self) -> str:
        """The dataset and image set, for messages."""
        return f"{self.description.dataset} {self.description.image_set}"

    @property
    def images(self) -> tuple[Image, ...]:
        """The images of the Main set."""
        return self.description.images

    @property
    def classes(self) -> int:
        """The number of classes."""
        return len(self.description.classes)

    @cached_property
    def places(self) -> Mapping[bytes, int]:
        """The place of each image in the Main set. Raises DataError for one that no line of a result file can name."""
        names = [image.id for image in self.images]
        check_names(names)
        return dict(zip(as_written(names), range(len(names)), strict=True))

    def require_names(self) -> None:
        """Raise DataError for an image of the Main set that no line of a result file can name; checked once."""
        _ = self.places

    @cached_property
    def known(self) -> frozenset[bytes]:
        """The names of the images of the Main set."""
        return frozenset(self.places)

    @cached_property
    def sizes(self) -> NDArray[np.float64]:
        """Width and height in pixels of the images of the Main set, float64 (images, 2)."""
        columns = [image.width for image in self.images], [image.height for image in self.images]
        return np.array(columns, np.float64).T

    @cached_property
    def names(self) -> Words:
        """The images of the Main set as a column type for the CSV parser."""
        return Words.of(image.id for image in self.images)

    @cached_property
    def main(self) -> Subjects:
        """The images that classification ranks."""
        return images_of(self.description)

    @cached_property
    def acting(self) -> Subjects:
        """The persons that action classification ranks."""
        return persons_of(self.description)

    @cached_property
    def persons(self) -> LayoutSet:
        """The persons of the Layout set."""
        return LayoutSet.of(self.description)

    @cached_property
    def numbers(self) -> CocoNumbers:
        """What COCO's files call images and classes."""
        return CocoNumbers.of(self.description)

    @cached_property
    def anywhere(self) -> Mapping[str, Image]:
        """The images of every set by name, except those of unknown size."""
        everyone = self.images + self.description.further
        return {image.id: image for image in everyone if image.has_size}
