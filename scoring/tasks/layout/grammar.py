"""The grammar of one layout, and the problems of invalid ones."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NamedTuple, TypeVar

from scoring.archives.xml_records import Element, Grammar
from scoring.data.description import Image
from scoring.data.layouts import SIDES, UNLISTED, WHOLE_IMAGE, LayoutSet
from scoring.data.tables import PARTS
from scoring.errors import Problem, Problems, shown
from scoring.readers.lines.grammar import FURTHEST, QUOTED, Box, Invalid, check_box, number_in, unknown_image

_BELOW: Final = {"": ("results",), "results": ("layout",), "part": ("class", "bndbox"), "bndbox": SIDES}
_OF_OBJECTS: Final = Grammar("layout", _BELOW | {"layout": ("image", "object", "confidence", "part")})
_OF_BOXES: Final = Grammar("layout", _BELOW | {"layout": ("image", "confidence", "bndbox", "part")})
_OBJECT: Final = re.compile(r"0*[1-9][0-9]{0,8}")
_NOWHERE: Final = Box(*[float("nan")] * 4)

_Value = TypeVar("_Value")


class PlacedPart(NamedTuple):
    """A predicted part: its index in PARTS, and its box in pixels."""

    kind: int
    box: Box


class Row(NamedTuple):
    """A layout: the person's place in the description, or UNLISTED, the confidence, the box and the parts."""

    person: int
    confidence: float
    box: Box
    parts: list[PlacedPart]


def grammar_of(listed: LayoutSet) -> Grammar:
    """The XML grammar of a file: persons by number, or by box."""
    return _OF_BOXES if listed.boxed else _OF_OBJECTS


@dataclass(slots=True)
class LayoutReader:
    """Reads the layouts of one file, and keeps the line of each person's first layout."""

    listed: LayoutSet
    file: str
    problems: Problems
    first_lines: dict[tuple[str, int], int] = field(default_factory=dict)
    names: frozenset[bytes] = frozenset()  # of the images, once one is unknown

    def read(self, layout: Element) -> Row | None:
        """The values of a layout; None if one is invalid, each of which becomes a problem."""
        boxed = self.listed.boxed
        image = self._leaf(layout, "image", self._image)
        number = WHOLE_IMAGE if boxed else self._leaf(layout, "object", _object)
        confidence = self._leaf(layout, "confidence", lambda text: number_in(text, "confidence"))
        box = self._box(layout, image) if boxed else _NOWHERE
        parts = [self._part(each, image) for each in layout.inside if each.name == "part"]
        if image is None or number is None:
            return None
        person = self.listed.places.get((image.id, number), UNLISTED)
        first = None if boxed else self._first_layout(layout, (image.id, number))
        if not parts:
            self._add_empty_layout(layout, image, first)
        good = [part for part in parts if part is not None]
        if confidence is None or box is None or len(good) < len(parts):
            return None
        return Row(person, confidence, box, good)

    def _one(self, parent: Element, name: str) -> Element | None:
        """The only child element of this name; a problem and None if there is none or several."""
        found = [each for each in parent.inside if each.name == name]
        if not found:
            message = f"<{parent.name}> has no <{name}>; expected one"
            self._add_problem(Invalid("missing-element", message, expected=f"<{name}>"), parent.line)
        for each in found[1:]:
            message = f"<{parent.name}> has a second <{name}>; expected one"
            self._add_problem(Invalid("repeated-element", message, found=f"<{name}>"), each.line)
        return found[0] if len(found) == 1 else None

    def _leaf(self, parent: Element, name: str, read: Callable[[bytes], _Value | Invalid]) -> _Value | None:
        """The value in the text of the only child element of this name."""
        element = self._one(parent, name)
        if element is None:
            return None
        value = read(element.text.encode())
        if isinstance(value, Invalid):
            self._add_problem(value, element.line)
            return None
        return value

    def _image(self, text: bytes) -> Image | Invalid:
        known = self.listed.images
        if text in known:
            return known[text]
        self.names = self.names or frozenset(known)
        return unknown_image(text, self.names, self.listed.where)

    def _part(self, part: Element, image: Image | None) -> PlacedPart | None:
        kind, box = self._leaf(part, "class", _kind), self._box(part, image)
        return None if kind is None or box is None else PlacedPart(kind, box)

    def _box(self, parent: Element, image: Image | None) -> Box | None:
        element = self._one(parent, "bndbox")
        if element is None:
            return None
        edges = [self._leaf(element, side, partial(_edge, side)) for side in SIDES]
        good = [edge for edge in edges if edge is not None]
        if len(good) < len(edges):
            return None
        box = Box(*good)
        if image is not None and (wrong := check_box(box, image)) is not None:
            self.problems.add(wrong.at(self.file, element.line), self.problems.mistakes)
        return box

    def _first_layout(self, layout: Element, person: tuple[str, int]) -> int | None:
        """The line of the person's first layout, None if this is it; adds notes where the kits give a warning."""
        image, number = shown(person[0], QUOTED), person[1]
        if person not in self.listed.places:
            message = f"person {number} of '{image}' is not in {self.listed.where}; the layout is passed over"
            self.problems.note(Problem("unlisted-person", message, self.file, layout.line, found=str(number)))
        first = self.first_lines.get(person)
        self.first_lines.setdefault(person, layout.line)
        if first is not None:
            message = (
                f"a second layout of person {number} of '{image}', the first is on line {first};"
                " from 2010 on only the most confident one counts"
            )
            self.problems.note(Problem("second-layout", message, self.file, layout.line))
        return first

    def _add_empty_layout(self, layout: Element, image: Image, first: int | None) -> None:
        message = f"the layout of '{shown(image.id, QUOTED)}' has no <part>; expected at least one"
        if first is not None:
            message += f"; and it is a duplicate: line {first} has a layout of the same person"
        problem = Problem("empty-layout", message, self.file, layout.line, expected="<part>")
        self.problems.add(problem, self.problems.mistakes)

    def _add_problem(self, wrong: Invalid, line: int) -> None:
        self.problems.add(wrong.at(self.file, line))


def _object(text: bytes) -> int | Invalid:
    if _OBJECT.fullmatch(text.decode()):
        return int(text)
    found = shown(text, QUOTED)
    message = f"expected an object's number, counted from 1, as object, found '{found}'"
    return Invalid("not-a-number", message, found, "a whole number from 1")


def _kind(text: bytes) -> int | Invalid:
    word = text.decode()
    if word in PARTS:
        return PARTS.index(word)
    found, expected = shown(word, QUOTED), ", ".join(PARTS)
    return Invalid(
        "unknown-part", f"unknown part class '{found}'; expected one of {expected}", found, expected
    )


def _edge(side: str, text: bytes) -> float | Invalid:
    value = number_in(text, side)
    if isinstance(value, Invalid) or abs(value) <= FURTHEST:
        return value
    message = (
        f"the box has a coordinate of {value:g} as {side}; expected values within ±{FURTHEST:.0f} pixels"
    )
    return Invalid("coordinate-range", message, f"{value:g}", f"±{FURTHEST:.0f}")
