"""Masks as runs of pixels, what they cover and how much they overlap."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from scoring.data.arrays import Flags, Floats, Places

Wholes = NDArray[np.int64]

_MASK: Final = 40
"""The bit at which the number of a mask stands in a key, above a pixel of an image of at most 2⁴⁰ pixels."""
_AT_ONCE: Final = 1 << 18
"""Runs that are looked up in one go."""


@dataclass(frozen=True, slots=True, eq=False)
class Masks:
    """Binary masks of several images; pixels are counted from 0 down the columns, the leftmost column first.

    start, end: int64 (r,), runs of pixels of the masks, end excluded, of each mask in rising order; first: int64
    (n + 1,), where the runs of each mask begin, and how many there are; height: int64 (n,), of the image.
    """

    start: Wholes
    end: Wholes
    first: Wholes
    height: Wholes

    def __len__(self) -> int:
        return len(self.height)

    @property
    def area(self) -> Wholes:
        """Pixels of each mask: int64 (n,)."""
        covered = np.concatenate([[0], np.cumsum(self.end - self.start)])
        found: Wholes = covered[self.first[1:]] - covered[self.first[:-1]]
        return found

    @property
    def boxes(self) -> Floats:
        """Left, top, width and height of the smallest box around each mask, 0 of an empty one: float64 (n, 4).

        Source: pycocotools 2.0.11, maskApi.c, rleToBbox.
        """
        mask = np.repeat(np.arange(len(self)), np.diff(self.first))
        height = self.height[mask]
        left, top = np.divmod(self.start, height)
        right, bottom = np.divmod(self.end - 1, height)
        over = left < right  # a run that goes on in the next column touches the bottom and the top
        low, high = (
            np.where(over, 0, np.minimum(top, bottom)),
            np.where(over, height - 1, np.maximum(top, bottom)),
        )
        found = np.zeros((len(self), 4))
        some = np.flatnonzero(np.diff(self.first))
        begins = self.first[some]
        if len(some):
            found[some, 0] = np.minimum.reduceat(np.minimum(left, right), begins)
            found[some, 1] = np.minimum.reduceat(low, begins)
            found[some, 2] = np.maximum.reduceat(np.maximum(left, right), begins) - found[some, 0] + 1
            found[some, 3] = np.maximum.reduceat(high, begins) - found[some, 1] + 1
        return found

    @classmethod
    def of_runs(cls, start: Wholes, end: Wholes, mask: Wholes, height: Wholes) -> "Masks":
        """mask: int64 (r,), whose run each one is, rising."""
        return cls(start, end, np.searchsorted(mask, np.arange(len(height) + 1)), height)


def join_masks(parts: list[Masks]) -> Masks:
    """All masks of several, one after the other.

    >>> from scoring.metrics.masks.encoding import masks_of_counts
    >>> whole = masks_of_counts([[0, 4]], np.array([2]), np.array([2])).masks
    >>> join_masks([whole, whole]).area.tolist()
    [4, 4]
    """
    runs = np.cumsum([0, *(len(part.start) for part in parts)])
    return Masks(
        np.concatenate([np.empty(0, np.int64), *(part.start for part in parts)]),
        np.concatenate([np.empty(0, np.int64), *(part.end for part in parts)]),
        np.concatenate(
            [*(part.first[:-1] + before for part, before in zip(parts, runs, strict=False)), runs[-1:]]
        ),
        np.concatenate([np.empty(0, np.int64), *(part.height for part in parts)]),
    )


def take_masks(masks: Masks, which: Places) -> Masks:
    """These masks, in this order; which: intp (k,), places of masks, each any number of times.

    >>> from scoring.metrics.masks.encoding import masks_of_counts
    >>> masks = masks_of_counts([[0, 4], [1, 2, 1]], np.array([2, 2]), np.array([2, 2])).masks
    >>> take_masks(masks, np.array([1])).area.tolist()
    [2]
    """
    counts = np.diff(masks.first)[which]
    first = np.concatenate([[0], np.cumsum(counts)])
    runs = np.arange(first[-1]) + np.repeat(masks.first[which] - first[:-1], counts)
    return Masks(masks.start[runs], masks.end[runs], first, masks.height[which])


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
