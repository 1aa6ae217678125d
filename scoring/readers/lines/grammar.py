"""The grammar of one result line, and the problems of invalid lines."""

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from scoring.data.description import Image
from scoring.errors import Problem, shown
from scoring.readers.image_index import ImageIndex
from scoring.similar_names import similar_name

UNKNOWN_IMAGE: Final = "unknown-image"
INVERTED_BOX: Final = "inverted-box"
"""Codes of problems that many lines may have for one cause."""
FIELDS: Final = ("image", "confidence", "left", "top", "right", "bottom")
LONGEST_LINE: Final = 1000  # bytes; an honest line has less than a hundred
FURTHEST: Final = 1e6  # pixels from the origin; beyond, areas lose their last digits

_BLANK: Final = rb"[ \t]+"
_DECIMAL: Final = rb"([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
_LINE: Final = re.compile(rb"[ \t]*([!-~]+)" + (_BLANK + _DECIMAL) * (len(FIELDS) - 1) + rb"[ \t]*")
_STRANGE: Final = re.compile(rb"[^\x20-\x7e\t]")
_NUMBER: Final = re.compile(_DECIMAL)
_NOT_FINITE: Final = re.compile(rb"[+-]?(?:nan|inf|infinity)", re.IGNORECASE)
_ENDING: Final = re.compile(rb"\.(?:jpe?g|png|txt|xml)$", re.IGNORECASE)
QUOTED: Final = 40  # characters of a value in a sentence


class Box(NamedTuple):
    """A box as written in a file, in pixels."""

    left: float
    top: float
    right: float
    bottom: float


class Row(NamedTuple):
    """The values of a line: the image's place in the set, the confidence and the box."""

    image: int
    confidence: float
    box: Box


@dataclass(frozen=True, slots=True)
class Invalid:
    """The first reason why a line or an element is invalid."""

    code: str
    message: str
    found: str | None = None
    expected: str | None = None

    def at(self, file: str, line: int, text: bytes | None = None) -> Problem:
        """The problem for this line, with its text if given."""
        quoted = None if text is None else shown(text)
        return Problem(self.code, self.message, file, line, self.found, self.expected, quoted)


def parse_line(line: bytes, images: ImageIndex) -> Row | Invalid | None:
    """Read a line without its end; None if it is blank."""
    found = _LINE.fullmatch(line) if len(line) <= LONGEST_LINE else None
    if found is not None:
        image = images.places.get(found[1])
        confidence, *edges = map(float, found.groups()[1:])
        if image is not None and math.isfinite(confidence) and all(abs(edge) <= FURTHEST for edge in edges):
            return Row(image, confidence, Box(*edges))
    return _what_is_wrong(line, images)


def _what_is_wrong(line: bytes, images: ImageIndex) -> Invalid | None:
    fields = split(line, FIELDS)
    if isinstance(fields, Invalid):
        return fields
    if not fields:
        return None
    if fields[0] not in images.places:
        return unknown_image(fields[0], images.known, f"the set {images.title}")
    for name, field in zip(FIELDS[1:], fields[1:], strict=True):
        number = number_in(field, name)
        if isinstance(number, Invalid):
            return number
    return _too_far(fields[2:])


def split(line: bytes, names: Sequence[str]) -> list[bytes] | Invalid:
    """The fields of a line, none if it is blank, or why the line is invalid; names: of the expected fields.

    >>> split(b"000001 0.5", ["image", "confidence"])
    [b'000001', b'0.5']
    """
    strange = _STRANGE.search(line)
    if strange is not None:
        return _wrong_character(strange)
    if len(line) > LONGEST_LINE:
        return Invalid(
            "line-too-long",
            f"the line has {len(line)} characters, too long; at most {LONGEST_LINE} are read",
            str(len(line)),
            str(LONGEST_LINE),
        )
    fields = line.split()
    return _wrong_count(fields, names) if fields and len(fields) != len(names) else fields


def number_in(field: bytes, name: str) -> float | Invalid:
    """The finite decimal number in a field of this name, to the last bit Python's float(), or why it is invalid."""
    if not _NUMBER.fullmatch(field) or not math.isfinite(float(field)):
        return _wrong_number(name, field)
    return float(field)


def check_box(box: Box, image: Image) -> Invalid | None:
    """Why a box is inverted; None if it is not, or only because one edge was clipped to its image."""
    if _is_inverted(box.left, box.right, image.width):
        return _inverted("right (xmax)", box.right, "left (xmin)", box.left)
    if _is_inverted(box.top, box.bottom, image.height):
        return _inverted("bottom (ymax)", box.bottom, "top (ymin)", box.top)
    return None


def _wrong_character(strange: re.Match[bytes]) -> Invalid:
    found, column = shown(strange[0]), strange.start() + 1
    if strange[0] == b"\0":
        return Invalid("binary", f"character {column} is NUL: this is not a text file", found)
    if strange[0] > b"\x7f":
        message = f"character {column} (byte {found}) is not ASCII; expected plain text and decimal numbers"
        return Invalid("encoding", message, found, "ASCII")
    return Invalid("control-character", f"character {column} is the control character {found}", found)


def _wrong_count(fields: list[bytes], names: Sequence[str]) -> Invalid:
    expected = " ".join(f"<{name}>" for name in names)
    message = f"expected {len(names)} fields, found {len(fields)}"
    if any(b"," in field or b";" in field for field in fields):
        message += "; separate fields by spaces, not by commas"
    return Invalid("field-count", message, shown(b" ".join(fields)), expected)


def unknown_image(field: bytes, known: Collection[bytes], where: str) -> Invalid:
    """That a field names no image of a set, with a similar name if there is one."""
    message = f"unknown image '{shown(field, QUOTED)}': it is not in {where}"
    meant = similar_name(_ENDING.sub(b"", field).strip(b"\"'"), known)
    if meant is not None:
        message += f"; did you mean '{shown(meant)}'?"
    return Invalid(UNKNOWN_IMAGE, message, shown(field), f"an image of {where}")


def _wrong_number(name: str, field: bytes) -> Invalid:
    found = shown(field, QUOTED)
    if _NUMBER.fullmatch(field) or _NOT_FINITE.fullmatch(field):
        return Invalid(
            "not-finite", f"expected a finite number as {name}, found '{found}'", found, "a finite number"
        )
    message = f"expected a decimal number as {name}, found '{found}'"
    return Invalid("not-a-number", message, found, "a decimal number")


def _too_far(edges: list[bytes]) -> Invalid:
    found = f"{max(map(float, edges), key=abs):g}"
    message = f"the box has a coordinate of {found}; expected values within ±{FURTHEST:.0f} pixels"
    return Invalid("coordinate-range", message, found, f"±{FURTHEST:.0f}")


def _is_inverted(low: float, high: float, size: float) -> bool:
    """Whether there is no pixel from low to high, both included.

    A detector that clips only one edge of a box outside the image puts that edge on the image's first or last pixel,
    counted from 0 or 1, and the other edge beyond it. The development kits treat such a box as one that overlaps nothing,
    and so does this function. No other inverted boxes from detectors are known.
    """
    return high - low + 1 <= 0 and low > 1 and high < size - 1


def _inverted(high_name: str, high: float, low_name: str, low: float) -> Invalid:
    return Invalid(
        INVERTED_BOX,
        f"the box is inverted: {high_name} is {high:g}, {low_name} is {low:g}",
        f"{high:g}",
        f"at least {low:g}",
    )
