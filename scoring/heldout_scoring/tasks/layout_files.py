"""Files of person layouts: read and checked."""

import re
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NamedTuple, TypeVar

import numpy as np

from ..archives.results import ResultFile
from ..archives.xml_records import (
    LONGEST_TEXT,
    MOST_BYTES,
    MOST_ELEMENTS,
    MOST_IN_A_RECORD,
    Element,
    Grammar,
    read_records,
)
from ..data.annotations import PARTS
from ..data.description import Description, Image
from ..data.layouts import SIDES, UNLISTED, WHOLE_IMAGE, LayoutSet, LayoutTable
from ..errors import Problem, Problems, shown
from ..readers.image_index import ImageIndex
from ..readers.lines import FURTHEST, QUOTED, Box, Invalid, check_box, number_in, unknown_image
from .files import Checked, Inspection, TaskFiles, digest_of, severity_of_missing

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


_BLANK: Final = r"[ \t\n]*+"


_NAME: Final = r"[!-%'-;=?-~]++"  # printable ASCII without what XML writes otherwise


_OBJECT_NUMBER: Final = r"0*+[1-9][0-9]{0,8}"


_NUMBER: Final = r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?"


def _inside(name: str, content: str) -> str:
    return f"<{name}>{_BLANK}{content}{_BLANK}</{name}>{_BLANK}"


_PERSON: Final = "".join(
    _inside(name, f"({value})")
    for name, value in (("image", _NAME), ("object", _OBJECT_NUMBER), ("confidence", _NUMBER))
)


_PART: Final = _inside("class", f"({'|'.join(PARTS)})") + _inside(
    "bndbox", "".join(_inside(side, f"({_NUMBER})") for side in SIDES)
)


_PERSONS: Final = re.compile(_PERSON)


_PARTS: Final = re.compile(_PART)


_LAYOUT: Final = _inside("layout", f"{_PERSON}(?:{_inside('part', _PART)})++")


_FILE: Final = re.compile(
    rf'(?:<\?xml version="1\.0"(?: encoding="[Uu][Tt][Ff]-8")? ?\?>)?{_BLANK}'
    + _inside("results", f"(?:{_LAYOUT})++")
)


_ELEMENTS_OF_A_PART: Final = 7


_ELEMENTS_OF_A_PERSON: Final = 4


def read_usual_form(data: bytes, listed: LayoutSet) -> LayoutTable | None:
    """The layouts of a file, if every element is in the order of the development kits and none needs a problem or a note.

    None for any other file, which has to be read element by element, and for sets that list images only.

    >>> from heldout_scoring.data.description import Description
    >>> listed = LayoutSet.of(Description("VOC2012", "val", (), (), (), persons=(("2008_000008", 2),)))
    >>> print(read_usual_form(b"<results><layout><image>2008_000008</image></layout></results>", listed))
    None
    """
    if listed.boxed or not data.isascii() or not _is_within_limits(data):
        return None
    text = data.decode("ascii")
    if not _FILE.fullmatch(text):
        return None
    persons, parts = _PERSONS.findall(text), _PARTS.findall(text)
    places = [listed.places.get((image, int(number))) for image, number, _ in persons]
    count = np.array([layout.count("<part>") for layout in text.split("</layout>")[:-1]])
    table = LayoutTable(
        person=np.array([place for place in places if place is not None], np.int32),
        confidence=np.array([float(confidence) for *_, confidence in persons]),
        boxes=np.full((len(persons), 4), np.nan),
        first=np.cumsum([0, *count], dtype=np.intp),
        kind=np.array([PARTS.index(kind) for kind, *_ in parts], np.int8),
        parts=np.array([[float(edge) for edge in edges] for _, *edges in parts]),
    )
    is_small = _ELEMENTS_OF_A_PERSON + _ELEMENTS_OF_A_PART * int(count.max()) <= MOST_IN_A_RECORD
    return table if is_small and None not in places and _needs_no_remark(table) else None


def _is_within_limits(data: bytes) -> bool:
    """Whether the XML reader would take this many bytes and elements, and texts of this length."""
    begins = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("<"))
    longest = int(np.diff(begins).max(initial=0))
    return len(data) <= MOST_BYTES and len(begins) <= MOST_ELEMENTS and longest <= LONGEST_TEXT


def _needs_no_remark(table: LayoutTable) -> bool:
    """Whether each person has one layout, confidences are finite and no box is inverted or far away."""
    sides = table.parts[:, 2:] - table.parts[:, :2] + 1
    return bool(
        len(np.unique(table.person)) == len(table)
        and np.isfinite(table.confidence).all()
        and (np.abs(table.parts) <= FURTHEST).all()
        and (sides > 0).all()
    )


