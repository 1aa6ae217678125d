"""Predictions and targets given image by image, as models give them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoring.data.arrays import Integers
from scoring.data.checking import DataError, as_array, as_boxes, as_list, as_names, some_of

PerImage = Sequence[Any] | Mapping[Any, Any]
"""One entry for each image: in the order of the images, or by their names."""


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The entries of all images, one after the other.

    image: int32 (n,), into images; columns: the arrays of each field, joined; a field that no entry has is missing; fields: of
    the entries, whether they are read or not.
    """

    images: tuple[str, ...]
    image: Integers
    columns: Mapping[str, NDArray[Any]]
    fields: tuple[str, ...] = ()

    def column(self, name: str) -> NDArray[Any]:
        """The joined arrays of a field. Raises DataError where images have none."""
        if name not in self.columns and self.images:
            raise DataError(f"no image has '{name}'; they have {some_of(self.fields)}")
        return self.columns.get(name, np.empty(0))


def rows_of_dicts(entries: PerImage, images: Sequence[str] | None, fields: Iterable[str]) -> Rows:
    """The arrays of a mapping for each image, such as torchvision's `{"boxes": (n, 4), "scores": (n,), "labels": (n,)}`.

    images: the names of the images where the entries are a sequence, by default "0", "1" and so on. Raises DataError if an
    entry lacks a field that another one has, or if its arrays differ in length.

    >>> rows_of_dicts([{"labels": [3, 1]}, {"labels": [2]}], None, ["labels"]).image.tolist()
    [0, 0, 1]
    """
    fields = tuple(fields)
    if isinstance(entries, Mapping) and set(fields).intersection(entries):
        raise DataError("expected a list with a mapping for each image, found the mapping of a single image")
    names, listed = _by_name(entries, images)
    for place, entry in enumerate(listed):
        if not isinstance(entry, Mapping):
            raise DataError(
                f"expected a mapping for the image '{names[place]}', found {type(entry).__name__}"
            )
    present = [name for name in fields if any(name in entry for entry in listed)]
    for name in present:
        if lacking := [image for image, entry in zip(names, listed, strict=True) if name not in entry]:
            raise DataError(f"the image '{lacking[0]}' has no '{name}'")
    found = _joined(names, [{name: _field(name, entry[name]) for name in present} for entry in listed])
    return replace(found, fields=tuple(dict.fromkeys(str(key) for entry in listed for key in entry)))


def rows_of_supervision(entries: PerImage, images: Sequence[str] | None, *, confidence: bool = True) -> Rows:
    """The arrays of an object for each image that has `xyxy`, `confidence` and `class_id`, as `supervision.Detections` does.

    confidence: whether it is read. Raises DataError for an object without these, or where one that is not empty has None.

    >>> from types import SimpleNamespace
    >>> found = SimpleNamespace(xyxy=np.ones((1, 4)), confidence=np.array([0.5]), class_id=np.array([2]))
    >>> rows_of_supervision({"a": found}, None).columns["labels"].tolist()
    [2]
    """
    names, listed = _by_name(entries, images)
    fields = {"boxes": "xyxy", "scores": "confidence", "labels": "class_id"}
    if not confidence:
        del fields["scores"]
    plain = []
    for image, entry in zip(names, listed, strict=True):
        if not all(hasattr(entry, attribute) for attribute in fields.values()):
            raise DataError(
                f"expected {', '.join(fields.values())} for '{image}', found {type(entry).__name__}"
            )
        values = {name: getattr(entry, attribute) for name, attribute in fields.items()}
        is_empty = not len(entry.xyxy)
        plain.append(
            {
                name: [] if is_empty else value
                for name, value in values.items()
                if is_empty or value is not None
            }
        )
    return rows_of_dicts(plain, names, fields)


def _by_name(entries: PerImage, images: Sequence[str] | None) -> tuple[tuple[str, ...], list[Any]]:
    if isinstance(entries, Mapping):
        if images is not None:
            raise DataError("images have names already where entries are a mapping; leave `images` out")
        keys = [str(key) if isinstance(key, int | np.integer) else key for key in entries]
        return as_names("images", keys), list(entries.values())
    listed = as_list("entries", entries)
    names = tuple(map(str, range(len(listed)))) if images is None else as_names("images", images)
    if len(names) != len(listed):
        raise DataError(f"expected one entry for each image, found {len(listed)} for {len(names)} images")
    return names, listed


def _field(name: str, values: Any) -> NDArray[Any]:
    array = as_array(values)
    return as_boxes(name, array) if name == "boxes" and not array.size else array


def _joined(images: tuple[str, ...], entries: Sequence[Mapping[str, NDArray[Any]]]) -> Rows:
    counts = []
    for image, entry in zip(images, entries, strict=True):
        lengths = {name: len(array) if array.ndim else -1 for name, array in entry.items()}
        if len(set(lengths.values())) > 1 or -1 in lengths.values():
            found = ", ".join(f"{len_} of '{name}'" for name, len_ in lengths.items() if len_ >= 0)
            raise DataError(
                f"expected arrays of one length for the image '{image}', found {found or 'a number'}"
            )
        counts.append(next(iter(lengths.values()), 0))
    rows = np.repeat(np.arange(len(images), dtype=np.int32), counts)
    present = entries[0] if entries else ()
    return Rows(images, rows, {name: _stacked(name, [entry[name] for entry in entries]) for name in present})


def _stacked(name: str, arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    filled = [array for array in arrays if array.size]  # an empty list says nothing of its type
    shapes = {array.shape[1:] for array in filled}
    if len(shapes) > 1:
        raise DataError(f"expected '{name}' of one shape in every image, found {sorted(shapes)}")
    return np.concatenate(filled) if filled else np.empty(0)
