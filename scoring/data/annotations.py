"""Annotated objects of an image, as annotators wrote them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Box:
    """The outermost pixels that belong to a thing; the top left pixel of an image is (1, 1)."""

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
    """An image's size in pixels, and its objects in the order of the file, which decides ties."""

    width: int
    height: int
    objects: tuple[AnnotatedObject, ...]
