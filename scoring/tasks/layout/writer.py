"""Result files of person layout, written as XML."""

from collections.abc import Iterable, Iterator
from html import escape

import numpy as np

from scoring.data.annotations import Box
from scoring.data.layouts import SIDES, Layout


def layouts_to_xml(layouts: Iterable[Layout]) -> bytes:
    """The content of a result file with these layouts, in the format of the development kits; numbers keep every bit.

    >>> from scoring import Box, Part
    >>> hand = Part("hand", Box(10, 20, 30.5, 40))
    >>> layouts_to_xml([Layout("2008_000008", 0.5, (hand,), object=2)]).split()[2:5]
    [b'<image>2008_000008</image>', b'<object>2</object>', b'<confidence>0.5</confidence>']
    """
    lines = (f"\t{line}\n" for layout in layouts for line in _layout(layout))
    return "".join(["<results>\n", *lines, "</results>\n"]).encode()


def _layout(layout: Layout) -> Iterator[str]:
    yield "<layout>"
    yield f"\t<image>{escape(layout.image, quote=False)}</image>"
    if layout.object is not None:
        yield f"\t<object>{layout.object}</object>"
    yield f"\t<confidence>{_number(layout.confidence)}</confidence>"
    if layout.box is not None:
        yield from _box(layout.box)
    for part in layout.parts:
        yield "\t<part>"
        yield f"\t\t<class>{escape(part.name, quote=False)}</class>"
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
