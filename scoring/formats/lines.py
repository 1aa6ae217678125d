"""Result lines: read fast where all is well, and line by line where something is wrong."""

import io
from array import array
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, Generic, Protocol, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from scoring.errors import Problem, Problems, Severity
from scoring.formats.grammar import FIELDS, FURTHEST, LONGEST_LINE, Row, judge, judge_box
from scoring.formats.images import ImageIndex

MOST_LINES: Final = 3_000_000
"""Lines of one file; what so many become in memory stays below 300 MB."""
MOST_WRONG: Final = 100_000
"""After so many wrong lines a file is not read to its end."""
BLOCK: Final = 32 << 20
"""Bytes parsed at once: most files as a whole, because putting parts together costs more than it saves."""
SMALL_BLOCK: Final = 1 << 18
"""The same where something is wrong, so that few lines around it are read one by one."""

_BOX: Final = FIELDS[2:]
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")
_BLANKS: Final = bytes.maketrans(b"\t", b" ")
_UNREADABLE: Final = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)

Found = TypeVar("Found")
Found_co = TypeVar("Found_co", covariant=True)
Schema = Mapping[str, pl.DataType | type[pl.DataType]]
"""The fields of a line, and what stands in each."""


@dataclass(frozen=True, slots=True, eq=False)
class Detections:
    """The lines of one class's file, in the order of the file.

    image: int32 (n,), index into Description.images; confidence: float64 (n,), finite;
    boxes: float64 (n, 4), left, top, right, bottom in pixels as given, finite, possibly outside the image or inverted.
    """

    image: NDArray[np.int32]
    confidence: NDArray[np.float64]
    boxes: NDArray[np.float64]

    def __len__(self) -> int:
        """How many lines there are."""
        return len(self.image)


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """How a file is read. inverted: whether a box that ends before it begins is a problem or only to be kept."""

    images: ImageIndex
    file: str
    problems: Problems
    inverted: Severity = Severity.NOTE


class ReadExactly(Protocol[Found_co]):
    """Reads lines one by one: what the right ones say, and how many are wrong, each of which becomes a problem."""

    def __call__(self, block: bytes, /, *, first: int) -> tuple[Found_co, int]:
        """Read a block whose first line has this number."""


@dataclass(frozen=True, slots=True, eq=False)
class Reader(Generic[Found]):
    """Reads lines of any kind; fast says what all lines of a block say, or None where one might be wrong."""

    fast: Callable[[bytes], Found | None]
    exactly: ReadExactly[Found]

    def read(self, data: bytes, file: str, problems: Problems) -> Iterator[Found]:
        """What the lines of a file say, some at a time."""
        text = with_plain_line_ends(data, file, problems)
        if text is None or not _has_fair_length(text, file, problems):
            return
        start, counted, number, wrong = 0, 0, 1, 0
        for block in _blocks(text, BLOCK):
            found = self.fast(block)
            start += len(block)
            if found is not None:
                yield found
                continue
            # no line before the first wrong block was counted
            number += text.count(b"\n", counted, start - len(block))
            counted = start
            for part in _blocks(block, SMALL_BLOCK):
                found = self.fast(part)
                if found is None:
                    found, mistakes = self.exactly(part, first=number)
                    wrong += mistakes
                yield found
                number += part.count(b"\n")
                if wrong >= MOST_WRONG:
                    message = (
                        f"{wrong} lines are wrong up to line {number - 1}; the file was not read further"
                    )
                    problems.add(Problem("file-not-read-on", message, file))
                    return


