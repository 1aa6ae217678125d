"""Masks of polygons."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from scoring.data.arrays import Flags, Floats
from scoring.data.masks import Masks, Wholes

_SCALE: Final = 5
"""How many points the official program puts on a pixel's side."""
_OBJECT: Final = 40
"""The bit at which the number of a polygon or an object stands in a key, above a pixel."""


def masks_of_polygons(objects: Sequence[Sequence[Sequence[float]]], height: Wholes, width: Wholes) -> Masks:
    """What the polygons of each object cover together, x and y in turn, of an image of this size: int64 (n,).

    The official program walks along each side in steps of a fifth of a pixel and notes where it passes from the third
    point of a pixel to the next; only these crossings are worked out here, with the same roundings.
    Source: pycocotools 2.0.11, maskApi.c, rleFrPoly.

    >>> square = [[0.0, 0.0, 2.0, 0.0, 2.0, 2.0, 0.0, 2.0]]
    >>> masks_of_polygons([square], np.array([4]), np.array([4])).area.tolist()
    [4]
    """
    owner = np.repeat(np.arange(len(objects)), np.fromiter(map(len, objects), np.int64, len(objects)))
    polygons = [
        np.asarray(polygon, np.float64).reshape(-1, 2) for polygons in objects for polygon in polygons
    ]
    if not polygons:
        nothing = np.empty(0, np.int64)
        return Masks.of_runs(nothing, nothing, nothing, height)
    sides = _sides(polygons)
    polygon, pixel = _crossings(sides, height[owner], width[owner])
    keys = np.sort((polygon << _OBJECT) | pixel)
    edges, times = np.unique(keys, return_counts=True)
    edges = edges[times % 2 == 1]  # what is crossed twice is not crossed
    polygon, pixel = edges >> _OBJECT, edges & ((1 << _OBJECT) - 1)
    return _united(owner[polygon[::2]], pixel[::2], pixel[1::2], height)


_Sides = tuple[Wholes, Wholes, Wholes, Wholes, Wholes]


def _sides(polygons: Sequence[Floats]) -> _Sides:
    """Each side of each polygon from left to right if it is rather flat, and else from top to bottom.

    Number of the polygon, then x and y of both ends in fifths of a pixel.
    """
    counts = np.fromiter(map(len, polygons), np.int64, len(polygons))
    corners = np.trunc(_SCALE * np.concatenate(polygons) + 0.5).astype(np.int64)
    following = np.arange(1, len(corners) + 1)
    ends = np.cumsum(counts)
    following[ends - 1] = ends - counts
    begin, end = corners, corners[following]
    width, height = np.abs(end - begin).T
    turned = np.where(width >= height, begin[:, 0] > end[:, 0], begin[:, 1] > end[:, 1])[:, None]
    begin, end = np.where(turned, end, begin), np.where(turned, begin, end)
    return np.repeat(np.arange(len(counts)), counts), begin[:, 0], begin[:, 1], end[:, 0], end[:, 1]


def _crossings(sides: _Sides, height: Wholes, width: Wholes) -> tuple[Wholes, Wholes]:
    """Where sides pass from the third point of a column to the next: numbers of polygons, and the pixels below."""
    polygon, left, _, right, _ = sides
    low, high = np.minimum(left, right), np.maximum(left, right)
    first = np.maximum(-((2 - low) // _SCALE), 0)
    last = np.minimum((high - 3) // _SCALE, width[polygon] - 1)
    counts = np.maximum(last - first + 1, 0)
    side = np.repeat(np.arange(len(polygon)), counts)
    column = np.arange(counts.sum()) + np.repeat(first - np.cumsum(counts) + counts, counts)
    row = _rows(_SCALE * column + 2, *(each[side] for each in sides[1:]))
    polygon, tall = polygon[side], height[polygon[side]]
    pixel = np.ceil(np.clip((row + 0.5) / _SCALE - 0.5, 0, tall)).astype(np.int64)
    return polygon, column * tall + pixel


def _rows(point: Wholes, left: Wholes, top: Wholes, right: Wholes, bottom: Wholes) -> Wholes:
    """How high the upper one of two neighbouring points of a side is, the left one of which is at `point`."""
    width, height = np.abs(right - left), np.abs(bottom - top)
    flat = width >= height
    slope = np.where(flat, bottom - top, right - left) / np.maximum(np.where(flat, width, height), 1)
    at = point - left
    heights = [np.trunc(top + slope * step + 0.5).astype(np.int64) for step in (at, at + 1)]
    return np.where(flat, np.minimum(*heights), top + _steps(point, left, slope, height) - 1)


def _steps(point: Wholes, left: Wholes, slope: Floats, height: Wholes) -> Wholes:
    """After how many steps downwards a steep side has passed from one of the points to its neighbour."""
    with np.errstate(divide="ignore", invalid="ignore"):
        guess = np.nan_to_num((point + 0.5 - left) / slope, posinf=0, neginf=0)
    steps: Wholes = np.clip(np.floor(guess).astype(np.int64) - 1, 1, np.maximum(height, 1))

    def has_passed(step: Wholes) -> Flags:
        x = np.trunc(left + slope * step + 0.5)
        return np.where(slope > 0, x > point, x <= point)

    for _ in range(4):
        steps += ~has_passed(steps)
    return steps


def _united(owner: Wholes, start: Wholes, end: Wholes, height: Wholes) -> Masks:
    """Runs of each object that may overlap, as runs that do not."""
    begins, ends = (owner << _OBJECT) | start, (owner << _OBJECT) | end
    keys = np.concatenate([begins << 1, (ends << 1) | 1])  # where a run ends another may begin
    keys.sort()
    depth = np.cumsum(1 - 2 * (keys & 1))
    opens = np.flatnonzero((depth == 1) & (keys & 1 == 0))
    closes = np.flatnonzero(depth == 0)
    where = (1 << _OBJECT) - 1
    return Masks.of_runs(
        (keys[opens] >> 1) & where, (keys[closes] >> 1) & where, keys[opens] >> (_OBJECT + 1), height
    )
