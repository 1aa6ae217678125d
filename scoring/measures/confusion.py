"""Which label was given to which: pixels counted by their true label and their answer, and what such counts are worth."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from scoring.arrays import Bytes, Flags, Floats, Integers, Places

Counts = NDArray[np.int64]
"""Pixels, int64 (labels, labels): a row for each true label, a column for each answer, the background first."""

Rows = NDArray[np.uint16]

PixelMeasure = Callable[[Counts], Floats]
"""A value in [0, 1] for each label, float64 (labels,); NaN where the kit's number is."""

PixelTotal = Callable[[Counts], float]
"""One value in [0, 1] for all pixels; NaN where there is none."""

_MOST_RUNS: Final = 1 / 4  # of all pixels; where there are more, it is faster to count them one by one


@dataclass(frozen=True, slots=True)
class ConfusionMatrix:
    """Pixels by true label (rows) and answer (columns), as counted; void is left out."""

    kind: ClassVar[str] = "confusion_matrix"
    labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]

    def to_plain(self) -> dict[str, Any]:
        """The matrix as JSON has it."""
        return {"kind": self.kind, "labels": list(self.labels), "counts": [list(row) for row in self.counts]}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """What `to_plain` said.

        >>> matrix = ConfusionMatrix(("background", "car"), ((5, 0), (1, 2)))
        >>> ConfusionMatrix.from_plain(matrix.to_plain()) == matrix
        True
        """
        return cls(tuple(plain["labels"]), tuple(tuple(row) for row in plain["counts"]))


def count_labels(answer: Bytes, truth: Bytes, lengths: Integers, labels: int) -> Counts:
    """Count the pixels of one image that are not void.

    answer: uint8 (pixels,), each below labels; truth: uint8 (runs,), where everything from labels on is void; lengths:
    int32 (runs,), how many pixels each run has.

    >>> count_labels(np.array([0, 1, 1, 1], np.uint8), np.array([0, 1, 255], np.uint8), np.array([2, 1, 1]), 2)
    array([[1, 1],
           [0, 1]])
    """
    rows = np.minimum(truth, np.uint8(labels)).astype(np.uint16) * np.uint16(labels)
    ends = np.empty(answer.size, np.bool_)
    np.not_equal(answer[1:], answer[:-1], out=ends[:-1])
    ends[-1:] = True
    many = np.count_nonzero(ends) > _MOST_RUNS * answer.size
    pairs = _count_pixels(answer, rows, lengths) if many else _count_runs(answer, rows, lengths, ends)
    counts = np.zeros((labels + 1) * labels, np.int64)
    counts[: len(pairs)] = pairs
    return counts[: labels * labels].reshape(labels, labels)


def _count_pixels(answer: Bytes, rows: Rows, lengths: Integers) -> NDArray[np.intp]:
    return np.bincount(np.repeat(rows, lengths) + answer)


def _count_runs(answer: Bytes, rows: Rows, lengths: Integers, ends: Flags) -> Floats:
    """Count runs where both labels stay the same, instead of pixels; exact, for floats hold whole numbers up to 2**53."""
    marks = np.zeros(answer.size, np.bool_)
    marks[np.cumsum(lengths) - 1] = True
    ends |= marks
    last = np.flatnonzero(ends)
    marked = marks[last]
    run: Places = np.cumsum(marked) - marked  # how many runs of the truth have ended before
    pixels = last.copy()
    pixels[1:] -= last[:-1]
    pixels[0] += 1
    return np.bincount(rows[run] + answer[last], pixels).astype(np.float64)


def overlap_of_labels(counts: Counts) -> Floats:
    """Intersection over union of each label's pixels; NaN for one that is neither in the truth nor in the answers.

    Source: VOC2008 development kit and later, VOCevalseg.m.

    >>> overlap_of_labels(np.array([[2, 1, 0], [1, 0, 0], [0, 0, 0]]))
    array([0.5, 0. , nan])
    """
    found = np.diagonal(counts)
    return _divided(found, counts.sum(0) + counts.sum(1) - found)


def share_found(counts: Counts) -> Floats:
    """The share of each label's pixels that were given it; 0 for one that is not in the truth.

    Source: VOC2007 development kit, VOCevalseg.m.

    >>> share_found(np.array([[2, 2, 0], [1, 0, 0], [0, 0, 0]]))
    array([0.5, 0. , 0. ])
    """
    return np.nan_to_num(_divided(np.diagonal(counts), counts.sum(1)))


def share_of_all_pixels(counts: Counts) -> float:
    """The share of pixels that were given their true label; NaN where there are none. Source: as for `share_found`.

    >>> share_of_all_pixels(np.array([[2, 1], [1, 0]]))
    0.5
    """
    total = int(counts.sum())
    return int(np.trace(counts)) / total if total else math.nan


def _divided(part: Counts, whole: Counts) -> Floats:
    shares = np.full(len(whole), np.nan)
    np.divide(part, whole, out=shares, where=whole > 0)
    return shares
