"""Annotation in the form of COCO: one JSON file with images, categories and boxes."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from scoring.data.annotations import AnnotatedObject, Annotation, Box
from scoring.data.boxes import BoxConvention
from scoring.readers.voc.annotations import LONGEST_SIDE, AnnotationError


@dataclass(frozen=True, slots=True)
class Collection:
    """The classes in the order of their numbers, and the images in the order of the file, by name."""

    classes: tuple[str, ...]
    images: Mapping[str, Annotation]


@dataclass(frozen=True, slots=True)
class _Entry:
    """An entry of one of the lists, and how a message calls it: "annotations[7]"."""

    place: str
    fields: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        if name not in self.fields:
            raise AnnotationError(f"{self.place} has no '{name}'")
        return self.fields[name]

    def number(self, name: str) -> int:
        """A whole number."""
        found = self[name]
        if isinstance(found, bool) or not isinstance(found, int):
            raise self.wrong(name, "a whole number")
        return found

    def text(self, name: str) -> str:
        """A text that is not empty."""
        found = self[name]
        if not isinstance(found, str) or not found.strip():
            raise self.wrong(name, "a text")
        return found.strip()

    def says(self, *names: str) -> bool:
        """Is one of these fields there and 1?"""
        return any(self.fields.get(name) == 1 for name in names)

    def wrong(self, name: str, expected: str) -> AnnotationError:
        return AnnotationError(f"expected {expected} as '{name}' of {self.place}, found {self[name]!r}")


def read_coco(data: bytes) -> Collection:
    """The classes, and the annotation of each image, in a JSON file of COCO.

    Boxes [x, y, width, height] become the edges x, y, x + width and y + height: they are half-open. `ignore` or `difficult`
    make an object difficult; `iscrowd` makes it difficult and a group. Images are named by their files, without
    the extension. Raises AnnotationError naming the entry for what is not JSON, a missing field, an invalid number, a
    repeated identifier or name, and a reference to an unknown identifier.

    >>> text = b'''{"images": [{"id": 1, "file_name": "000012.jpg", "width": 500, "height": 333}],
    ...   "categories": [{"id": 7, "name": "car"}],
    ...   "annotations": [{"image_id": 1, "category_id": 7, "bbox": [155, 96, 196, 174], "ignore": 0}]}'''
    >>> read_coco(text).images["000012"].objects[0].box
    Box(left=155, top=96, right=351, bottom=270)
    """
    try:
        root = json.loads(data, parse_constant=_refuse)
    except ValueError as error:
        raise AnnotationError(f"this is not JSON: {error}") from error
    classes = {entry.number("id"): entry.text("name") for entry in _entries(root, "categories", "id", "name")}
    sizes = {entry.number("id"): entry for entry in _entries(root, "images", "id")}
    objects: dict[int, list[AnnotatedObject]] = {number: [] for number in sizes}
    for entry in _entries(root, "annotations"):
        objects[_known(entry, "image_id", sizes)].append(_object(entry, classes))
    return Collection(
        tuple(name for _, name in sorted(classes.items())),
        {name: _annotation(entry, objects[entry.number("id")]) for name, entry in _named(sizes.values())},
    )


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number")


def _entries(root: Any, name: str, *unique: str) -> Iterator[_Entry]:
    """The entries of a list; no two may have the same in one of the unique fields."""
    found = root.get(name) if isinstance(root, dict) else None
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise AnnotationError(f"expected a list of entries called '{name}'")
    seen: set[tuple[str, str]] = set()
    for place, fields in enumerate(found):
        entry = _Entry(f"{name}[{place}]", fields)
        for field in unique:
            key = (field, repr(entry[field]))
            if key in seen:
                raise AnnotationError(f"'{field}' of {entry.place} is not the first with {entry[field]!r}")
            seen.add(key)
        yield entry


def _known(entry: _Entry, field: str, known: Mapping[int, Any]) -> int:
    number = entry.number(field)
    if number not in known:
        raise AnnotationError(f"'{field}' of {entry.place} is {number}, and nothing has this number")
    return number


def _object(entry: _Entry, classes: Mapping[int, str]) -> AnnotatedObject:
    return AnnotatedObject(
        name=classes[_known(entry, "category_id", classes)],
        box=_box(entry),
        difficult=entry.says("ignore", "difficult", "iscrowd"),
        truncated=entry.says("truncated"),
        occluded=entry.says("occluded"),
        group_of=entry.says("iscrowd"),
    )


def _box(entry: _Entry) -> Box:
    found = entry["bbox"]
    numbers = found if isinstance(found, list) else []
    if len(numbers) != 4 or any(isinstance(n, bool) or not isinstance(n, int | float) for n in numbers):
        raise entry.wrong("bbox", "four numbers")
    left, top, width, height = numbers
    if not (all(abs(n) <= LONGEST_SIDE for n in numbers) and width > 0 and height > 0):
        raise entry.wrong("bbox", "a box that does not end before it begins")
    return Box(left, top, left + width, top + height)


def _named(images: Iterable[_Entry]) -> Iterator[tuple[str, _Entry]]:
    """Each image by its name, which no other one may have."""
    seen: set[str] = set()
    for entry in images:
        name = PurePosixPath(entry.text("file_name")).stem
        if name in seen:
            raise AnnotationError(
                f"{entry.place} is called '{name}' like one before it: folders and endings do not count"
            )
        seen.add(name)
        yield name, entry


def _annotation(entry: _Entry, objects: list[AnnotatedObject]) -> Annotation:
    width, height = entry.number("width"), entry.number("height")
    for side, pixels in (("width", width), ("height", height)):
        if not 1 <= pixels <= LONGEST_SIDE:
            raise entry.wrong(side, "a number of pixels")
    return Annotation(width, height, tuple(objects), BoxConvention.HALF_OPEN)
