"""Readers of text files with one prediction a line."""

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..data.arrays import Flags
from ..data.description import MAX_FILE_PROBLEMS, Image
from ..errors import NOT_READ_ON, Problem, Problems, from_extra, shown, similar_name
from .image_index import ImageIndex

UNKNOWN_IMAGE: Final = "unknown-image"
INVERTED_BOX: Final = "inverted-box"
"""Codes of problems that many lines may have for one cause."""
FIELDS: Final = ("image", "confidence", "left", "top", "right", "bottom")
LONGEST_LINE: Final = 1000  # bytes; an honest line has less than a hundred
FURTHEST: Final = 1e6  # pixels from the origin; beyond, areas lose their last digits

_BLANKS: Final = rb"[ \t]+"
_DECIMAL: Final = rb"([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
_LINE: Final = re.compile(rb"[ \t]*([!-~]+)" + (_BLANKS + _DECIMAL) * (len(FIELDS) - 1) + rb"[ \t]*")
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


_TAB_TO_BLANK = bytes.maketrans(b"\t", b" ")
_PIECE: Final = 1 << 17  # bytes that stay in a processor's own cache
_LINE_FEED, _BLANK, _DELETE = ord("\n"), ord(" "), 0x7F

Places = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """The lines of a block.

    starts and tidy_starts: where each begins in the block and in the same text with single blanks, and where the last
    one ends, (n + 1,); regular: the places of lines of printable ASCII with the right number of fields, which are not
    too long; blank: bool (n,), lines without any field.
    """

    block: bytes
    tidy: bytes
    starts: Places
    tidy_starts: Places
    regular: Places
    blank: Flags

    @classmethod
    def of(cls, block: bytes, fields: int) -> Self:
        """Split a block whose lines should have this many fields."""
        block = block if block.endswith(b"\n") else block + b"\n"
        tidy = with_single_blanks(block, keep_blank_lines=True)
        starts = _starts(block)
        tidy_starts = starts if tidy is block else _starts(tidy)
        text = np.frombuffer(tidy, np.uint8)
        strange = ((text < _BLANK) & (text != _LINE_FEED)) | (text >= _DELETE)
        fair = (np.diff(starts) <= LONGEST_LINE + 1) & (_count(strange, tidy_starts) == 0)
        blank = fair & (np.diff(tidy_starts) == 1)
        regular = fair & ~blank & (_count(text == _BLANK, tidy_starts) == fields - 1)
        return cls(block, tidy, starts, tidy_starts, np.flatnonzero(regular), blank)

    def __len__(self) -> int:
        """How many lines there are."""
        return len(self.blank)

    def raw(self, place: int) -> bytes:
        """One line as it was written, with its end."""
        return self.block[self.starts[place] : self.starts[place + 1]]

    def text(self, mask: Flags) -> bytes:
        """The selected lines as they were written."""
        return _selected(self.block, self.starts, mask)

    def regular_text(self) -> bytes:
        """The regular lines with single blanks."""
        mask = np.zeros(len(self), np.bool_)
        mask[self.regular] = True
        return _selected(self.tidy, self.tidy_starts, mask)


def line_ends(text: bytes) -> Flags:
    """Which bytes end a line."""
    ends: Flags = np.frombuffer(text, np.uint8) == _LINE_FEED
    return ends


