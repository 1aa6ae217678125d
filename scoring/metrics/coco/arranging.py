"""The orders in which detections are matched and counted."""

from dataclasses import dataclass

import numpy as np

from scoring.data.arrays import Integers, Places
from scoring.metrics.coco.arrays import CocoDetections
from scoring.metrics.ranking import rank
from scoring.parallel import parallel_map

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


def arrange(detections: CocoDetections, images: int, most: int) -> Arranged:
    """Sort detections, and keep the `most` confident ones of each class in each image.

    Equal confidences keep the order of the images, and in an image that of the file, as in pycocotools.

    >>> two = CocoDetections(np.array([1, 0], np.int32), np.zeros(2, np.int32), np.array([0.5, 0.5]), np.ones(2))
    >>> arrange(two, images=2, most=100).by_class.tolist()
    [1, 0]
    """
    ranked = _ranked(detections)
    label = detections.label[ranked].astype(np.int64)
    keys = label * images + detections.image[ranked]
    (groups, by_group), (labels, by_class) = parallel_map(_stably_sorted, (keys, label))
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


def _ranked(detections: CocoDetections) -> Places:
    """All detections by falling confidence, then image, then the order of the file."""
    image = detections.image
    if not np.any(image[1:] < image[:-1]):
        return rank(detections.confidence)
    _, by_image = _stably_sorted(image.astype(np.int64))
    return by_image[rank(detections.confidence[by_image])]


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
