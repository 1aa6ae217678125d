"""How much masks overlap."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from scoring.data.arrays import Flags, Floats, Places
from scoring.data.masks import Masks, Wholes

_MASK: Final = 40
"""The bit at which the number of a mask stands in a key, above a pixel of an image of at most 2⁴⁰ pixels."""
_AT_ONCE: Final = 1 << 18
"""Runs that are looked up in one go."""


def mask_intersections(masks: Masks, one: Places, other: Places) -> Wholes:
    """How many pixels masks have in common, pair by pair: intp (p,) and (p,) give int64 (p,).

    >>> from scoring.metrics.masks.encoding import masks_of_counts
    >>> masks = masks_of_counts([[0, 4], [1, 2, 1]], np.array([2, 2]), np.array([2, 2])).masks
    >>> mask_intersections(masks, np.array([0]), np.array([1])).item()
    2
    """
    runs = np.diff(masks.first)
    swapped = runs[one] > runs[other]
    few, many = np.where(swapped, other, one), np.where(swapped, one, other)
    covered = np.concatenate([[0], np.cumsum(masks.end - masks.start)])
    keys = (np.repeat(np.arange(len(masks)), runs) << _MASK) | masks.start
    result = np.zeros(len(one), np.int64)
    for part in _parts(runs[few]):
        counts = runs[few[part]]
        offsets = np.cumsum(counts) - counts
        run = np.arange(counts.sum()) + np.repeat(masks.first[few[part]] - offsets, counts)
        within = np.repeat(many[part], counts)
        shared = sum(
            sign * _covered_before(masks, keys, covered, within, pixel[run])
            for sign, pixel in ((1, masks.end), (-1, masks.start))
        )
        some = np.flatnonzero(counts)
        if len(some):
            result[np.arange(len(one))[part][some]] = np.add.reduceat(shared, offsets[some])
    return result


def _covered_before(masks: Masks, keys: Wholes, covered: Wholes, mask: Places, pixel: Wholes) -> Wholes:
    """How many pixels of the mask lie before a pixel."""
    after = np.searchsorted(keys, (mask << _MASK) | pixel, side="right")
    run = np.maximum(after - 1, 0)
    begun = covered[run] - covered[masks.first[mask]] + np.minimum(pixel, masks.end[run]) - masks.start[run]
    return np.where(after > masks.first[mask], begun, 0)


def _parts(counts: Wholes) -> Iterator[slice]:
    ends = np.cumsum(counts)
    begin = 0
    while begin < len(counts):
        done = ends[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, done + _AT_ONCE, side="right")))
        yield slice(begin, end)
        begin = end


def mask_iou(masks: Masks, one: Places, other: Places, crowd: Flags) -> Floats:
    """IoU of masks, pair by pair; where the other is a crowd, the share of the first mask that lies in it.

    one, other: intp (p,), crowd: bool (p,). Returns float64 (p,) in [0, 1], and 0 for empty masks.
    Source: pycocotools 2.0.11, maskApi.c, rleIou.

    >>> from scoring.metrics.masks.encoding import masks_of_counts
    >>> masks = masks_of_counts([[0, 4], [1, 2, 1]], np.array([2, 2]), np.array([2, 2])).masks
    >>> mask_iou(masks, np.array([0]), np.array([1]), np.array([False])).tolist()
    [0.5]
    """
    boxes, area = masks.boxes, masks.area
    result = np.zeros(len(one))
    ours, theirs = boxes[one], boxes[other]
    low, high = (
        np.maximum(ours[:, :2], theirs[:, :2]),
        np.minimum(ours[:, :2] + ours[:, 2:], theirs[:, :2] + theirs[:, 2:]),
    )
    near = np.flatnonzero((low < high).all(axis=1))
    one, other = one[near], other[near]
    shared = mask_intersections(masks, one, other)
    union = np.where(crowd[near], area[one], area[one] + area[other] - shared)
    result[near] = shared / np.where(shared > 0, union, 1)
    return result