def read_layouts(data: bytes, images: ImageIndex, *, file: str, problems: Problems) -> LayoutTable:
    r"""Read a file of `<results><layout>…</layout>…</results>`, elements in any order, numbers exactly Python's float().

    An invalid layout becomes a problem with its line, and is left out. What the development kits warn of becomes a note: a
    person who is not in the set, a second layout of a person. A layout without a part and a box that ends before it begins
    are kept as in the kits; `problems.mistakes` says whether they are problems or notes. A file without any layout or any part
    is a problem, because the kits cannot read it.

    >>> from heldout_scoring.data.description import Description
    >>> index = ImageIndex.of(Description("VOC2012", "val", (), (), (), persons=(("2008_000008", 2),)))
    >>> text = b"<results><layout><image>2008_000008</image><object>3</object></layout></results>"
    >>> found = Problems()
    >>> len(read_layouts(text, index, file="comp7_layout_val.xml", problems=found))
    0
    >>> print(found.listed[0])
    comp7_layout_val.xml:1: <layout> has no <confidence>; expected one
    """
    found = read_usual_form(data, images.persons)
    if found is not None:
        return found
    reader, columns = LayoutReader(images.persons, file, problems), _Columns()
    count = len(problems.listed)

    def take(layout: Element) -> None:
        columns.seen += 1
        row = reader.read(layout)
        if row is not None:
            columns.add(row)

    read_records(data, grammar_of(images.persons), take, file=file, problems=problems)
    if len(problems.listed) == count and not columns.kind:
        what = "layout has a <part>" if columns.seen else "<layout> is in the file: it is empty"
        problems.add(Problem("no-part" if columns.seen else "no-layout", f"no {what}", file))
    return columns.layouts()


@dataclass(slots=True)
class _Columns:
    """The layouts so far, as columns: a list of objects would take ten times the memory."""

    seen: int = 0
    person: "array[int]" = field(default_factory=lambda: array("i"))
    confidence: "array[float]" = field(default_factory=lambda: array("d"))
    boxes: "array[float]" = field(default_factory=lambda: array("d"))
    first: "array[int]" = field(default_factory=lambda: array("q", [0]))
    kind: "array[int]" = field(default_factory=lambda: array("b"))
    parts: "array[float]" = field(default_factory=lambda: array("d"))

    def add(self, row: Row) -> None:
        self.person.append(row.person)
        self.confidence.append(row.confidence)
        self.boxes.extend(row.box)
        for part in row.parts:
            self.kind.append(part.kind)
            self.parts.extend(part.box)
        self.first.append(len(self.kind))

    def layouts(self) -> LayoutTable:
        return LayoutTable(
            person=np.array(self.person, np.int32),
            confidence=np.array(self.confidence, np.float64),
            boxes=np.array(self.boxes, np.float64).reshape(-1, 4),
            first=np.array(self.first, np.intp),
            kind=np.array(self.kind, np.int8),
            parts=np.array(self.parts, np.float64).reshape(-1, 4),
        )


def check_layouts(file: ResultFile, checked: Checked, inspection: Inspection) -> None:
    """Check the layouts of all persons and count them."""
    images, problems = inspection.images, inspection.problems
    wrong = problems.total
    found = read_layouts(file.read(), images, file=file.name, problems=problems)
    checked.lines += len(found)
    total = len(images.persons.places)
    missing = total - len(np.unique(found.person[found.person != UNLISTED]))
    boxes = np.nan_to_num(found.boxes, nan=np.inf)  # of persons that have a number instead
    checked.digests[file.key] = digest_of(
        found.person, found.confidence, boxes, found.first, found.kind, found.parts
    )
    checked.add_list(file.key, found.confidence, is_partial=missing > 0)
    if missing and len(found) and problems.total == wrong:  # what is refused is not missing
        whom = "images" if images.persons.boxed else "persons"
        message = f"{missing:,} of the {total:,} {whom} of {images.persons.where} have no layout and count as missed"
        note = Problem("missing-predictions", message, file.name, found=str(missing))
        problems.add(note, severity_of_missing(missing, total))


def one_for_each_person(description: Description) -> int:
    """As many predictions as there are persons."""
    return len(description.persons)


FILES: Final = TaskFiles(read_layouts, check_layouts, fewest_lines=one_for_each_person)