def read_detections(data: bytes, images: ImageIndex, *, file: str, problems: Problems) -> Detections:
    r"""Read a file of `<image> <confidence> <left> <top> <right> <bottom>`; numbers are exactly Python's float().

    Every wrong line becomes a problem with its number, and is left out of what is returned. A byte order mark and
    line ends of other systems are tolerated with a note, empty lines without. A box that ends before it begins is kept,
    as the kits keep it: it meets nothing.

    >>> from scoring.description import Description, Image
    >>> index = ImageIndex.of(Description("VOC2007", "test", (), (), (Image("000001", 353, 500),)))
    >>> read_detections(b"000001 0.5 10 20 110 220\n", index, file="comp3_det_test_dog.txt", problems=Problems()).boxes
    array([[ 10.,  20., 110., 220.]])
    """
    parts = list(read_in_blocks(data, Reading(images, file, problems)))
    if len(parts) == 1:
        return parts[0]
    return Detections(
        np.concatenate([part.image for part in parts] or [np.empty(0, np.int32)]),
        np.concatenate([part.confidence for part in parts] or [np.empty(0)]),
        np.concatenate([part.boxes for part in parts] or [np.empty((0, 4))]),
    )


def read_in_blocks(data: bytes, reading: Reading) -> Iterator[Detections]:
    r"""Read as read_detections does, some lines at a time, for those who need not keep them.

    >>> from scoring.description import Description, Image
    >>> index = ImageIndex.of(Description("VOC2007", "test", (), (), (Image("000001", 353, 500),)))
    >>> reading = Reading(index, "comp3_det_test_dog.txt", Problems())
    >>> [len(found) for found in read_in_blocks(b"000001 0.5 10 20 110 220\n", reading)]
    [1]
    """
    reader = Reader(partial(_read_fast, reading=reading), partial(_read_exactly, reading=reading))
    return reader.read(data, reading.file, reading.problems)


def outside(found: Detections, images: ImageIndex) -> NDArray[np.bool_]:
    """Which boxes reach beyond their image, whose pixels count from 1: bool (n,)."""
    result = np.zeros(len(found), np.bool_)
    for edge, size in ((0, 0), (1, 1), (2, 0), (3, 1)):
        result |= found.boxes[:, edge] < 1
        result |= found.boxes[:, edge] > images.sizes[found.image, size]
    return result


def inverted(found: Detections, images: ImageIndex) -> NDArray[np.bool_]:
    """Which boxes have not one pixel from left to right or from top to bottom, both included: bool (n,).

    As in `grammar.judge_box`, what clipping leaves at the image's edge is not meant.
    """
    left, top, right, bottom = (found.boxes[:, edge] for edge in range(4))
    suspect = np.flatnonzero((right - left + 1 <= 0) | (bottom - top + 1 <= 0))
    low, high = found.boxes[:, :2], found.boxes[:, 2:]
    low, high, sizes = low[suspect], high[suspect], images.sizes[found.image[suspect]]
    result = np.zeros(len(found), np.bool_)
    result[suspect] = ((high - low + 1 <= 0) & (low > 1) & (high < sizes - 1)).any(axis=1)
    return result


def with_plain_line_ends(data: bytes, file: str, problems: Problems) -> bytes | None:
    """The same lines without a byte order mark, ended by line feeds; None for text of 16 bits a character."""
    if data.startswith(_UTF_16):
        problems.add(
            Problem("encoding", "the file is UTF-16; expected plain ASCII text", file, expected="ASCII")
        )
        return None
    if data.startswith(_BYTE_ORDER_MARK):
        message = "the byte order mark (BOM) at the beginning is passed over"
        problems.note(Problem("byte-order-mark", message, file))
        data = data.removeprefix(_BYTE_ORDER_MARK)
    if b"\r" in data:
        message = "lines end with a carriage return (CR); they are read as if they ended with a line feed"
        problems.note(Problem("line-ends", message, file))
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return data


def _has_fair_length(text: bytes, file: str, problems: Problems) -> bool:
    if len(text) <= MOST_LINES:
        return True
    lines = int(np.count_nonzero(_line_ends(text)))  # four times as fast as bytes.count
    if lines > MOST_LINES:
        message = f"the file has {lines} lines, too many; at most {MOST_LINES} are read"
        problems.add(Problem("too-many-lines", message, file, found=str(lines), expected=str(MOST_LINES)))
    return lines <= MOST_LINES


