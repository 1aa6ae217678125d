"""Person layouts: boxes of heads, hands and feet."""

from dataclasses import dataclass
from typing import Final

from scoring.data.annotations import Box, Part
from scoring.data.arrays import Floats, Integers, Labels, Places

UNLISTED: Final = -1
"""Stands for a person who is not in the Layout set."""


SIDES: Final = ("xmin", "ymin", "xmax", "ymax")
"""What files call the left, top, right and bottom of a box."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The layout of one person.

    object counts the objects of the image from 1. Where the set lists images only, as in 2007, there is the person's box
    instead.
    """

    image: str
    confidence: float
    parts: tuple[Part, ...]
    object: int | None = None
    box: Box | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Layouts:
    """The layouts of a result file, in its order.

    person: int32 (n,), place in Description.persons, or UNLISTED; confidence: float64 (n,), finite; boxes: float64 (n, 4),
    of the persons, NaN where they have a number instead; first: int64 (n + 1,), where the parts of a layout begin and those
    of the one before end; kind: int8 (m,), into truth.PARTS; parts: float64 (m, 4). Boxes are left, top, right, bottom in
    pixels as given, finite, possibly outside the image or inverted.
    """

    person: Integers
    confidence: Floats
    boxes: Floats
    first: Places
    kind: Labels
    parts: Floats

    def __len__(self) -> int:
        """How many layouts there are."""
        return len(self.person)
