"""Readers of a development kit's annotation files and image sets.

The XML of 2007 to 2012 and the text of 2006, read as the development kits' VOCreadrecxml.m and PASreadrecord.m read
them; values that make no sense, which a kit would accept, are errors.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final
from xml.etree.ElementTree import Element, ParseError
from xml.parsers.expat import ErrorString, ParserCreate

from ..data.annotations import AnnotatedObject, Annotation, Box, Part
from ..errors import DataError, Rule, from_extra, shown


@dataclass(frozen=True, slots=True)
class Mistake:
    """Something that is wrong in an annotation file. code: as in `Problem`; line: from 1, None where it is not known."""

    code: str
    message: str
    line: int | None = None


class AnnotationError(DataError):
    """An annotation file is invalid; `mistakes` has all that is wrong, the message and `line` are of the first."""

    def __init__(
        self, message: str, line: int | None = None, *, mistakes: tuple[Mistake, ...] | None = None
    ) -> None:
        super().__init__(message)
        self.line = line
        self.mistakes = mistakes or (Mistake("annotation", message, line),)


@dataclass(frozen=True, slots=True)
class ListedImage:
    """A line of an image set: the image, and the whole numbers behind it (an object, a label)."""

    image: str
    numbers: tuple[int, ...]


_TRUE: Final = "1"
"""The only text of a flag that is true."""
_FLAGS_THAT_COUNT: Final = ("difficult", "groupof")
"""Those that decide scores; VOC2007 itself has others, such as <truncated>Unspecified."""
_SIDES: Final = ("xmin", "ymin", "xmax", "ymax")
MOST_TOLD: Final = 100
"""Mistakes of a file that are listed; the rest is counted."""
_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


_LISTED: Final = re.compile(r"([\w.-]+)((?:\s+[+-]?\d{1,9}){0,2})", re.ASCII)


_IMAGE_SIZE: Final = re.compile(
    r"^Image size \(X x Y x C\) : ([1-9]\d{0,8}) x ([1-9]\d{0,8}) x \d+\s*$", re.MULTILINE
)


_SIZE: Final = re.compile(rb"<size>(.*?)</size>", re.DOTALL)


_SIDE: Final = re.compile(rb"<(width|height)>\s*([1-9]\d{0,8})\s*</")


_PIXELS: Final = re.compile(r"0*[1-9][0-9]{0,8}")


_OBJECTS: Final = re.compile(r"^Objects with ground truth : (\d{1,4})\b", re.MULTILINE)


_ORIGINAL: Final = re.compile(r'^Original label for object (\d{1,4}) "[^"]*" : "([^"]*)"', re.MULTILINE)


_BOUNDING: Final = re.compile(
    r'^Bounding box for object (\d{1,4}) "[^"]*" \(Xmin, Ymin\) - \(Xmax, Ymax\)'
    r" : \((-?\d{1,9}), (-?\d{1,9})\) - \((-?\d{1,9}), (-?\d{1,9})\)\s*$",
    re.MULTILINE,
)


_LABEL: Final = re.compile(
    r"PAS(?P<name>[a-z_]+)(?P<view>[A-Z][a-z]+?)??(?P<truncated>Trunc)?(?P<difficult>Difficult)?"
)


_NO_CLASS: Final = (
    "null_annotated"  # 2006 marks images of none of the ten classes with an object of this name
)


def read_xml(data: bytes) -> Annotation:
    """An annotation of 2007 to 2012.

    Raises AnnotationError for anything but XML, a document type, and with all missing fields, invalid numbers and inverted boxes. Source: VOC2012 development kit, VOCreadrecxml.m: only the text `1` is true.

    >>> page = read_xml(b"<annotation><size><width>5</width><height>4</height></size></annotation>")
    >>> page.width, page.height, page.objects
    (5, 4, ())
    """
    with from_extra("files"):
        from defusedxml import DefusedXmlException  # noqa: PLC0415 - not needed for arrays
        from defusedxml.ElementTree import fromstring  # noqa: PLC0415

    try:
        root: Element = fromstring(data, forbid_dtd=True)
    except ParseError as error:
        what, (line, column) = ErrorString(error.code), error.position
        raise AnnotationError(
            Rule(f"this is not plain XML: {what}, column {column + 1} of this line"), line
        ) from error
    except DefusedXmlException as error:
        raise AnnotationError(Rule("this is not plain XML: it has a document type or entities")) from error
    except (ValueError, LookupError) as error:
        raise AnnotationError(Rule("this is not plain XML: its encoding is not known")) from error
    reading = _Reading()
    objects = tuple(
        reading.object_of(element, f"object {number}")
        for number, element in enumerate(root.findall("object"), 1)
    )
    oddities = tuple(
        Rule(
            f"<{flag}> of object {number} is '{{}}', which is not 1 and so counts as 0, as in the development kit",
            shown(text),
        )
        for number, element in enumerate(root.findall("object"), 1)
        for flag in _FLAGS_THAT_COUNT
        if (text := _text_of_flag(element, flag)) not in ("", "0", _TRUE)
    )
    reading.refuse_doubled(root, ("size",), "the annotation")
    for size in root.findall("size"):
        reading.refuse_doubled(size, ("width", "height"), "the image's size")
    width, height = reading.side_of(root, "width"), reading.side_of(root, "height")
    annotation = Annotation(width, height, objects, oddities=oddities)
    if reading.mistakes:
        raise _error_of(reading.mistakes, root, data)
    return annotation


@dataclass(slots=True)
class _Reading:
    """Reads the fields of an annotation, and collects what is wrong with the element that it is about."""

    mistakes: list[tuple[Element, Mistake]] = field(default_factory=list)

    def say(self, element: Element, code: str, message: str) -> None:
        self.mistakes.append((element, Mistake(code, message)))

    def refuse_doubled(self, element: Element, names: Sequence[str], where: str) -> None:
        """Say which of these fields stand twice in an element; of two the first would be read."""
        fields = [child.tag for child in element]
        if len(set(fields)) == len(fields):
            return
        for name in names:
            if fields.count(name) > 1:
                self.say(element, "doubled-field", Rule(f"{where} has <{name}> twice; leave one out"))

    def object_of(self, element: Element, where: str) -> AnnotatedObject:
        self.refuse_doubled(element, ("name", "bndbox", *_FLAGS_THAT_COUNT), where)
        for number, part in enumerate(element.findall("part"), 1):
            self.refuse_doubled(part, ("name", "bndbox"), f"part {number} of {where}")
        return AnnotatedObject(
            name=self.text_of(element, "name", where),
            box=self.box_of(element, where),
            difficult=_flag(element, "difficult"),
            truncated=_flag(element, "truncated"),
            occluded=_flag(element, "occluded"),
            group_of=_flag(element, "groupof"),
            parts=tuple(
                Part(
                    self.text_of(part, "name", f"part {number} of {where}"),
                    self.box_of(part, f"part {number} of {where}"),
                )
                for number, part in enumerate(element.findall("part"), 1)
            ),
        )

    def text_of(self, element: Element, path: str, where: str) -> str:
        """The text of a field; empty where it is missing."""
        text = (element.findtext(path) or "").strip()
        if not text:
            self.say(element, "missing-field", Rule(f"{where} has no <{path.rpartition('/')[2]}>"))
        return text

    def side_of(self, root: Element, side: str) -> int:
        text = self.text_of(root, f"size/{side}", "the image's size")
        if _PIXELS.fullmatch(text):
            return int(text)
        if text:
            message = Rule(f"expected the image's {side} in pixels, found '{{}}'", shown(text))
            self.say(_found(root, f"size/{side}"), "image-size", message)
        return 1

    def box_of(self, element: Element, where: str) -> Box:
        if (corners := element.find("bndbox")) is not None:
            self.refuse_doubled(corners, _SIDES, f"the box of {where}")
        # by name: more than half of the boxes of VOC2012 are written xmax, xmin, ymax, ymin
        sides = [self.number_of(element, side, where) for side in _SIDES]
        left, top, right, bottom = (side or 0.0 for side in sides)
        if None not in sides and (right < left or bottom < top):
            numbers = f"{left:g} {top:g} {right:g} {bottom:g}"
            message = Rule(f"the box of {where} ends before it begins: {{}}", numbers)
            self.say(_found(element, "bndbox"), "inverted-box", message)
        return Box(left, top, right, bottom)

    def number_of(self, element: Element, side: str, where: str) -> float | None:
        text = self.text_of(element, f"bndbox/{side}", where)
        if _NUMBER.fullmatch(text) and math.isfinite(float(text)):
            return float(text)
        if text:
            message = Rule(f"expected a number in <{side}> of {where}, found '{{}}'", shown(text))
            self.say(_found(element, f"bndbox/{side}"), "bad-number", message)
        return None


def _found(element: Element, path: str) -> Element:
    return next(element.iterfind(path))


def _flag(element: Element, field: str) -> bool:
    return _text_of_flag(element, field) == _TRUE


def _text_of_flag(element: Element, field: str) -> str:
    return (element.findtext(field) or "").strip()


def _error_of(found: Sequence[tuple[Element, Mistake]], root: Element, data: bytes) -> AnnotationError:
    """The error with all mistakes, of which so many are listed, with the lines where their elements begin."""
    lines = dict(zip(root.iter(), _lines_of(data), strict=True))
    told = [replace(mistake, line=lines[element]) for element, mistake in found[:MOST_TOLD]]
    told.sort(key=lambda mistake: mistake.line or 0)
    if more := len(found) - len(told):
        told.append(Mistake("annotation", Rule(f"{more:,} more mistakes in this file")))
    return AnnotationError(told[0].message, told[0].line, mistakes=tuple(told))


def _lines_of(data: bytes) -> list[int]:
    """The line where each element begins, in their order, of a document that was read before."""
    lines: list[int] = []
    parser = ParserCreate()
    parser.StartElementHandler = lambda *_: lines.append(parser.CurrentLineNumber)
    parser.Parse(data, True)
    return lines


def read_text_of_2006(data: bytes) -> Annotation:
    """An annotation of 2006.

    A label is `PAS`, the class, and where it applies the view, `Trunc` and `Difficult`. The two corners of a box are put
    in order. Raises AnnotationError for a missing line or a label of another shape.
    Source: VOC2006 development kit, PASreadrecord.m.

    >>> text = b'''Image size (X x Y x C) : 640 x 480 x 3
    ... Objects with ground truth : 1 { "PAScarRearTrunc" }
    ... Original label for object 1 "PAScarRearTrunc" : "PAScarRearTrunc"
    ... Bounding box for object 1 "PAScarRearTrunc" (Xmin, Ymin) - (Xmax, Ymax) : (153, 394) - (528, 170)'''
    >>> [car] = read_text_of_2006(text).objects
    >>> car.name, car.truncated, car.box
    ('car', True, Box(left=153.0, top=170.0, right=528.0, bottom=394.0))
    """
    text = data.decode("latin-1").replace("\r\n", "\n")
    size, count = _IMAGE_SIZE.search(text), _OBJECTS.search(text)
    if size is None or count is None:
        raise AnnotationError(
            Rule("expected the lines 'Image size' and 'Objects with ground truth' of the 2006 format")
        )
    labels = {int(number): label for number, label in _ORIGINAL.findall(text)}
    corners = {int(number): tuple(map(float, pixels)) for number, *pixels in _BOUNDING.findall(text)}
    numbers = range(1, int(count[1]) + 1)
    if list(labels) != list(numbers) or list(corners) != list(numbers):
        raise AnnotationError(
            Rule(
                "expected labels and boxes of {} objects, found {} and {}",
                len(numbers),
                len(labels),
                len(corners),
            )
        )
    objects = (_object_of_2006(labels[number], corners[number]) for number in numbers)
    return Annotation(int(size[1]), int(size[2]), tuple(o for o in objects if o.name != _NO_CLASS))


def _object_of_2006(label: str, corners: tuple[float, ...]) -> AnnotatedObject:
    match = _LABEL.fullmatch(label)
    if match is None:
        raise AnnotationError(Rule("expected a label such as 'PAScarRearTruncDifficult', found '{}'", label))
    x1, y1, x2, y2 = corners
    return AnnotatedObject(
        name=match["name"],
        box=Box(min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2)),
        difficult=match["difficult"] is not None,
        truncated=match["truncated"] is not None,
    )


def read_size(data: bytes) -> tuple[int, int] | None:
    """The width and height in an annotation of either format, without reading the rest; None if it has none.

    >>> read_size(b"<annotation><size><width>5</width><height>4</height></size></annotation>")
    (5, 4)
    """
    size = _SIZE.search(data)
    sides = dict(_SIDE.findall(size[1])) if size else {}
    if len(sides) == 2:
        return int(sides[b"width"]), int(sides[b"height"])
    text = _IMAGE_SIZE.search(data.decode("latin-1"))
    return None if text is None else (int(text[1]), int(text[2]))


def read_image_set(data: bytes) -> tuple[ListedImage, ...]:
    r"""The lines of an image set, in order; empty lines are ignored.

    Raises AnnotationError for a line that is not an image followed by at most two whole numbers, and for a repeated one.

    >>> read_image_set(b"2008_000002  1\n")
    (ListedImage(image='2008_000002', numbers=(1,)),)
    """
    listed: dict[tuple[str, tuple[int, ...]], ListedImage] = {}
    for number, line in enumerate(data.decode("utf-8-sig", "replace").splitlines(), 1):
        if not line.strip():
            continue
        found = _LISTED.fullmatch(line.strip())
        if found is None or set(found[1]) == {"."}:
            raise AnnotationError(
                Rule("expected an image and at most two whole numbers, found '{}'", shown(line.strip())),
                number,
            )
        row = ListedImage(found[1], tuple(map(int, found[2].split())))
        key = (row.image, row.numbers)
        if key in listed:
            raise AnnotationError(Rule("'{}' is repeated", line.strip()), number)
        listed[key] = row
    return tuple(listed.values())


READERS: Final[dict[str, Callable[[bytes], Annotation]]] = {".xml": read_xml, ".txt": read_text_of_2006}
"""The reader of an annotation file by its extension."""
