"""Segmentations in COCO's JSON: compressed run lengths, run lengths as numbers, polygons."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ...data.arrays import Places
from ...data.label_maps import Masks, join_masks, take_masks
from ...errors import Rule, shown
from ...metrics.masks import DecodedMasks, masks_of_counts, masks_of_polygons, masks_of_texts
from .fields import Entries, Identifiers, written

_CODE: Final = "bad-segmentation"
_EXPECTED: Final = "expected polygons [[x, y, x, y, x, y, …], …] or run lengths {'size': [height, width], 'counts': …} as 'segmentation'"
_FEWEST_NUMBERS: Final = 6
_FEWEST_ROWS: Final = 2  # of what is taken for an array
_POINT, _SIDES = 2, 4  # numbers of a point and of a box
_FURTHEST: Final = 1e6


def read_masks(entries: Entries, sizes: Identifiers) -> Masks:
    """The field 'segmentation' of every entry; an empty mask where it is wrong, which is said.

    sizes: int64 (n, 2), width and height of each entry's image.

    >>> from heldout_scoring.errors import Problems
    >>> square = {"segmentation": [[0, 0, 2, 0, 2, 2, 0, 2]]}
    >>> entries = Entries([square], "annotations", "instances.json", Problems())
    >>> read_masks(entries, np.array([[9, 9]])).area.tolist()
    [4]
    """
    column = entries.column("segmentation")
    kinds = np.array([_kind_of(value, size) for value, size in zip(column, sizes.tolist(), strict=True)])
    wrong = (
        [] if entries.all_lack("segmentation") else np.flatnonzero((kinds == "") & entries.objects).tolist()
    )
    for index in wrong:
        if "segmentation" not in entries.values[index]:
            entries.say(index, "missing-field", Rule("'segmentation' is missing"), expected=_EXPECTED)
        else:
            found = _what_is_wrong(column[index], sizes[index].tolist())
            entries.say(index, _CODE, Rule(f"{_EXPECTED}, found {{}}", found), shown(found), _EXPECTED)
    parts: list[Masks] = []
    order: list[Places] = []
    for kind in ("polygons", "text", "numbers", ""):
        rows = np.flatnonzero(kinds == kind)
        order.append(rows)
        parts.append(_read_kind(kind, [column[row] for row in rows.tolist()], entries, rows, sizes))
    return take_masks(join_masks(parts), np.argsort(np.concatenate(order)))


def _kind_of(value: Any, size: list[int]) -> str:
    if isinstance(value, list):
        return "polygons" if value and all(map(_is_polygon, value)) and not _is_raster(value, size) else ""
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


def _is_raster(value: list[Any], size: list[int]) -> bool:
    """Whether it is a mask as an array: rows of one length that hold nothing beyond 0 and 1, where polygons would lie in one
    pixel, or as many rows and columns as the image, which hold 0 and another number.
    """
    if (
        len(value) < _FEWEST_ROWS
        or not all(isinstance(row, list) for row in value)
        or len(set(map(len, value))) > 1
    ):
        return False
    if not all(isinstance(each, int | float) for row in value for each in row):
        return False
    if min(map(min, value)) >= 0 and max(map(max, value)) <= 1:
        return True
    others = set().union(*value) - {0}
    return sorted((len(value), len(value[0]))) == sorted(size) and len(others) == 1


def _what_is_wrong(value: Any, size: list[int]) -> str:
    """What was found in place of a segmentation."""
    if isinstance(value, dict):
        return _what_is_wrong_with_runs(value)
    if not isinstance(value, list) or not value:
        return "an empty list" if value == [] else written(value)
    if all(isinstance(each, int | float) for each in value):
        hint = (
            "left, top, width and height, as in 'bbox'"
            if len(value) == _SIDES
            else "which belong into a list of their own"
        )
        return f"a list of {len(value)} numbers, {hint}"
    if _is_raster(value, size):
        return f"{len(value)} rows of {len(value[0])} values, a mask as an array, which has to be encoded as run lengths"
    if all(_is_point(each) for each in value):
        return f"{len(value)} points [x, y], where each polygon is one list x, y, x, y, …"
    number, polygon = next((n, each) for n, each in enumerate(value, 1) if not _is_polygon(each))
    return f"that polygon {number} of {len(value)} {_what_is_wrong_with_polygon(polygon)}"


def _what_is_wrong_with_polygon(polygon: Any) -> str:
    if not isinstance(polygon, list):
        return f"is {written(polygon)}"
    if polygon and all(_is_point(each) for each in polygon):
        return "is a list of points [x, y] instead of one list x, y, x, y, …"
    if others := [each for each in polygon if type(each) not in (int, float)]:
        return f"has {written(others[0])}, which is no number"
    if len(polygon) < _FEWEST_NUMBERS:
        return f"has {len(polygon)} numbers; at least {_FEWEST_NUMBERS} are needed"
    if len(polygon) % 2:
        return f"has {len(polygon)} numbers, an odd number, where each x needs a y"
    furthest = max(polygon, key=abs)
    return f"has the coordinate {written(furthest)}, which is further than {_FURTHEST:.0f} pixels away"


def _what_is_wrong_with_runs(value: dict[str, Any]) -> str:
    for name, is_right, expected in (
        ("size", _are_wholes(value.get("size"), 2), "[height, width]"),
        ("counts", False, "a text or whole numbers from 0"),
    ):
        if name not in value:
            return f"that '{name}' is missing"
        if not is_right:
            return f"that '{name}' is {written(value[name])} instead of {expected}"
    raise AssertionError  # pragma: no cover - one of them is wrong


def _is_point(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) == _POINT
        and all(isinstance(each, int | float) for each in value)
    )


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
            rule = Rule(
                f"'size' is {{}}, but the image's height and width are {height[at]}, {width[at]}",
                values[at]["size"],
            )
            entries.say(row, "bad-size", rule)
        else:
            entries.say(row, _CODE, Rule("'counts' are no run lengths that cover the image exactly"))
    return found.masks
