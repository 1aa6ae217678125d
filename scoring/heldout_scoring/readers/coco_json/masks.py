"""Segmentations in COCO's JSON: compressed run lengths, run lengths as numbers, polygons."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ...data.arrays import Flags, Places
from ...data.label_maps import Masks, join_masks, take_masks
from ...errors import DataError, Rule, shown
from ...metrics.masks import DecodedMasks, masks_of_counts, masks_of_polygons, masks_of_texts
from .fields import Entries, Identifiers, written
from .records import parse_json, read_source

SEGMENTATION: Final = list[list[float]] | dict[str, Any]
"""The type of `segmentation` where a record is read by its form."""
_CODE: Final = "bad-segmentation"
_RUNS: Final = "{'size': [height, width], 'counts': …}"
_EXPECTED: Final = f"expected polygons [[x, y, x, y, x, y, …], …] or run lengths {_RUNS} as 'segmentation'"
_UNFIT: Final = "'counts' are no run lengths that cover the image exactly"
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
    drawn = _draw(column, sizes)
    known = drawn.kinds != ""
    wrong = entries.objects & ~known & (not entries.all_lack("segmentation"))
    for index in np.flatnonzero(wrong).tolist():
        if "segmentation" not in entries.values[index]:
            entries.say(index, "missing-field", Rule("'segmentation' is missing"), expected=_EXPECTED)
        else:
            found = _what_is_wrong(column[index], sizes[index].tolist())
            entries.say(index, _CODE, Rule(f"{_EXPECTED}, found {{}}", found), shown(found), _EXPECTED)
    for index in np.flatnonzero(known & entries.fit & ~drawn.fitting).tolist():
        width, height = sizes[index].tolist()
        words = f"'size' is {{}}, but the image's height and width are {height}, {width}"
        entries.say(index, "bad-size", Rule(words, column[index]["size"]))
    for index in np.flatnonzero(known & entries.fit & ~drawn.valid).tolist():
        entries.say(index, _CODE, Rule(_UNFIT))
    return drawn.masks


def draw_masks(segmentations: Sequence[Any], sizes: Identifiers) -> Masks | None:
    """Masks of images of these sizes, int64 (n, 2), width and height; None where a segmentation is wrong.

    >>> draw_masks([[[0, 0, 2, 0, 2, 2, 0, 2]]], np.array([[9, 9]])).area.tolist(), draw_masks([[]], np.array([[9, 9]]))
    ([4], None)
    """
    drawn = _draw(segmentations, sizes)
    return drawn.masks if (drawn.valid & drawn.fitting & (drawn.kinds != "")).all() else None


def array_of_runs(value: Mapping[str, Any]) -> Flags:
    """A mask from run lengths in memory, bool (height, width). Raises DataError for anything else.

    >>> array_of_runs({"size": (2, 3), "counts": [1, 2, 3]}).astype(int).tolist()
    [[0, 1, 0], [1, 0, 0]]
    """
    runs = parse_json(read_source(value, "masks")[1])
    if not _kind_of(runs, []):
        raise DataError(
            f"expected masks of shape (height, width), or run lengths {_RUNS}, found {_what_is_wrong_with_runs(runs)}"
        )
    height, width = runs["size"]
    drawn = _draw([runs], np.array([[width, height]]))
    if not drawn.valid.all():
        raise DataError(f"{_UNFIT}, of {height} x {width} pixels")
    pixels = np.zeros(height * width, np.bool_)
    for start, end in zip(drawn.masks.start, drawn.masks.end, strict=True):
        pixels[start:end] = True
    return pixels.reshape(width, height).T


@dataclass(frozen=True, slots=True, eq=False)
class _Drawn:
    """Masks, of which those that are wrong are empty.

    kinds: what each segmentation is, "" for none; fitting: bool (n,), where no other size is given than that of the image;
    valid: bool (n,), where run lengths cover the image.
    """

    masks: Masks
    kinds: NDArray[np.str_]
    fitting: Flags
    valid: Flags


def _draw(column: Sequence[Any], sizes: Identifiers) -> _Drawn:
    kinds = np.array(
        [_kind_of(value, size) for value, size in zip(column, sizes.tolist(), strict=True)], "<U8"
    )
    fitting, valid = np.ones((2, len(column)), np.bool_)
    parts: list[Masks] = []
    order: list[Places] = []
    for kind in ("polygons", "text", "numbers", ""):
        rows = np.flatnonzero(kinds == kind)
        values = [column[row] for row in rows.tolist()]
        width, height = sizes[rows].T
        if kind == "polygons":
            found = DecodedMasks(masks_of_polygons(values, height, width), valid[rows])
        elif kind == "text":
            texts = [each["counts"].encode("utf-8", "replace") for each in values]
            found = masks_of_texts(texts, height, width)
        else:
            found = masks_of_counts([each["counts"] if kind else [] for each in values], height, width)
        if kind in ("text", "numbers"):
            given = np.array([each["size"] for each in values], np.int64).reshape(-1, 2)
            fitting[rows] = (given == sizes[rows, ::-1]).all(axis=1)
            valid[rows] = found.valid
        order.append(rows)
        parts.append(found.masks)
    return _Drawn(take_masks(join_masks(parts), np.argsort(np.concatenate(order))), kinds, fitting, valid)


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
