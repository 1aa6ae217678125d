"""Annotated objects of an image, as annotators wrote them."""

from dataclasses import dataclass

from scoring.data.boxes import BoxConvention


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
