"""Annotations of a picture: its objects, their boxes, flags, parts and actions."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sample.canvas import ZOOM, Regions
from sample.paintings import Painted, Painting

_LEAST_PIXELS = 40  # what shows less is not annotated at all
_LEAST_SIDE = 26  # what is smaller is difficult
_LAYOUT_HEIGHT = 96  # persons from this height on have parts
_ACTION_HEIGHT = 68
# area of a part in the open, as a share of the squared height of its person
_PART_AREA = {"head": math.pi * 0.092 * 0.105, "hand": math.pi * 0.04 * 0.042, "foot": math.pi * 0.05 * 0.034}
_LEAST_PART = 0.5


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle of whole pixels, both edges inside; the top left pixel is (1, 1)."""

    left: int
    top: int
    right: int
    bottom: int


@dataclass(frozen=True, slots=True)
class Part:
    """What is seen of a head, hand or foot."""

    name: str
    box: Box


@dataclass(frozen=True, slots=True)
class Object:
    """One annotated object; `parts` and `actions` are None where they are not annotated."""

    class_name: str
    view: str
    truncated: bool
    occluded: bool
    difficult: bool
    box: Box
    parts: tuple[Part, ...] | None = None
    actions: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Annotation:
    """The annotation of one image."""

    image: str
    width: int
    height: int
    segmented: bool
    objects: tuple[Object, ...]


@dataclass(frozen=True, slots=True)
class Labelled:
    """An annotation and uint8 (height, width) which object each pixel shows: 0 none, 255 one not annotated."""

    annotation: Annotation
    shown: Regions


def annotate(painting: Painting, image: str, *, segmented: bool) -> Labelled:
    """Tell what a painting shows; objects are in the order of painting."""
    height, width = painting.regions.shape
    objects: list[Object] = []
    numbers = np.zeros(256, dtype=np.uint8)
    for painted in painting.things:
        last = max(painted.parts, default=painted.region)
        found = _object(painting.regions, painted, last)
        if found is not None:
            objects.append(found)
        numbers[painted.region : last + 1] = len(objects) if found else 255
    return Labelled(Annotation(image, width, height, segmented, tuple(objects)), numbers[painting.regions])


def _object(regions: Regions, painted: Painted, last: int) -> Object | None:
    seen = (regions >= painted.region) & (regions <= last)
    visible = int(np.count_nonzero(seen))
    if visible < _LEAST_PIXELS:
        return None
    box = tight_box(seen)
    height, width = regions.shape
    inside = _share_inside(painted.extent, width, height)
    open_share = visible / painted.pixels
    small = max(box.right - box.left, box.bottom - box.top) + 1 < _LEAST_SIDE
    difficult = small or open_share < 0.4 or inside < 0.3
    stance, tall = painted.thing.stance, box.bottom - box.top + 1
    parts = _parts(regions, painted) if stance and not difficult and tall >= _LAYOUT_HEIGHT else ()
    return Object(
        painted.thing.class_name,
        painted.thing.view,
        truncated=inside < 0.96,
        occluded=open_share < 0.85,
        difficult=difficult,
        box=box,
        parts=parts or None,
        actions=stance.actions if stance and not difficult and tall >= _ACTION_HEIGHT else None,
    )


def _share_inside(extent: tuple[float, float, float, float], width: int, height: int) -> float:
    """Share of the drawn rectangle that lies inside the picture."""
    left, top, right, bottom = extent
    across = (min(right, width) - max(left, 0.0)) / (right - left)
    return across * (min(bottom, height) - max(top, 0.0)) / (bottom - top)


def _parts(regions: Regions, painted: Painted) -> tuple[Part, ...]:
    """Parts that are seen well enough, head first; none at all where the head is hidden."""
    parts: list[Part] = []
    for number, name in painted.parts.items():
        seen = regions == number
        if np.count_nonzero(seen) >= _LEAST_PART * _PART_AREA[name] * (painted.thing.spot.size * ZOOM) ** 2:
            parts.append(Part(name, tight_box(seen)))
    heads = [part for part in parts if part.name == "head"]
    return (*heads, *(part for part in parts if part.name != "head")) if heads else ()


def tight_box(seen: npt.NDArray[np.bool_]) -> Box:
    """Return the smallest box around what is true in bool (height, width).

    >>> tight_box(np.array([[False, False], [False, True]]))
    Box(left=2, top=2, right=2, bottom=2)
    """
    across, down = np.flatnonzero(seen.any(axis=0)), np.flatnonzero(seen.any(axis=1))
    return Box(int(across[0]) + 1, int(down[0]) + 1, int(across[-1]) + 1, int(down[-1]) + 1)


def persons_with_parts(annotation: Annotation) -> list[int]:
    """Numbers, from 1, of the objects in the Layout set."""
    return [number for number, thing in enumerate(annotation.objects, 1) if thing.parts is not None]


def acting_persons(annotation: Annotation) -> list[int]:
    """Numbers, from 1, of the objects in the Action set."""
    return [number for number, thing in enumerate(annotation.objects, 1) if thing.actions is not None]


def presence(annotation: Annotation, class_name: str) -> int:
    """Return the kit's label of an image: 1 shows the class, 0 only difficult ones of it, -1 none."""
    flags = [thing.difficult for thing in annotation.objects if thing.class_name == class_name]
    if not flags:
        return -1
    return 0 if all(flags) else 1
