"""Annotated objects of an image, as annotators wrote them, and what the numbers of their boxes mean."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from .arrays import Floats


class BoxConvention(StrEnum):
    """Whether the right and bottom of a box are its last pixels or the edges behind them.

    INCLUSIVE: left, top, right, bottom are pixels that belong to the box, and the first pixel of an image is 1, so that a
    box is right - left + 1 pixels wide. Source: PASCAL VOC development kits.
    HALF_OPEN: the four numbers are edges without a width, and the image begins at the edge 0, so that a box is
    right - left wide. Source: COCO, Open Images, torchvision.
    """

    INCLUSIVE = "inclusive"
    HALF_OPEN = "half-open"

    def convert(self, boxes: Floats, target: "BoxConvention") -> Floats:
        """The same areas in another convention; the array itself where that is this one.

        boxes: float64 (..., 4), left, top, right, bottom. Returns float64 (..., 4).

        >>> BoxConvention.HALF_OPEN.convert(np.array([[0.0, 0.0, 10.0, 5.0]]), BoxConvention.INCLUSIVE).tolist()
        [[1.0, 1.0, 10.0, 5.0]]
        """
        if target is self:
            return boxes
        shift: Floats = np.array([1.0, 1.0, 0.0, 0.0])
        converted: Floats = boxes + (shift if target is BoxConvention.INCLUSIVE else -shift)
        return converted


@dataclass(frozen=True, slots=True)
class Box:
    """The left, top, right and bottom of a box in pixels, by the convention of its `Annotation`."""

    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True, slots=True)
class Part:
    """A head, hand or foot of a person."""

    name: str
    box: Box


@dataclass(frozen=True, slots=True)
class AnnotatedObject:
    """An annotated object: its class, its box, its flags, and the parts of a person.

    group_of: whether the box is drawn around several objects, as Open Images and COCO's crowds have it.
    """

    name: str
    box: Box
    difficult: bool = False
    truncated: bool = False
    occluded: bool = False
    group_of: bool = False
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class Annotation:
    """An image's size in pixels, and its objects in the order of the file, which decides ties.

    oddities: sentences on fields that are read otherwise than one may think;
    convention: that of the boxes of objects and parts; verified: the classes that image-level labels say are in the image or
    are not, None where every class is annotated.
    """

    width: int
    height: int
    objects: tuple[AnnotatedObject, ...]
    convention: BoxConvention = BoxConvention.INCLUSIVE
    verified: frozenset[str] | None = None
    oddities: tuple[str, ...] = ()