def _line_ends(text: bytes) -> NDArray[np.bool_]:
    ends: NDArray[np.bool_] = np.frombuffer(text, np.uint8) == ord("\n")
    return ends


def _blocks(text: bytes, size: int) -> Iterator[bytes]:
    """Cut between lines into blocks of at most this size, or of one longer line."""
    start = 0
    while len(text) - start > size:
        end = text.rfind(b"\n", start, start + size) + 1 or text.find(b"\n", start) + 1 or len(text)
        yield text[start:end]
        start = end
    if start < len(text):
        yield text[start:] if start else text


def _read_fast(block: bytes, reading: Reading) -> Detections | None:
    """Read lines that are all right; None when one might not be, or is only written unusually."""
    found = parse_tidied(block, partial(_parse, images=reading.images))
    if found is None or reading.inverted is Severity.NOTE:
        return found
    return None if inverted(found, reading.images).any() else found


def parse_tidied(block: bytes, parse: Callable[[bytes], Found | None]) -> Found | None:
    """What a parser makes of lines with single blanks, if need be after tidying; None where a line might be wrong."""
    if not block.isascii() or _has_long_line(block):
        return None
    found = parse(block)
    if found is None:
        tidy = _with_single_blanks(block)
        found = parse(tidy) if tidy != block else None
    return found


def _has_long_line(block: bytes) -> bool:
    half = LONGEST_LINE // 2
    halves = _line_ends(block[: len(block) // half * half]).reshape(-1, half)
    if halves.any(axis=1).all():  # a longer line would have one of these pieces to itself
        return False
    start = 0
    while len(block) - start > LONGEST_LINE:
        start = block.rfind(b"\n", start, start + LONGEST_LINE + 1) + 1
        if start == 0:
            return True
    return False


def _with_single_blanks(block: bytes) -> bytes:
    text = block.translate(_BLANKS)
    for pair, single in ((b"  ", b" "), (b" \n", b"\n"), (b"\n ", b"\n"), (b"\n\n", b"\n")):
        while pair in text:
            text = text.replace(pair, single)
    return text.strip(b" \n")


def _parse(block: bytes, images: ImageIndex) -> Detections | None:
    if block[: block.find(b" ")] not in images.places:
        return None  # also what the parser would take for a compressed file
    names = images.names
    table = table_of(block, {"image": names.type} | dict.fromkeys(FIELDS[1:], pl.Float64))
    image = None if table is None else names.places(table["image"])
    if table is None or image is None:
        return None
    found = Detections(image, table["confidence"].to_numpy(), table.select(_BOX).to_numpy())
    numbers_are_fair = np.isfinite(found.confidence).all() and (np.abs(found.boxes) <= FURTHEST).all()
    return found if numbers_are_fair else None  # not a number compares as false


def table_of(block: bytes, schema: Schema) -> pl.DataFrame | None:
    """Lines with single blanks as a table; None where the parser cannot read one, or a field is not there."""
    try:
        table = pl.read_csv(block, separator=" ", has_header=False, quote_char=None, schema=schema)
    except _UNREADABLE:
        return None
    return None if any(column.null_count() for column in table) else table


def _read_exactly(block: bytes, reading: Reading, *, first: int) -> tuple[Detections, int]:
    """Read line by line: what is right, and how many lines are not."""
    rows, wrong = array("d"), 0
    for number, line in enumerate(io.BytesIO(block), first):
        row = judge(line.removesuffix(b"\n"), reading.images)
        if isinstance(row, Row):
            rows.extend((row.image, row.confidence, *row.box))
            row = (
                judge_box(row.box, reading.images.images[row.image])
                if reading.inverted is Severity.PROBLEM
                else None
            )
        if row is not None:
            reading.problems.add(row.at(reading.file, number))
            wrong += 1
    table = np.frombuffer(rows, np.float64).reshape(-1, len(FIELDS))
    return Detections(table[:, 0].astype(np.int32), table[:, 1].copy(), table[:, 2:].copy()), wrong
