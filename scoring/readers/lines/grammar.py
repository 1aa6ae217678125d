"""The grammar of one result line, and what to say of a line that breaks it."""

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from scoring.data.description import Image
from scoring.errors import Problem, shown
from scoring.readers.image_index import ImageIndex
from scoring.similar_names import similar_name

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
    """A box as given, in pixels."""

    left: float
    top: float
    right: float
    bottom: float


class Row(NamedTuple):
    """What a line says: which image (its place in the set), how sure, where."""

    image: int
    confidence: float
    box: Box


@dataclass(frozen=True, slots=True)
class Wrong:
    """What is wrong with a line: the first thing that is."""

    code: str
    message: str
    found: str | None = None
    expected: str | None = None

    def at(self, file: str, line: int, text: bytes | None = None) -> Problem:
        """The problem of this line, with its text if it has one."""
        quoted = None if text is None else shown(text)
        return Problem(self.code, self.message, file, line, self.found, self.expected, quoted)


def parse_line(line: bytes, images: ImageIndex) -> Row | Wrong | None:
    """Read a line without its end; None if it is blank."""
    found = _LINE.fullmatch(line) if len(line) <= LONGEST_LINE else None
    if found is not None:
        image = images.places.get(found[1])
        confidence, *edges = map(float, found.groups()[1:])
        if image is not None and math.isfinite(confidence) and all(abs(edge) <= FURTHEST for edge in edges):
            return Row(image, confidence, Box(*edges))
    return _what_is_wrong(line, images)


def _what_is_wrong(line: bytes, images: ImageIndex) -> Wrong | None:
    fields = split(line, FIELDS)
    if isinstance(fields, Wrong):
        return fields
    if not fields:
        return None
    if fields[0] not in images.places:
        return unknown_image(fields[0], images.known, f"the set {images.title}")
    for name, field in zip(FIELDS[1:], fields[1:], strict=True):
        number = number_in(field, name)
        if isinstance(number, Wrong):
            return number
    return _too_far(fields[2:])


def split(line: bytes, names: Sequence[str]) -> list[bytes] | Wrong:
    """The fields of a line, none if it is blank, or what is wrong with a line that should have these.

    >>> split(b"000001 0.5", ["image", "confidence"])
    [b'000001', b'0.5']
    """
    strange = _STRANGE.search(line)
    if strange is not None:
        return _wrong_character(strange)
    if len(line) > LONGEST_LINE:
        return Wrong(
            "line-too-long",
            f"the line has {len(line)} characters, too long; at most {LONGEST_LINE} are read",
            str(len(line)),
            str(LONGEST_LINE),
        )
    fields = line.split()
    return _wrong_count(fields, names) if fields and len(fields) != len(names) else fields


def number_in(field: bytes, name: str) -> float | Wrong:
    """The finite decimal number in a field of this name, to the last bit Python's float(), or what is wrong with it."""
    if not _NUMBER.fullmatch(field) or not math.isfinite(float(field)):
        return _wrong_number(name, field)
    return float(field)


def check_box(box: Box, image: Image) -> Wrong | None:
    """Say whether a box ends before it begins, for no better reason than that it was clipped to its image."""
    if _is_inverted(box.left, box.right, image.width):
        return _inverted("right (xmax)", box.right, "left (xmin)", box.left)
    if _is_inverted(box.top, box.bottom, image.height):
        return _inverted("bottom (ymax)", box.bottom, "top (ymin)", box.top)
    return None


def _wrong_character(strange: re.Match[bytes]) -> Wrong:
    found, column = shown(strange[0]), strange.start() + 1
    if strange[0] == b"\0":
        return Wrong("binary", f"character {column} is NUL: this is not a text file", found)
    if strange[0] > b"\x7f":
        message = f"character {column} (byte {found}) is not ASCII; expected plain text and decimal numbers"
        return Wrong("encoding", message, found, "ASCII")
    return Wrong("control-character", f"character {column} is the control character {found}", found)


def _wrong_count(fields: list[bytes], names: Sequence[str]) -> Wrong:
    expected = " ".join(f"<{name}>" for name in names)
    message = f"expected {len(names)} fields, found {len(fields)}"
    if any(b"," in field or b";" in field for field in fields):
        message += "; separate fields by spaces, not by commas"
    return Wrong("field-count", message, shown(b" ".join(fields)), expected)


def unknown_image(field: bytes, known: Collection[bytes], where: str) -> Wrong:
    """Say that a field names none of the known images of a set, and how it might have been meant."""
    message = f"unknown image '{shown(field, QUOTED)}': it is not in {where}"
    meant = similar_name(_ENDING.sub(b"", field).strip(b"\"'"), known)
    if meant is not None:
        message += f"; did you mean '{shown(meant)}'?"
    return Wrong("unknown-image", message, shown(field), f"an image of {where}")


def _wrong_number(name: str, field: bytes) -> Wrong:
    found = shown(field, QUOTED)
    if _NUMBER.fullmatch(field) or _NOT_FINITE.fullmatch(field):
        return Wrong(
            "not-finite", f"expected a finite number as {name}, found '{found}'", found, "a finite number"
        )
    message = f"expected a decimal number as {name}, found '{found}'"
    return Wrong("not-a-number", message, found, "a decimal number")


def _too_far(edges: list[bytes]) -> Wrong:
    found = f"{max(map(float, edges), key=abs):g}"
    message = f"the box has a coordinate of {found}; expected values within ±{FURTHEST:.0f} pixels"
    return Wrong("coordinate-range", message, found, f"±{FURTHEST:.0f}")


def _is_inverted(low: float, high: float, size: float) -> bool:
    """Is there not one pixel from low to high, both included?

    Where a detector clips but one edge of a box that lies beyond the image, that edge comes to lie on the image's first
    or last pixel, counted from 0 or from 1, and the other one behind it. The kits take such a pair for a box that meets
    nothing, and so do we. No other pair has come from a detector yet.
    """
    return high - low + 1 <= 0 and low > 1 and high < size - 1


def _inverted(high_name: str, high: float, low_name: str, low: float) -> Wrong:
    return Wrong(
        "inverted-box",
        f"the box is inverted: {high_name} is {high:g}, {low_name} is {low:g}",
        f"{high:g}",
        f"at least {low:g}",
    )
