"""Reading of files of lines: in large blocks where every line is valid, line by line only where one may be invalid."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, Protocol, Self, TypeVar

import numpy as np

from scoring.data.arrays import Flags
from scoring.data.limits import MAX_FILE_PROBLEMS
from scoring.errors import NOT_READ_ON, Problem, Problems
from scoring.readers.lines.line_splitting import Lines, has_long_line, line_ends, with_single_blanks

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


def table_of(block: bytes, schema: Schema) -> pl.DataFrame | None:
    """Lines with single blanks as a table; None where a line cannot be parsed or a field is missing."""
    table = _table(block, schema)
    return None if table is None or any(column.null_count() for column in table) else table


def lenient_table_of(block: bytes, schema: Schema) -> pl.DataFrame | None:
    """Regular lines as a table of as many rows; null for a value that is not of its field's type."""
    # nothing may look like the beginning of a compressed file
    first = b" ".join([b"0"] * len(schema)) + b"\n"
    table = _table(first + block, schema, ignore_errors=True)
    rows = 1 + int(np.count_nonzero(line_ends(block)))
    return table[1:] if table is not None and table.height == rows else None


def _table(block: bytes, schema: Schema, *, ignore_errors: bool = False) -> pl.DataFrame | None:
    import polars as pl  # noqa: PLC0415 - polars takes longer to import than all of `scoring`

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
