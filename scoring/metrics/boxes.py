"""IoU and IoA of boxes."""

from collections.abc import Callable
from typing import Final

import numpy as np

from scoring.data.arrays import Floats

IoU = Callable[[Floats, Floats], Floats]
"""Intersection over union of pairs of boxes: float64 (n, 4) and (n, 4), or shapes that broadcast, give float64 (n,)."""


_HUGE: Final = np.errstate(over="ignore")
"""For boxes with an infinite area, whose IoU with others is 0."""


@_HUGE
def iou_inclusive(boxes: Floats, others: Floats) -> Floats:
    """Intersection over union of boxes whose edges are pixels inside them, pair by pair.

    boxes, others: float64 (..., 4), left, top, right, bottom in pixels (`BoxConvention.INCLUSIVE`). Returns float64 (...)
    in [0, 1], and 0 for inverted boxes. The operations and their order are those of the kit, so that the last bit agrees.
    Source: VOC2012 development kit, VOCevaldet.m.

    >>> iou_inclusive(np.array([[1.0, 1, 10, 10]]), np.array([[1.0, 1, 10, 5]])).item()
    0.5
    """
    left, top, right, bottom = (boxes[..., side] for side in range(4))
    other_left, other_top, other_right, other_bottom = (others[..., side] for side in range(4))
    width = np.minimum(right, other_right) - np.maximum(left, other_left) + 1
    height = np.minimum(bottom, other_bottom) - np.maximum(top, other_top) + 1
    intersection = np.maximum(width, 0) * np.maximum(height, 0)
    union = (
        (right - left + 1) * (bottom - top + 1)
        + (other_right - other_left + 1) * (other_bottom - other_top + 1)
        - intersection
    )
    ratio: Floats = intersection / np.where(
        intersection > 0, union, 1
    )  # the union of inverted boxes may be 0
    return ratio


@_HUGE
def iou_half_open(boxes: Floats, others: Floats) -> Floats:
    """Intersection over union of boxes whose edges are lines without a width, pair by pair.

    boxes, others: float64 (..., 4), left, top, right, bottom in any unit (`BoxConvention.HALF_OPEN`). Returns float64 (...)
    in [0, 1], and 0 for boxes that are inverted or have no area.
    Source: TensorFlow Object Detection API, np_box_ops.py.

    >>> iou_half_open(np.array([[0.0, 0, 10, 10]]), np.array([[0.0, 0, 10, 5]])).item()
    0.5
    """
    intersection = _intersection(boxes, others)
    union = _area(boxes) + _area(others) - intersection
    ratio: Floats = np.divide(intersection, union, out=np.zeros_like(intersection), where=intersection > 0)
    return ratio


def ioa(boxes: Floats, others: Floats) -> Floats:
    """Intersection over the area of the first box, pair by pair.

    boxes, others: float64 (..., 4), units as in `iou_half_open`. Returns float64 (...) in [0, 1].

    >>> ioa(np.array([[0.0, 0, 4, 4]]), np.array([[0.0, 0, 2, 100]])).item()
    0.5
    """
    intersection = _intersection(boxes, others)
    ratio: Floats = np.divide(
        intersection, _area(boxes), out=np.zeros_like(intersection), where=intersection > 0
    )
    return ratio


def _intersection(boxes: Floats, others: Floats) -> Floats:
    """The area of the intersection, pair by pair: float64 (...), in the square of the boxes' unit."""
    width = np.minimum(boxes[..., 2], others[..., 2]) - np.maximum(boxes[..., 0], others[..., 0])
    height = np.minimum(boxes[..., 3], others[..., 3]) - np.maximum(boxes[..., 1], others[..., 1])
    intersection: Floats = np.where((width > 0) & (height > 0), width * height, 0)
    return intersection


def _area(boxes: Floats) -> Floats:
    area: Floats = (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])
    return area
