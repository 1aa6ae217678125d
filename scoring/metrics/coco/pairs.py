"""Which detections overlap which objects enough."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from scoring.data.arrays import Floats, Places
from scoring.metrics.coco.arranging import Arranged, Keys
from scoring.metrics.coco.arrays import CocoObjects, PairIoU

_AT_ONCE: Final = 1 << 16
"""Pairs that are compared in one go: what fits the processor's cache."""


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Pairs of one class in one image whose IoU may be a match, by class, image, object and falling confidence.

    detection: intp (p,), places in Arranged; object: intp (p,), rows of CocoObjects; iou: float64 (p,).
    """

    detection: Places
    object: Places
    iou: Floats

    def part(self, which: Places | slice) -> "Pairs":
        """Some of the pairs."""
        return Pairs(self.detection[which], self.object[which], self.iou[which])


def find_pairs(
    arranged: Arranged, objects: CocoObjects, rows: Places, images: int, iou: PairIoU, lowest: float
) -> Pairs:
    """Every pair of a detection and an object of its class in its image with an IoU of at least `lowest`.

    rows: intp (m,), the objects that are looked at.

    >>> from scoring.metrics.coco.arranging import arrange
    >>> from scoring.metrics.coco.arrays import CocoDetections
    >>> one, no = np.zeros(1, np.int32), np.zeros(1, np.bool_)
    >>> arranged = arrange(CocoDetections(one, one, np.ones(1), np.ones(1)), np.arange(1), images=1, most=100)
    >>> find_pairs(arranged, CocoObjects(one, one, np.ones(1), no, no), np.arange(1), 1, lambda d, o: np.array([0.7]), 0.5).iou
    array([0.7])
    """
    group: Keys = objects.label[rows].astype(np.int64) * images + objects.image[rows]
    order = np.argsort(group, kind="stable")
    first = np.searchsorted(arranged.group, group[order], side="left")
    count = np.searchsorted(arranged.group, group[order], side="right") - first

    def near(detections: Places, things: Places) -> Pairs:
        overlap = iou(arranged.rows[detections], things)
        return Pairs(detections, things, overlap).part(np.flatnonzero(overlap >= lowest))

    found = [near(*block) for block in _blocks(rows[order], first, count)]
    if not found:
        return Pairs(np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0))
    return Pairs(
        np.concatenate([part.detection for part in found]),
        np.concatenate([part.object for part in found]),
        np.concatenate([part.iou for part in found]),
    )


def _blocks(order: Places, first: Places, count: Places) -> Iterator[tuple[Places, Places]]:
    """All pairs of an object and a detection of its group, some at a time: places of detections, rows of objects."""
    ends = np.cumsum(count)
    begin = 0
    while begin < len(order):
        done = ends[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, done + _AT_ONCE, side="right")))
        counts = count[begin:end]
        within = np.arange(ends[end - 1] - done) - np.repeat(np.cumsum(counts) - counts, counts)
        yield np.repeat(first[begin:end], counts) + within, np.repeat(order[begin:end], counts)
        begin = end
