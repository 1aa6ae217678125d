"""The orders in which detections are matched and counted."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scoring.data.arrays import Integers, Places
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
    ranked = _ranked(detections, rows)
    label = detections.label[ranked].astype(np.int64)
    groups, by_group = _stably_sorted(label * images + detections.image[ranked])
    labels, by_class = _stably_sorted(label)
    nth = _nth_of_its_group(groups)
    kept = nth < most
    if not kept.all():
        groups, by_group, nth = groups[kept], by_group[kept], nth[kept]
        is_kept = np.zeros(len(ranked), np.bool_)
        is_kept[by_group] = True
        is_kept = is_kept[by_class]
        by_class, labels = by_class[is_kept], labels[is_kept]
    place = np.empty(len(ranked), np.int32)
    place[by_class] = np.arange(len(by_class), dtype=np.int32)
    return Arranged(ranked[by_group], groups, nth, place[by_group], ranked[by_class], labels)


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


def _ranked(detections: CocoDetections, rows: Places) -> Places:
    """These detections by falling confidence, then image, then their order."""
    image = detections.image[rows]
    if np.any(image[1:] < image[:-1]):
        rows = rows[_stably_sorted(image.astype(np.int64))[1]]
    return rows[rank(detections.confidence[rows])]


def _stably_sorted(keys: Keys) -> tuple[Keys, Places]:
    """The keys in rising order, none below 0, and where each one stood; equal ones keep their order."""
    bits = len(keys).bit_length()
    if len(keys) and int(keys.max()).bit_length() + bits >= 63:
        order = np.argsort(keys, kind="stable")
        return keys[order], order
    joined = (keys << bits) | np.arange(len(keys))  # sorting values is far quicker than a stable argsort
    joined.sort()
    return joined >> bits, joined & ((1 << bits) - 1)


def _nth_of_its_group(groups: Keys) -> Integers:
    at = np.arange(len(groups), dtype=np.int32)
    begins = np.ones(len(groups), np.bool_)
    begins[1:] = groups[1:] != groups[:-1]
    found: Integers = at - np.maximum.accumulate(np.where(begins, at, 0), dtype=np.int32)
    return found
