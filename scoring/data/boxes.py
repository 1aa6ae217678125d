"""What the four numbers of a box mean."""

from enum import StrEnum

import numpy as np

from scoring.data.arrays import Floats


class BoxConvention(StrEnum):
    """Whether the right and bottom of a box are its last pixels or the edges behind them.

    INCLUSIVE: left, top, right, bottom are pixels that belong to the box, and the first pixel of an image is 1, so that a
    box is right - left + 1 pixels wide. Source: PASCAL VOC development kits.
    HALF_OPEN: the four numbers are edges without a width, and the image begins at the edge 0, so that a box is
    right - left wide. Source: COCO, Open Images, torchvision.
    """

    INCLUSIVE = "inclusive"
    HALF_OPEN = "half-open"


def convert_boxes(boxes: Floats, source: BoxConvention, target: BoxConvention) -> Floats:
    """The same areas in another convention; the array itself where source and target are the same.

    boxes: float64 (..., 4), left, top, right, bottom. Returns float64 (..., 4).

    >>> edges = np.array([[0.0, 0.0, 10.0, 5.0]])
    >>> convert_boxes(edges, BoxConvention.HALF_OPEN, BoxConvention.INCLUSIVE).tolist()
    [[1.0, 1.0, 10.0, 5.0]]
    """
    if source is target:
        return boxes
    shift: Floats = np.array([1.0, 1.0, 0.0, 0.0])
    converted: Floats = boxes + (shift if target is BoxConvention.INCLUSIVE else -shift)
    return converted
