"""Annotated objects of an image, as annotators wrote them."""

from dataclasses import dataclass

from scoring.data.boxes import BoxConvention


@dataclass(frozen=True, slots=True)
class Box:
    """The four sides of a box in pixels; what they mean says the convention of the `Annotation`."""

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
    """One object; what the annotation does not say of it is false."""

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

    convention: that of the boxes of objects and parts; verified: the classes that image-level labels say are in the image or
    are not, None where every class is annotated.
    """

    width: int
    height: int
    objects: tuple[AnnotatedObject, ...]
    convention: BoxConvention = BoxConvention.INCLUSIVE
    verified: frozenset[str] | None = None
