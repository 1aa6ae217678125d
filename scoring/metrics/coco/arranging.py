"""The orders in which detections are matched and counted."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from scoring.data.arrays import Flags, Floats, Integers, Places
from scoring.metrics.coco.arrays import CocoDetections
from scoring.metrics.ranking import rank

Keys = np.ndarray[tuple[int], np.dtype[np.int64]]


@dataclass(frozen=True, slots=True, eq=False)
class Arranged:
    """Detections by class and image, in each of them by falling confidence, without those beyond the most allowed.

    rows: intp (k,), which detection each is; group: int64 (k,), class · images + image; nth: int32 (k,), how many of the
    group stand before it; place: int32 (k,), where it stands among all kept ones by class and then falling confidence.
    by_class: intp (k,), the rows in that order; label: int64 (k,), their classes.
    """

    rows: Places
    group: Keys
    nth: Integers
    place: Integers
    by_class: Places
    label: Keys


def arrange(detections: CocoDetections, rows: Places, images: int, most: int) -> Arranged:
    """Sort some detections, and keep the `most` confident ones of each class in each image; rows: intp (n,), which ones.

    Equal confidences keep the order of the images, and in an image that of `rows`, as in pycocotools.

    >>> two = CocoDetections(np.array([1, 0], np.int32), np.zeros(2, np.int32), np.array([0.5, 0.5]), np.ones(2))
    >>> arrange(two, np.arange(2), images=2, most=100).by_class.tolist()
    [1, 0]
    """
    label = detections.label[rows].astype(np.int64)
    group = label * images + detections.image[rows]
    if np.any(group[1:] < group[:-1]):
        group, order = _stably_sorted(group)
        rows, label = rows[order], label[order]
    by_class = _by_class(detections.confidence[rows], label)
    place = np.empty(len(rows), np.int64)
    place[by_class] = np.arange(len(rows))
    begins, nth = _places_in_groups(group)
    bits = len(rows).bit_length()
    joined = (np.cumsum(begins) << bits) | place  # sorting values is far quicker than sorting indices
    joined.sort()
    place = joined & ((1 << bits) - 1)
    kept = nth < most
    if kept.all():
        return Arranged(rows[by_class[place]], group, nth, place.astype(np.int32), rows[by_class], label)
    is_kept = np.zeros(len(rows), np.bool_)
    is_kept[place[kept]] = True
    new_place = np.cumsum(is_kept, dtype=np.int32) - 1
    place = place[kept]
    by_group = rows[by_class[place]]
    return Arranged(
        by_group, group[kept], nth[kept], new_place[place], rows[by_class[is_kept]], label[is_kept]
    )


def join_arranged(parts: Sequence[Arranged]) -> Arranged:
    """The detections of some classes after those of the classes before them.

    >>> two = CocoDetections(np.zeros(2, np.int32), np.array([0, 1], np.int32), np.ones(2), np.ones(2))
    >>> parts = [arrange(two, np.array([row]), images=1, most=100) for row in range(2)]
    >>> join_arranged(parts).place.tolist()
    [0, 1]
    """
    before = np.cumsum([0, *(len(part.rows) for part in parts)]).tolist()
    return Arranged(
        np.concatenate([part.rows for part in parts]),
        np.concatenate([part.group for part in parts]),
        np.concatenate([part.nth for part in parts]),
        np.concatenate([part.place + np.int32(first) for first, part in zip(before, parts, strict=False)]),
        np.concatenate([part.by_class for part in parts]),
        np.concatenate([part.label for part in parts]),
    )


def _by_class(confidence: Floats, label: Keys) -> Places:
    """Where the detections stand, by class and falling confidence; label: rising."""
    bounds = [0, *(np.flatnonzero(label[1:] != label[:-1]) + 1).tolist(), len(label)]
    return np.concatenate([begin + rank(confidence[begin:end]) for begin, end in pairwise(bounds)])


def _stably_sorted(keys: Keys) -> tuple[Keys, Places]:
    """The keys in rising order, none below 0, and where each one stood; equal ones keep their order."""
    bits = len(keys).bit_length()
    if len(keys) and int(keys.max()).bit_length() + bits >= 63:
        order = np.argsort(keys, kind="stable")
        return keys[order], order
    joined = (keys << bits) | np.arange(len(keys))
    joined.sort()
    return joined >> bits, joined & ((1 << bits) - 1)


def _places_in_groups(groups: Keys) -> tuple[Flags, Integers]:
    """Where groups, in rising order, begin, and how many of the same group stand before each place."""
    at = np.arange(len(groups), dtype=np.int32)
    begins = np.ones(len(groups), np.bool_)
    begins[1:] = groups[1:] != groups[:-1]
    found: Integers = at - np.maximum.accumulate(np.where(begins, at, 0), dtype=np.int32)
    return begins, found