def has_long_line(block: bytes) -> bool:
    """Is any line longer than LONGEST_LINE?"""
    half = LONGEST_LINE // 2
    halves = np.frombuffer(block, np.uint8, len(block) // half * half).reshape(-1, half)
    # a longer line would have one of these pieces to itself; the only smaller printable character is a tab
    if (halves.min(axis=1) == _LINE_FEED).all():
        return False
    start = 0
    while len(block) - start > LONGEST_LINE:
        start = block.rfind(b"\n", start, start + LONGEST_LINE + 1) + 1
        if start == 0:
            return True
    return False


def with_single_blanks(block: bytes, *, keep_blank_lines: bool = False) -> bytes:
    """The same lines with fields separated by one blank, and no blanks around them; the block itself if it is so already.

    Without keep_blank_lines there are no blank lines, and none at the end of lines that had to be changed.
    """
    if _is_tidy(block, keep_blank_lines=keep_blank_lines):
        return block
    text = block.translate(_TAB_TO_BLANK)
    pairs = ((b"  ", b" "), (b" \n", b"\n"), (b"\n ", b"\n"))
    for pair, single in pairs if keep_blank_lines else (*pairs, (b"\n\n", b"\n")):
        while pair in text:
            text = text.replace(pair, single)
    return text.lstrip(b" ") if keep_blank_lines else text.strip(b" \n")


def _is_tidy(block: bytes, *, keep_blank_lines: bool) -> bool:
    """Whether no blank is beside another one or a line end; looked up in one pass, where replacing takes several."""
    if b"\t" in block or block[:1] == b" " or block[-1:] == b" ":
        return False
    if not keep_blank_lines and block[:1] == b"\n":
        return False
    text = np.frombuffer(block, np.uint8)
    for start in range(0, len(text), _PIECE):
        piece = text[start : start + _PIECE + 1]  # one byte of the next piece, for a pair may stand across
        gaps, ends = piece == _BLANK, piece == _LINE_FEED
        either = gaps | ends
        pairs = either[:-1] & either[1:]
        if keep_blank_lines:
            pairs &= gaps[:-1] | gaps[1:]
        if pairs.any():
            return False
    return True


def _starts(text: bytes) -> Places:
    return np.concatenate([[0], np.flatnonzero(line_ends(text)) + 1])


def _count(mask: Flags, starts: Places) -> NDArray[np.int32]:
    """How many bytes of each line the mask selects."""
    if not mask.any():
        return np.zeros(len(starts) - 1, np.int32)
    counts: NDArray[np.int32] = np.add.reduceat(mask, starts[:-1], dtype=np.int32)
    return counts


def _selected(text: bytes, starts: Places, mask: Flags) -> bytes:
    return text if mask.all() else np.frombuffer(text, np.uint8)[np.repeat(mask, np.diff(starts))].tobytes()


if TYPE_CHECKING:
    import polars as pl

BLOCK: Final = 32 << 20
"""Bytes parsed at once: most files as a whole, because concatenating parts costs more than it saves."""
SMALL_BLOCK: Final = 4 << 20
"""Bytes parsed at once where a line is invalid, which takes more memory."""

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")

Schema = Mapping[str, "pl.DataType | type[pl.DataType]"]
"""The fields of a line, and the type of each."""


class Rows(Protocol):
    """The values of some lines, one row each."""

    def where(self, mask: Flags, /) -> Self:
        """Only the rows that the mask selects."""


Found = TypeVar("Found", bound=Rows)
Found_co = TypeVar("Found_co", covariant=True)
Parsed = TypeVar("Parsed")


class ReadExactly(Protocol[Found_co]):
    """Reads lines one by one: the rows of the valid ones, and the number of invalid ones, each of which becomes a problem."""

    def __call__(self, block: bytes, /, *, first: int) -> tuple[Found_co, int]:
        """Read a block whose first line has this number."""


@dataclass(frozen=True, slots=True, eq=False)
class LineReader(Generic[Found]):
    """Reads lines of any kind with this many fields; max_lines: of one file, None for any number.

    fast: the rows of a block, or None where a line may be invalid; lenient: a row for each line of a block whose lines
    have the right number of fields, and which rows are certainly valid, or None where that cannot be decided.
    """

    fields: int
    fast: Callable[[bytes], Found | None]
    lenient: Callable[[bytes], tuple[Found, Flags] | None]
    exactly: ReadExactly[Found]
    max_lines: int | None = None

    def read(self, data: bytes, file: str, problems: Problems) -> Iterator[Found]:
        """The rows of a file, some at a time; after MAX_FILE_PROBLEMS invalid lines the rest is not read."""
        text = with_plain_line_ends(data, file, problems)
        if text is None or not _has_allowed_length(text, self.max_lines, file, problems):
            return
        start, counted, first, wrong = 0, 0, 1, 0
        for block in _blocks(text, BLOCK):
            found = None if wrong else self.fast(block)  # where one line is wrong, others often are
            start += len(block)
            if found is not None:
                yield found
                continue
            # no line before the first wrong block was counted
            first += text.count(b"\n", counted, start - len(block))
            counted = start
            for part in _blocks(block, SMALL_BLOCK):
                lines = Lines.of(part, self.fields)
                found, more, read = self._sort(lines, first, MAX_FILE_PROBLEMS - wrong)
                yield found
                wrong += more
                if wrong >= MAX_FILE_PROBLEMS:
                    problems.add(_stopped(wrong, first + read - 1, file))
                    return
                first += len(lines)

    def _sort(self, lines: Lines, first: int, allowed: int) -> tuple[Found, int, int]:
        """The rows of the valid lines, how many lines are invalid, and how many were read: up to the last invalid one allowed.

        Only lines that the lenient parser is not certain of are read one by one.
        """
        parsed = self.lenient(lines.regular_text())
        certain = np.zeros(len(lines), np.bool_)
        if parsed is not None:
            certain[lines.regular] = parsed[1]
        wrong, read = list[int](), len(lines)
        uncertain = np.flatnonzero(~certain & ~lines.blank)
        for place in uncertain.tolist():
            _, mistakes = self.exactly(lines.raw(place), first=first + place)
            if mistakes:
                wrong.append(place)
            if len(wrong) == allowed:
                read = place + 1
                break
        if parsed is not None and len(wrong) == np.count_nonzero(uncertain < read):
            return parsed[0].where(certain[lines.regular] & (lines.regular < read)), len(wrong), read
        valid = np.arange(len(lines)) < read
        valid[wrong] = False
        return self.exactly(lines.text(valid), first=first)[0], len(wrong), read


def with_plain_line_ends(data: bytes, file: str, problems: Problems) -> bytes | None:
    """The same lines without a byte order mark, ended by line feeds; None for text of 16 bits a character."""
    if data.startswith(_UTF_16):
        problems.add(
            Problem("encoding", "the file is UTF-16; expected plain ASCII text", file, expected="ASCII")
        )
        return None
    if data.startswith(_BYTE_ORDER_MARK):
        message = "the file begins with a byte order mark (BOM); it is ignored"
        problems.note(Problem("byte-order-mark", message, file))
        data = data.removeprefix(_BYTE_ORDER_MARK)
    if b"\r" in data:
        message = "lines end with a carriage return (CR); they are read as if they ended with a line feed"
        problems.note(Problem("line-ends", message, file))
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return data


def parse_tidied(block: bytes, parse: Callable[[bytes], Parsed | None]) -> Parsed | None:
    """The parsed block, if necessary after reducing it to single blanks; None where a line may be invalid."""
    if not block.isascii() or has_long_line(block):
        return None
    found = parse(block)
    if found is None:
        tidy = with_single_blanks(block)
        found = parse(tidy) if tidy is not block else None
    return found


def table_of(block: bytes, schema: Schema) -> "pl.DataFrame | None":
    """Lines with single blanks as a table; None where a line cannot be parsed or a field is missing."""
    table = _table(block, schema)
    return None if table is None or any(column.null_count() for column in table) else table


def lenient_table_of(block: bytes, schema: Schema) -> "pl.DataFrame | None":
    """Regular lines as a table of as many rows; null for a value that is not of its field's type."""
    # nothing may look like the beginning of a compressed file
    first = b" ".join([b"0"] * len(schema)) + b"\n"
    table = _table(first + block, schema, ignore_errors=True)
    rows = 1 + int(np.count_nonzero(line_ends(block)))
    return table[1:] if table is not None and table.height == rows else None


def _table(block: bytes, schema: Schema, *, ignore_errors: bool = False) -> "pl.DataFrame | None":
    with from_extra("files"):
        import polars as pl  # noqa: PLC0415 - polars takes longer to import than the whole library

    try:
        return pl.read_csv(
            block,
            separator=" ",
            has_header=False,
            quote_char=None,
            schema=schema,
            ignore_errors=ignore_errors,
        )
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        return None


def _stopped(wrong: int, last: int, file: str) -> Problem:
    message = f"stopped after {wrong:,} problems in this file; the lines after line {last:,} were not read"
    return Problem(NOT_READ_ON, message, file)


def _has_allowed_length(text: bytes, max_lines: int | None, file: str, problems: Problems) -> bool:
    if max_lines is None or len(text) <= max_lines:
        return True
    lines = int(np.count_nonzero(line_ends(text)))  # four times as fast as bytes.count
    if lines > max_lines:
        message = f"the file has {lines:,} lines, too many; at most {max_lines:,} are read"
        problems.add(Problem("too-many-lines", message, file, found=str(lines), expected=str(max_lines)))
    return lines <= max_lines


def _blocks(text: bytes, size: int) -> Iterator[bytes]:
    """Cut between lines into blocks of at most this size, or of one longer line."""
    start = 0
    while len(text) - start > size:
        end = text.rfind(b"\n", start, start + size) + 1 or text.find(b"\n", start) + 1 or len(text)
        yield text[start:end]
        start = end
    if start < len(text):
        yield text[start:] if start else text
