"""How much two boxes overlap."""

from collections.abc import Callable

import numpy as np

from scoring.data.arrays import Floats

IoU = Callable[[Floats, Floats], Floats]
"""Overlap of pairs of boxes: float64 (n, 4) and (n, 4), or of shapes that broadcast, give (n,)."""


def iou_inclusive(boxes: Floats, others: Floats) -> Floats:
    """Intersection over union where the edges are pixels inside the box, pair by pair.

    boxes, others: float64 (..., 4), left, top, right, bottom in pixels, fractional, negative or beyond the image as
    they come. Returns float64 (...), in [0, 1] for boxes that do not end before they begin, and 0 for those that do. The
    operations and their order are the kit's, for the last bit's sake. Source: VOC2012 development kit, VOCevaldet.m.

    >>> iou_inclusive(np.array([[1.0, 1, 10, 10]]), np.array([[1.0, 1, 10, 5]])).item()
    0.5
    """
    left, top, right, bottom = (boxes[..., side] for side in range(4))
    other_left, other_top, other_right, other_bottom = (others[..., side] for side in range(4))
    width = np.minimum(right, other_right) - np.maximum(left, other_left) + 1
    height = np.minimum(bottom, other_bottom) - np.maximum(top, other_top) + 1
    shared = np.maximum(width, 0) * np.maximum(height, 0)
    union = (
        (right - left + 1) * (bottom - top + 1)
        + (other_right - other_left + 1) * (other_bottom - other_top + 1)
        - shared
    )
    found: Floats = shared / np.where(shared > 0, union, 1)  # boxes that end before they begin may unite to 0
    return found


def iou_half_open(boxes: Floats, others: Floats) -> Floats:
    """Intersection over union where the edges are lines without a width, pair by pair.

    boxes, others: float64 (..., 4), left, top, right, bottom in any unit. Returns float64 (...), in [0, 1] for boxes that do
    not end before they begin, and 0 for those that do or have no area. Source: TensorFlow Object Detection API,
    np_box_ops.py.

    >>> iou_half_open(np.array([[0.0, 0, 10, 10]]), np.array([[0.0, 0, 10, 5]])).item()
    0.5
    """
    shared = _shared(boxes, others)
    union = _area(boxes) + _area(others) - shared
    found: Floats = np.divide(shared, union, out=np.zeros_like(shared), where=shared > 0)
    return found


def ioa(boxes: Floats, others: Floats) -> Floats:
    """Which share of its own area a box has in common with the other, pair by pair; shapes as in `iou_half_open`.

    >>> ioa(np.array([[0.0, 0, 4, 4]]), np.array([[0.0, 0, 2, 100]])).item()
    0.5
    """
    shared = _shared(boxes, others)
    found: Floats = np.divide(shared, _area(boxes), out=np.zeros_like(shared), where=shared > 0)
    return found


def _shared(boxes: Floats, others: Floats) -> Floats:
    """The area of the intersection, pair by pair: float64 (...), in the square of the boxes' unit."""
    width = np.minimum(boxes[..., 2], others[..., 2]) - np.maximum(boxes[..., 0], others[..., 0])
    height = np.minimum(boxes[..., 3], others[..., 3]) - np.maximum(boxes[..., 1], others[..., 1])
    shared: Floats = np.where((width > 0) & (height > 0), width * height, 0)
    return shared


def _area(boxes: Floats) -> Floats:
    area: Floats = (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])
    return area
