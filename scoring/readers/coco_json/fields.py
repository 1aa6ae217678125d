"""Fields of JSON entries as arrays, with a problem for each that is wrong."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from scoring.data.arrays import Flags, Floats
from scoring.data.description import UNKNOWN_SIDE, Description
from scoring.data.limits import MAX_FILE_PROBLEMS
from scoring.errors import Problem, Problems, shown
from scoring.readers.coco_json.records import Table

_LARGEST: Final = 2**53
_GREATEST: Final = 1e300
_LONGEST_NAME: Final = 60  # characters of an image's name in a sentence
_FURTHEST: Final = 1e9
"""How far a coordinate may be from the image's corner, in pixels."""

Identifiers = NDArray[np.int64]


@dataclass(slots=True)
class Entries:
    """The entries of a list in a JSON file, and which of them are fit so far.

    name: of the list, "" of one that is the whole file; first: the number of the first entry, from 0; objects: bool (n,), which are JSON objects at all; fit:
    bool (n,), of which nothing wrong is known. table: the same entries as columns, `values` being empty until they are needed.
    images: the entries that `image_id` refers to.
    """

    values: Sequence[Any]
    name: str
    file: str
    problems: Problems
    first: int = 0
    table: Table | None = None
    images: "Entries | None" = None
    objects: Flags = field(init=False)
    fit: Flags = field(init=False)
    _wrong: set[tuple[int, str]] = field(default_factory=set)
    _names: Mapping[Any, Any] | None = None

    def __post_init__(self) -> None:
        if self.table is not None:
            self.objects, self.fit = np.ones((2, len(self.table)), np.bool_)
            return
        self.objects = np.array([isinstance(value, dict) for value in self.values], np.bool_)
        self.fit = self.objects.copy()
        for index in np.flatnonzero(~self.objects)[:MAX_FILE_PROBLEMS].tolist():
            value = self.values[index]
            self.say(
                index, "bad-entry", f"expected an object, found {shown(repr(value))}", value, "an object"
            )
        if not self.fit.all():
            self.values = [value if fit else {} for value, fit in zip(self.values, self.fit, strict=True)]

    def place(self, index: int) -> str:
        """How a message calls an entry: its path, and its id and image as far as it has them.

        >>> entry = {"id": 887, "image_id": 42}
        >>> Entries([entry], "annotations", "instances.json", Problems()).place(0)
        'annotations[0] (id 887, image 42)'
        """
        image = self.value(index, "image_id")
        named = self.value(index, "file_name")
        if self.images is not None and isinstance(image, int):
            named = self._file_names().get(image)
        if isinstance(named, str):
            image = shown(named, _LONGEST_NAME)
        elif _is_identifier(image):
            image = f"image {shown(str(image), _LONGEST_NAME)}"
        else:
            image = None
        own = self.value(index, "id")
        known = [f"id {shown(str(own), _LONGEST_NAME)}"] if _is_identifier(own) else []
        known += [] if image is None else [image]
        return f"{self.name}[{self.first + index}]" + (f" ({', '.join(known)})" if known else "")

    def value(self, index: int, name: str) -> Any:
        """The field of one entry; None where it is not there."""
        if self.table is not None:
            column = self.table.columns.get(name)
            return None if column is None else column[index].item()
        entry = self.values[index]
        return entry.get(name) if isinstance(entry, dict) else None

    def _file_names(self) -> Mapping[Any, Any]:
        """What the images are called that entries refer to by their numbers."""
        if self._names is None and self.images is not None:
            ids, names = self.images.column("id"), self.images.column("file_name")
            self._names = {
                number: name for number, name in zip(ids, names, strict=True) if _is_identifier(number)
            }
        return self._names or {}

    def say(
        self, index: int, code: str, message: str, found: object = None, expected: str | None = None
    ) -> None:
        """Add a problem about an entry, and count the entry as unfit."""
        self.fit[index] = False
        text = None if found is None else shown(str(found))
        self.problems.add(
            Problem(code, f"{self.place(index)}: {message}", self.file, found=text, expected=expected)
        )

    def column(self, name: str, default: Any = None) -> list[Any]:
        """The field of every entry; the default where it is not there."""
        if self.table is not None:
            self.values, self.table = self.table.rows().values, None
        return [entry.get(name, default) for entry in self.values]

    def are_one(self, name: str) -> Flags:
        """Of which entries the field is 1 or true: bool (n,)."""
        if self.table is None:
            return np.array([entry.get(name) == 1 for entry in self.values], np.bool_)
        parsed = self.table.columns.get(name)
        return np.zeros(len(self.table), np.bool_) if parsed is None else parsed == 1

    def any_has(self, name: str) -> bool:
        """Whether the field of any entry is there and not empty."""
        return self.table is None and any(map(bool, self.column(name)))

    def _check_field(
        self, name: str, column: list[Any], is_right: Callable[[Any], bool], expected: str
    ) -> None:
        for index, value in enumerate(column):
            if not self.objects[index] or is_right(value):
                continue
            self._wrong.add((index, name))
            if name in self.values[index]:
                message = f"expected {expected} as '{name}', found {shown(repr(value))}"
                self.say(index, f"bad-{name.replace('_', '-')}", message, value, expected.rstrip(","))
            else:
                self.say(index, "missing-field", f"'{name}' is missing", expected=expected.rstrip(","))

    def wholes(self, name: str, default: int | None = None) -> Identifiers:
        """Whole numbers: int64 (n,), 0 for an unfit entry. A number such as 3.0 counts as one."""
        if self.table is not None:
            parsed = self.table.columns.get(name)
            if parsed is None and default is not None:
                return np.full(len(self.table), default, np.int64)
            if parsed is not None and parsed.dtype == np.int64:
                return parsed
        column = self.column(name, default)
        if set(map(type, column)) <= {int}:
            try:
                return np.array(column, np.int64)
            except OverflowError:
                pass
        self._check_field(name, column, _is_whole, "a whole number")
        return np.array([int(value) if _is_whole(value) else 0 for value in column], np.int64)

    def numbers(self, name: str) -> Floats:
        """Numbers: float64 (n,), 0 for an unfit entry."""
        parsed = None if self.table is None else self.table.columns.get(name)
        if parsed is not None and (np.abs(parsed) <= _GREATEST).all():
            return parsed.astype(np.float64)
        column = self.column(name)
        if set(map(type, column)) <= {int, float}:
            try:
                numbers = np.array(column, np.float64)
            except OverflowError:  # a whole number of more than 300 digits
                numbers = np.array([np.inf])
            if (np.abs(numbers) <= _GREATEST).all():
                return numbers
        self._check_field(name, column, _is_number, "a number")
        return np.array([value if _is_number(value) else 0.0 for value in column], np.float64)

    def boxes(self, name: str = "bbox") -> Floats:
        """Left, top, width and height: float64 (n, 4), 0 for an unfit entry."""
        sides = [] if self.table is None else [self.table.columns.get(f"{name}.{side}") for side in range(4)]
        if sides and not any(side is None for side in sides):
            found = np.stack([side for side in sides if side is not None], axis=1)
            if _are_sound(found):
                return found
        column = self.column(name)
        if not _are_boxes(column):
            expected = "four numbers, left, top, width and height, neither of the last two below 0,"
            self._check_field(name, column, _is_box, expected)
            column = [value if _is_box(value) else (0.0, 0.0, 0.0, 0.0) for value in column]
        return np.array(column, np.float64).reshape(-1, 4)

    def texts(self, name: str) -> list[str]:
        """Texts that are not blank, "" for an unfit entry."""
        column = self.column(name)
        self._check_field(name, column, _is_text, "a text")
        return [value.strip() if _is_text(value) else "" for value in column]

    def unique(self, name: str, values: Sequence[Any]) -> None:
        """Say which entries have the same value in a field as one before."""
        if len(set(values)) == len(values):
            return
        met: set[Any] = set()
        for index, value in enumerate(values):
            if value in met and self.objects[index] and (index, name) not in self._wrong:
                self.say(
                    index, f"duplicate-{name.replace('_', '-')}", f"'{name}' is {value!r} like one before"
                )
            met.add(value)

    def known(self, name: str, values: Identifiers, ids: Identifiers, things: str) -> NDArray[np.int32]:
        """Where each value stands among identifiers: int32 (n,)."""
        places = numbers_of(values, ids)
        for index in np.flatnonzero((places < 0) & self.objects).tolist():
            if (index, name) in self._wrong:
                continue
            message = f"'{name}' is {values[index]}, which is none of the {len(ids)} {things}"
            expected = f"one of the {len(ids)} {things}"
            self.say(index, f"unknown-{name.removesuffix('_id')}", message, values[index], expected)
        return np.maximum(places, 0)


