"""Binary masks as runs of pixels."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scoring.data.arrays import Flags, Floats, Places

Wholes = NDArray[np.int64]


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
        """Masks of runs; mask: int64 (r,), the mask that each run belongs to, rising."""
        return cls(start, end, np.searchsorted(mask, np.arange(len(height) + 1)), height)


def masks_of_arrays(arrays: Sequence[Flags]) -> Masks:
    """Masks of bool arrays (height, width), each of its own size.

    >>> masks_of_arrays([np.array([[False, True], [True, True]])]).start.tolist()
    [1]
    """
    edges = [np.flatnonzero(np.diff(each.T.ravel(), prepend=False, append=False)) for each in arrays]
    counts = [len(each) // 2 for each in edges]
    bounds = np.concatenate([np.empty(0, np.int64), *edges])
    height = np.array([len(each) for each in arrays], np.int64)
    return Masks(bounds[::2], bounds[1::2], np.cumsum([0, *counts]), height)


def join_masks(parts: list[Masks]) -> Masks:
    """All masks of several, one after the other.

    >>> whole = masks_of_arrays([np.ones((2, 2), np.bool_)])
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

    >>> masks = masks_of_arrays([np.ones((2, 2), np.bool_), np.eye(2, dtype=np.bool_)])
    >>> take_masks(masks, np.array([1])).area.tolist()
    [2]
    """
    counts = np.diff(masks.first)[which]
    first = np.concatenate([[0], np.cumsum(counts)])
    runs = np.arange(first[-1]) + np.repeat(masks.first[which] - first[:-1], counts)
    return Masks(masks.start[runs], masks.end[runs], first, masks.height[which])
