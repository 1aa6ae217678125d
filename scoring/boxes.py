"""How much two boxes overlap."""

from collections.abc import Callable

import numpy as np

from scoring.arrays import Floats

Overlap = Callable[[Floats, Floats], Floats]
"""Overlap of pairs of boxes: float64 (n, 4) and (n, 4), or of shapes that broadcast, give (n,)."""


def overlap_of_pixels(boxes: Floats, others: Floats) -> Floats:
    """Intersection over union where the edges are pixels inside the box, pair by pair.

    boxes, others: float64 (..., 4), left, top, right, bottom in pixels, fractional, negative or beyond the image as
    they come. Returns float64 (...), in [0, 1] for boxes that do not end before they begin, and 0 for those that do. The
    operations and their order are the kit's, for the last bit's sake. Source: VOC2012 development kit, VOCevaldet.m.

    >>> overlap_of_pixels(np.array([[1.0, 1, 10, 10]]), np.array([[1.0, 1, 10, 5]])).item()
    0.5
    """
    left, top, right, bottom = (boxes[..., side] for side in range(4))
    other_left, other_top, other_right, other_bottom = (others[..., side] for side in range(4))
    width = np.minimum(right, other_right) - np.maximum(left, other_left) + 1
    height = np.minimum(bottom, other_bottom) - np.maximum(top, other_top) + 1
    shared: Floats = np.where((width > 0) & (height > 0), width * height, 0)
    union = (
        (right - left + 1) * (bottom - top + 1)
        + (other_right - other_left + 1) * (other_bottom - other_top + 1)
        - shared
    )
    found: Floats = np.divide(shared, union, out=np.zeros_like(shared), where=shared > 0)
    return found