def numbers_of(values: Identifiers, ids: Identifiers) -> NDArray[np.int32]:
    """Where each value stands among identifiers in any order, -1 where it is none of them: int32 (n,).

    >>> numbers_of(np.array([7, 8]), np.array([2, 7])).tolist(), numbers_of(np.array([7, 8]), np.array([8, 2])).tolist()
    ([1, -1], [-1, 0])
    """
    if not len(ids):
        return np.full(len(values), -1, np.int32)
    order = np.argsort(ids, kind="stable")
    places = order[np.minimum(np.searchsorted(ids, values, sorter=order), len(ids) - 1)]
    return np.where(ids[places] == values, places, -1).astype(np.int32)


def _is_identifier(value: object) -> bool:
    return isinstance(value, int | str) and not isinstance(value, bool)


def _is_whole(value: object) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return bool(abs(value) <= _LARGEST and int(value) == value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _GREATEST


def _is_box(value: object) -> bool:
    if not isinstance(value, list) or len(value) != 4 or not set(map(type, value)) <= {int, float}:
        return False
    return bool(max(map(abs, value)) <= _FURTHEST and value[2] >= 0 and value[3] >= 0)


def _are_boxes(column: list[Any]) -> bool:
    """Whether all of them are boxes; False says only that one may be none."""
    if not (set(map(type, column)) <= {list} and set(map(len, column)) <= {4}):
        return False
    numbers = list(chain.from_iterable(column))
    if not set(map(type, numbers)) <= {int, float}:
        return False
    try:
        boxes = np.array(numbers, np.float64).reshape(-1, 4)
    except OverflowError:  # a whole number of more than 300 digits
        return False
    return _are_sound(boxes)


def _are_sound(boxes: Floats) -> bool:
    return bool((np.abs(boxes) <= _FURTHEST).all() and (boxes[:, 2:] >= 0).all())


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


@dataclass(frozen=True, slots=True, eq=False)
class CocoNumbers:
    """The identifiers of images and categories.

    images: int64 (images,), rising; categories: int64 (classes,), in the order of the classes; sizes: int64 (images, 2), width and height of the
    images in pixels, 0 where they are not known.
    """

    images: Identifiers
    categories: Identifiers
    sizes: Identifiers

    @classmethod
    def of(cls, description: Description) -> Self:
        """The identifiers of a description; none where it does not come from COCO's JSON.

        >>> from scoring.data.description import Image
        >>> phase = Description("COCO", "val", ("cat",), (), (Image("42", 640, 480),), class_numbers=(17,))
        >>> CocoNumbers.of(phase).images.tolist(), CocoNumbers.of(phase).categories.tolist()
        ([42], [17])
        """
        listed = description.images if description.class_numbers else ()
        sizes = np.array([(image.width, image.height) for image in listed], np.int64).reshape(-1, 2)
        return cls(
            images=np.array([int(image.id) for image in listed], np.int64),
            categories=np.array(description.class_numbers, np.int64),
            sizes=np.where(sizes == UNKNOWN_SIDE, 0, sizes),
        )
