"""Indexed label images in the kit's colours."""

from pathlib import Path
from typing import BinaryIO

import numpy as np
from PIL import Image

from sample.annotations import Labelled
from sample.canvas import Regions
from sample.shapes import CLASSES

VOID = 255


def label_colours(count: int = 256) -> bytes:
    """Return the kits' colour map, three bytes a label: the bits of the label spread over red, green and blue.

    >>> list(label_colours(4))
    [0, 0, 0, 128, 0, 0, 0, 128, 0, 128, 128, 0]
    """
    colours = bytearray()
    for label in range(count):
        for channel in range(3):
            bits = [(label >> (3 * level + channel)) & 1 for level in range(3)]
            colours.append(sum(bit << (7 - level) for level, bit in enumerate(bits)))
    return bytes(colours)


_COLOURS = label_colours()


def object_mask(labelled: Labelled) -> Regions:
    """Return uint8 (height, width): the number of the object, void at borders and on difficult ones."""
    shown = labelled.shown
    hidden = np.zeros(256, dtype=np.bool_)
    hidden[VOID] = True
    for number, thing in enumerate(labelled.annotation.objects, 1):
        hidden[number] = thing.difficult
    return np.where(hidden[shown] | _borders(shown), np.uint8(VOID), shown)


def class_mask(labelled: Labelled, objects: Regions) -> Regions:
    """Return uint8 (height, width): the class of each pixel of an object mask, numbered as in CLASSES from 1."""
    classes = np.zeros(256, dtype=np.uint8)
    classes[VOID] = VOID
    for number, thing in enumerate(labelled.annotation.objects, 1):
        classes[number] = CLASSES.index(thing.class_name) + 1
    return classes[objects]


def _borders(shown: Regions) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Where something else is shown at most two pixels to the left, right, above or below: four pixels wide."""
    border = np.zeros(shown.shape, dtype=np.bool_)
    for far in (1, 2):
        across, down = shown[:, far:] != shown[:, :-far], shown[far:] != shown[:-far]
        border[:, far:] |= across
        border[:, :-far] |= across
        border[far:] |= down
        border[:-far] |= down
    return border


def write_mask(mask: Regions, file: Path | BinaryIO) -> None:
    """Write a label image as an indexed PNG."""
    image = Image.fromarray(mask)
    image.putpalette(_COLOURS)
    image.save(file, format="PNG")
