"""Reading a drawn challenge back, for those who perturb it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np
from defusedxml.ElementTree import fromstring
from PIL import Image

from sample.annotations import Annotation, Box, Object, Part, acting_persons, persons_with_parts
from sample.canvas import Regions
from sample.shapes import ACTIONS


@dataclass(frozen=True, slots=True)
class Truth:
    """The annotation of one image set of the sample challenge."""

    tree: Path
    image_set: str
    annotations: tuple[Annotation, ...]

    @property
    def segmented(self) -> tuple[Annotation, ...]:
        """The images that have masks."""
        return tuple(one for one in self.annotations if one.segmented)

    @property
    def layouts(self) -> tuple[tuple[Annotation, int], ...]:
        """The persons of the Layout set: image and number of the object, from 1."""
        return _persons(self.annotations, persons_with_parts)

    @property
    def acting(self) -> tuple[tuple[Annotation, int], ...]:
        """The persons of the Action set: image and number of the object, from 1."""
        return _persons(self.annotations, acting_persons)

    def objects_shown(self, image: str) -> Regions:
        """Return uint8 (height, width): the number of the object at each pixel, 255 where it is void."""
        with Image.open(self.tree / "SegmentationObject" / f"{image}.png") as mask:
            return np.asarray(mask)


def _persons(
    annotations: tuple[Annotation, ...], chosen: Callable[[Annotation], list[int]]
) -> tuple[tuple[Annotation, int], ...]:
    return tuple((one, number) for one in annotations for number in chosen(one))


def read_truth(tree: Path, image_set: str) -> Truth:
    """Read the annotation of one image set of a drawn tree."""
    images = (tree / "ImageSets" / "Main" / f"{image_set}.txt").read_text(encoding="ascii").split()
    return Truth(tree, image_set, tuple(_annotation(tree, image) for image in images))


def _annotation(tree: Path, image: str) -> Annotation:
    root = fromstring((tree / "Annotations" / f"{image}.xml").read_bytes())
    return Annotation(
        image,
        width=_number(root, "size/width"),
        height=_number(root, "size/height"),
        segmented=_number(root, "segmented") == 1,
        objects=tuple(_object(node) for node in root.findall("object")),
    )


def _object(node: Element) -> Object:
    parts = tuple(Part(_text(part, "name"), _box(part)) for part in node.findall("part"))
    acting = node.find("actions") is not None
    return Object(
        _text(node, "name"),
        _text(node, "pose"),
        truncated=_number(node, "truncated") == 1,
        occluded=_number(node, "occluded") == 1,
        difficult=_number(node, "difficult") == 1,
        box=_box(node),
        parts=parts or None,
        actions=frozenset(a for a in ACTIONS if _number(node, f"actions/{a}") == 1) if acting else None,
    )


def _box(node: Element) -> Box:
    left, top, right, bottom = (_number(node, f"bndbox/{edge}") for edge in ("xmin", "ymin", "xmax", "ymax"))
    return Box(left, top, right, bottom)


def _number(node: Element, path: str) -> int:
    return int(_text(node, path))


def _text(node: Element, path: str) -> str:
    text = node.findtext(path)
    if text is None:
        raise ValueError(f"expected an element {path} in {node.tag}, found none")
    return text
