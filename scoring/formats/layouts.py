"""Layouts of persons: where somebody says that their heads, hands and feet are."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final
from xml.sax.saxutils import escape  # writes only, and reads nothing

import numpy as np

from scoring.arrays import Floats, Integers, Labels, Places
from scoring.truth.annotations import Box, Part

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


def layouts_to_xml(layouts: Iterable[Layout]) -> bytes:
    """The content of a result file with these layouts, as the kits write it; numbers are read back to the last bit.

    >>> hand = Part("hand", Box(10, 20, 30.5, 40))
    >>> layouts_to_xml([Layout("2008_000008", 0.5, (hand,), object=2)]).split()[2:5]
    [b'<image>2008_000008</image>', b'<object>2</object>', b'<confidence>0.5</confidence>']
    """
    lines = (f"\t{line}\n" for layout in layouts for line in _layout(layout))
    return "".join(["<results>\n", *lines, "</results>\n"]).encode()


def _layout(layout: Layout) -> Iterator[str]:
    yield "<layout>"
    yield f"\t<image>{escape(layout.image)}</image>"
    if layout.object is not None:
        yield f"\t<object>{layout.object}</object>"
    yield f"\t<confidence>{_number(layout.confidence)}</confidence>"
    if layout.box is not None:
        yield from _box(layout.box)
    for part in layout.parts:
        yield "\t<part>"
        yield f"\t\t<class>{escape(part.name)}</class>"
        yield from (f"\t{line}" for line in _box(part.box))
        yield "\t</part>"
    yield "</layout>"


def _box(box: Box) -> Iterator[str]:
    yield "\t<bndbox>"
    edges = (box.left, box.top, box.right, box.bottom)
    yield from (f"\t\t<{side}>{_number(edge)}</{side}>" for side, edge in zip(SIDES, edges, strict=True))
    yield "\t</bndbox>"


def _number(value: float) -> str:
    return np.format_float_positional(value, trim="-")
