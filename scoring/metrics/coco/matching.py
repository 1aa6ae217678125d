"""Which detection is matched with which object."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from scoring.data.arrays import Flags, Floats, Labels, Places
from scoring.metrics.coco.arranging import Arranged, Keys
from scoring.metrics.coco.arrays import CocoObjects, PairIoU

_PAIRS_AT_ONCE: Final = 1 << 16
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

    found = [near(*block) for block in _pair_blocks(rows[order], first, count)]
    if not found:
        return Pairs(np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0))
    return Pairs(
        np.concatenate([part.detection for part in found]),
        np.concatenate([part.object for part in found]),
        np.concatenate([part.iou for part in found]),
    )


def _pair_blocks(order: Places, first: Places, count: Places) -> Iterator[tuple[Places, Places]]:
    """All pairs of an object and a detection of its group, some at a time: places of detections, rows of objects."""
    ends = np.cumsum(count)
    begin = 0
    while begin < len(order):
        done = ends[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, done + _PAIRS_AT_ONCE, side="right")))
        counts = count[begin:end]
        within = np.arange(ends[end - 1] - done) - np.repeat(np.cumsum(counts) - counts, counts)
        yield np.repeat(first[begin:end], counts) + within, np.repeat(order[begin:end], counts)
        begin = end


_AT_ONCE: Final = 100_000
"""Pairs of contested groups that are matched in one go."""
_NOBODY: Final = np.iinfo(np.int64).max
_IDENTICAL: Final = 1 - 1e-10
"""What counts as an IoU of 1. Source: pycocotools 2.0.11, evaluateImg."""


@dataclass(frozen=True, slots=True, eq=False)
class CocoMatches:
    """Matches at every threshold: threshold int8 (k,), detection intp (k,) in Arranged, object intp (k,)."""

    threshold: Labels
    detection: Places
    object: Places


def match_coco(
    pairs: Pairs, objects: CocoObjects, ignored: Flags, iou_thresholds: Floats
) -> tuple[CocoMatches, list[CocoMatches]]:
    """The matches that are the same in every area range, and for each range the others, threshold by threshold.

    ignored: bool (areas, m), which objects do not count in each range. The most confident detection of an image comes
    first and takes the free object that it overlaps most, if by at least the threshold; the last one in an exact tie.
    Objects that count go before ignored ones, and crowds are never used up. Source: pycocotools 2.0.11, evaluateImg.

    >>> pairs = Pairs(np.array([0, 1]), np.array([0, 0]), np.array([0.6, 0.9]))
    >>> car = CocoObjects(*np.zeros((2, 1), np.int32), np.ones(1), *np.zeros((2, 1), np.bool_))
    >>> found, _ = match_coco(pairs, car, np.zeros((1, 1), np.bool_), np.array([0.5, 0.75]))
    >>> found.threshold.tolist(), found.detection.tolist()
    ([0, 1], [0, 1])
    """
    thresholds = np.minimum(iou_thresholds, _IDENTICAL)
    level = np.searchsorted(thresholds, pairs.iou, side="right").astype(np.int64)
    contested = _contested(pairs, len(objects.image))
    plain = _match_plainly(pairs, level, np.flatnonzero(~contested), objects.crowd)
    rest = np.flatnonzero(contested)
    hard = pairs.part(rest)
    blocks = list(_blocks(hard, objects))
    return plain, [
        _joined(
            [
                _match_in_turn(hard.part(block), level[rest][block], objects.crowd, unwanted)
                for block in blocks
            ]
        )
        for unwanted in ignored
    ]


def _contested(pairs: Pairs, objects: int) -> Flags:
    """Pairs with an object that a detection with a choice may take: what is matched there depends on other matches."""
    if not len(pairs.detection):
        return np.zeros(0, np.bool_)
    choices = np.bincount(pairs.detection)
    chosen = np.zeros(objects, np.bool_)
    chosen[pairs.object[choices[pairs.detection] > 1]] = True
    found: Flags = chosen[pairs.object]
    return found


def _match_plainly(pairs: Pairs, level: Places, rows: Places, crowd: Flags) -> CocoMatches:
    """Where no detection has a choice, an object goes to the first that overlaps it enough at the threshold.

    A detection therefore wins the thresholds above all that an earlier one reaches, up to those that it reaches itself.
    """
    level, objects = level[rows], pairs.object[rows]
    begins = np.ones(len(rows), np.bool_)
    begins[1:] = objects[1:] != objects[:-1]
    offset = (
        np.cumsum(begins) * 128
    )  # more than there are thresholds: the running maximum begins anew with each object
    running = np.maximum.accumulate(offset + level)
    reached = np.concatenate([[0], running[:-1]]) - offset
    low = np.where(crowd[objects], 0, np.maximum(reached, 0))
    times = np.maximum(level - low, 0)
    within = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
    threshold = (np.repeat(low, times) + within).astype(np.int8)
    return CocoMatches(threshold, np.repeat(pairs.detection[rows], times), np.repeat(objects, times))


def _blocks(pairs: Pairs, objects: CocoObjects) -> Iterator[slice]:
    """Parts of the pairs that share no class and image, each of them small if it can be."""
    image, label = objects.image[pairs.object], objects.label[pairs.object]
    ends = np.flatnonzero((image[1:] != image[:-1]) | (label[1:] != label[:-1])) + 1
    ends = np.append(ends, len(image))
    begin = 0
    while begin < len(image):
        whole = ends[(ends > begin) & (ends <= begin + _AT_ONCE)]
        end = int(whole[-1] if len(whole) else ends[np.searchsorted(ends, begin, side="right")])
        yield slice(begin, end)
        begin = end


def _match_in_turn(pairs: Pairs, level: Places, crowd: Flags, ignored: Flags) -> CocoMatches:
    """Matches where detections have a choice.

    Each detection asks for the object that it wants most, an object keeps the most confident of those that ask, and the
    others ask for their next one, until none is sent away: this is what choosing in turn comes to.
    """
    order = np.lexsort((-pairs.object, -pairs.iou, ignored[pairs.object], pairs.detection))
    threshold, place = np.nonzero(level[order] > np.arange(level.max())[:, None])
    wish = order[place]
    people, person = np.unique(pairs.detection, return_inverse=True)
    things, thing = np.unique(pairs.object, return_inverse=True)
    row = threshold * len(people) + person[wish]
    slot = threshold * len(things) + thing[wish]
    begin = np.flatnonzero(np.diff(row, prepend=-1))
    end = np.append(begin[1:], len(row))
    for_all = crowd[things][thing[wish]]
    wished = _settle(row, slot, for_all, begin, end)
    chosen = wish[wished]
    return CocoMatches(threshold[wished].astype(np.int8), pairs.detection[chosen], pairs.object[chosen])


def _settle(row: Places, slot: Places, for_all: Flags, begin: Places, end: Places) -> Places:
    """The wish that each row is granted, for those that are granted one."""
    holder = np.empty(int(slot.max()) + 1, np.int64)
    at = begin.copy()
    while True:
        asking = np.flatnonzero(at < end)
        wish = at[asking]
        single = ~for_all[wish]
        holder.fill(_NOBODY)
        np.minimum.at(holder, slot[wish[single]], row[wish[single]])
        refused = single & (holder[slot[wish]] != row[wish])
        if not refused.any():
            return wish
        at[asking[refused]] += 1


def _joined(parts: Sequence[CocoMatches]) -> CocoMatches:
    return CocoMatches(
        np.concatenate([part.threshold for part in parts] or [np.empty(0, np.int8)]),
        np.concatenate([part.detection for part in parts] or [np.empty(0, np.intp)]),
        np.concatenate([part.object for part in parts] or [np.empty(0, np.intp)]),
    )
