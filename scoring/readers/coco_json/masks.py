"""Segmentations in COCO's JSON: compressed run lengths, run lengths as numbers, polygons."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from scoring.data.arrays import Places
from scoring.data.masks import Masks, join_masks, take_masks
from scoring.metrics.masks.encoding import DecodedMasks, masks_of_counts, masks_of_texts
from scoring.metrics.masks.polygons import masks_of_polygons
from scoring.readers.coco_json.fields import Entries, Identifiers

_CODE: Final = "bad-segmentation"
_EXPECTED: Final = (
    "expected polygons [[x, y, x, y, x, y, …], …] or run lengths {'size': [height, width], 'counts': …}"
)
_FEWEST_NUMBERS: Final = 6
_FURTHEST: Final = 1e6


def read_masks(entries: Entries, sizes: Identifiers) -> Masks:
    """The field 'segmentation' of every entry; an empty mask where it is wrong, which is said.

    sizes: int64 (n, 2), width and height of each entry's image.

    >>> from scoring.errors import Problems
    >>> square = {"segmentation": [[0, 0, 2, 0, 2, 2, 0, 2]]}
    >>> entries = Entries([square], "annotations", "instances.json", Problems())
    >>> read_masks(entries, np.array([[9, 9]])).area.tolist()
    [4]
    """
    column = entries.column("segmentation")
    kinds = np.array([_kind_of(value) for value in column])
    for index in np.flatnonzero((kinds == "") & entries.objects).tolist():
        missing = "segmentation" not in entries.values[index]
        entries.say(
            index, *(("missing-field", "'segmentation' is missing") if missing else (_CODE, _EXPECTED))
        )
    parts: list[Masks] = []
    order: list[Places] = []
    for kind in ("polygons", "text", "numbers", ""):
        rows = np.flatnonzero(kinds == kind)
        order.append(rows)
        parts.append(_read_kind(kind, [column[row] for row in rows.tolist()], entries, rows, sizes))
    return take_masks(join_masks(parts), np.argsort(np.concatenate(order)))


def _kind_of(value: Any) -> str:
    if isinstance(value, list):
        return "polygons" if value and all(map(_is_polygon, value)) else ""
    if not isinstance(value, dict) or not _are_wholes(value.get("size"), 2):
        return ""
    counts = value.get("counts")
    if isinstance(counts, str):
        return "text"
    return "numbers" if _are_wholes(counts) else ""


def _is_polygon(value: Any) -> bool:
    if not isinstance(value, list) or len(value) < _FEWEST_NUMBERS or len(value) % 2:
        return False
    return set(map(type, value)) <= {int, float} and min(value) >= -_FURTHEST and max(value) <= _FURTHEST


def _are_wholes(value: Any, count: int | None = None) -> bool:
    if not isinstance(value, list) or (count is not None and len(value) != count):
        return False
    return set(map(type, value)) <= {int} and all(0 <= each <= 1 << 40 for each in value)


def _read_kind(kind: str, values: Sequence[Any], entries: Entries, rows: Places, sizes: Identifiers) -> Masks:
    width, height = sizes[rows].T
    if kind == "polygons":
        return masks_of_polygons(values, height, width)
    if kind == "":
        return masks_of_counts([[] for _ in rows], height, width).masks
    found: DecodedMasks
    if kind == "text":
        found = masks_of_texts([each["counts"].encode("utf-8", "replace") for each in values], height, width)
    else:
        found = masks_of_counts([each["counts"] for each in values], height, width)
    same = [each["size"] == [tall, wide] for each, tall, wide in zip(values, height, width, strict=True)]
    for at, row in enumerate(rows.tolist()):
        if not entries.fit[row] or (same[at] and found.valid[at]):
            continue
        if not same[at]:
            message = f"'size' is {values[at]['size']}, but the image's height and width are {height[at]}, {width[at]}"
            entries.say(row, "bad-size", message)
        else:
            entries.say(row, _CODE, "'counts' are no run lengths that cover the image exactly")
    return found.masks
