"""The records of a JSON list, some at a time."""

import json
import re
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ...errors import Rule
from ...parallel import parallel_map
from .flat_records import FlatRecords
from .flaws import Flaw, flaw_of

_BLOCK: Final = 1 << 20
_LONGEST: Final = 16 << 20
"""Bytes in which an entry has to end: more than any mask needs."""
_BEGIN: Final = re.compile(rb'(?:\xef\xbb\xbf)?\s*(?:\{\s*"annotations"\s*:\s*)?\[')
_ANNOTATIONS: Final = "annotations"
_SHORT: Final = 1 << 10  # bytes in which a file begins after blanks
_BLANK: Final = re.compile(r"[ \t\r\n]*")
_SEPARATOR: Final = re.compile(rb"\}(\s*,\s*)\{")


class JsonError(ValueError):
    """The text is no JSON, or not the list that is expected; line: of the file, from 1, None where no place is known."""

    def __init__(self, rule: Rule, line: int | None = None) -> None:
        super().__init__(rule)
        self.rule, self.line = rule, line


@dataclass(frozen=True, slots=True)
class Table:
    """Records that hold numbers only: a column for each field; first: the number of the first one, from 0.

    columns: (n,) of a field that is a number, (n, k) of one that is a list of k numbers.
    """

    first: int
    columns: Mapping[str, np.ndarray[Any, Any]]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def rows(self) -> "Records":
        """The records as they stand in the file."""
        columns = [column.tolist() for column in self.columns.values()]
        return Records(
            self.first, [dict(zip(self.columns, row, strict=True)) for row in zip(*columns, strict=True)]
        )


@dataclass(frozen=True, slots=True)
class Records:
    """Any other records as they stand; first: the number of the first one, from 0."""

    first: int
    values: list[Any]

    def __len__(self) -> int:
        return len(self.values)


def read_records(data: bytes) -> Iterator[Table | Records]:
    """The entries of a list, or of the list `annotations` of an object.

    Records of numbers that are all written alike are read as tables, a megabyte at a time; what is written otherwise, by the
    JSON parser. Raises JsonError.

    >>> [part.columns["score"].tolist() for part in read_records(b'[{"score": 0.5}, {"score": 1e-05}]')]
    [[0.5, 1e-05]]
    """
    begin = _BEGIN.match(data)
    if begin is None:
        yield Records(0, _whole(data))
        return
    reader = _Reader(data, begin.end())
    yield from reader.read()
    parse_json(data, begin.end(), reader.place)  # what stands around the entries


def name_of_list(data: bytes) -> str:
    """How the path of an entry begins: "annotations" where the file is an object with such a list, "" where it is the list.

    >>> name_of_list(b'{"annotations": []}'), name_of_list(b"[]")
    ('annotations', '')
    """
    return _ANNOTATIONS if data[:_SHORT].removeprefix(BOM_UTF8).lstrip().startswith(b"{") else ""


def first_record(data: bytes) -> Any:
    """The first entry of a list, or of the list `annotations` of an object; None where the list is empty. Raises JsonError.

    >>> first_record(b'[{"image_id": 3, "score": 0.5}, {}]'), first_record(b"[]")
    ({'image_id': 3, 'score': 0.5}, None)
    """
    begin = _BEGIN.match(data)
    if begin is None:
        entries = _whole(data)
        return entries[0] if entries else None
    reader = _Reader(data, begin.end())
    return None if reader.is_at_end() else reader.decoded()[0]


def join_tables(blocks: Sequence[Table | Records]) -> Table | None:
    """All blocks as one table; None where one is none, or has other columns, or there is no block.

    >>> some = Table(0, {"id": np.array([7])})
    >>> join_tables([some, some]).columns["id"].tolist()
    [7, 7]
    """
    tables = [block for block in blocks if isinstance(block, Table)]
    if not tables or len(tables) < len(blocks):
        return None
    columns = {name: np.concatenate([table.columns[name] for table in tables]) for name in tables[0].columns}
    return Table(tables[0].first, columns)


def read_list(data: bytes, name: str) -> tuple[Any, list[Table | Records] | None]:
    """An object with its list of this name taken out, and the entries of that list, None if there is none.

    Raises JsonError.

    >>> root, [entries] = read_list(b'{"info": 1, "annotations": [{"id": 7}]}', "annotations")
    >>> root, entries.columns["id"].tolist()
    ({'info': 1}, [7])
    """
    begin = re.search(rb'"' + name.encode() + rb'"\s*:\s*\[', data)
    if begin is not None:
        try:
            reader = _Reader(data, begin.end())
            entries = list(reader.read())
            root = parse_json(data, begin.end(), reader.place)
        except JsonError:
            root = None
        if isinstance(root, dict) and root.pop(name, None) == []:
            return root, entries
    root = parse_json(data)
    found = root.pop(name, None) if isinstance(root, dict) else None
    return root, [Records(0, found)] if isinstance(found, list) else None


def _whole(data: bytes) -> list[Any]:
    """The entries of an object whose first field is another one."""
    root = parse_json(data)
    entries = root.get(_ANNOTATIONS) if isinstance(root, dict) else root
    if not isinstance(entries, list):
        raise JsonError(Rule("expected a list of detections, or an object with such a list as 'annotations'"))
    return entries


def parse_json(data: bytes, end: int = 0, place: int = 0) -> Any:
    """The value of a file, without what stands in it from `end` to `place`. Raises JsonError.

    >>> parse_json(b"[1, 2, 3]", 1, 7)
    [3]
    """
    if not data.strip():
        raise JsonError(Rule("this is not JSON: the file is empty"))
    rest = data[:end] + data[place:]
    encoding = json.detect_encoding(rest)
    try:
        text = rest.decode(encoding, "surrogatepass")
    except UnicodeDecodeError as error:
        raise _error_at(
            data, error.start + (place - end if error.start >= end else 0), Rule("expected a text in UTF-8")
        ) from error
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        flaw = flaw_of(error, text, 0)
    before = text[: flaw.position].encode(encoding, "surrogatepass")
    raise _error_at(data, len(before) + (place - end if len(before) >= end else 0), flaw.message)


def _error_at(data: bytes, offset: int, flaw: Rule, entry: int | None = None) -> JsonError:
    """The error at a byte of a file, or in one of its entries."""
    line = data.count(b"\n", 0, offset) + 1
    column = len(data[data.rfind(b"\n", 0, offset) + 1 : offset].decode("utf-8", "replace")) + 1
    where = "" if entry is None else f" (entry {entry})"
    words = f"this is not JSON: column {column} of this line{where}: {flaw.words}"
    return JsonError(Rule(words, *flaw.quotes), line)


def _refuse(constant: str) -> None:
    raise ValueError(constant)


_DECODER: Final = json.JSONDecoder(parse_constant=_refuse)


@dataclass(slots=True)
class _Reader:
    """Reads entries from a place on, and stops after the bracket behind the last one."""

    data: bytes
    place: int
    count: int = 0

    def read(self) -> Iterator[Table | Records]:
        form, separator = self._form()
        while not self.is_at_end():
            before = self.count
            if form is not None:
                yield from self._tables(form, separator)
            if self.count == before:
                found = Records(self.count, self.decoded())
                self.count += len(found)
                yield found

    def _tables(self, form: FlatRecords, separator: bytes) -> Iterator[Table]:
        """Tables up to the first block that is not of this form; some blocks are read ahead."""
        for block in parallel_map(form.read_block, self._blocks(separator)):
            if block is None:
                return
            self.place += block.size - (0 if self.count else len(separator))
            yield Table(self.count, block.columns)
            self.count += block.count
            if block.ends:
                return

    def is_at_end(self) -> bool:
        """Whether the bracket behind the last entry follows."""
        rest = re.compile(rb"\s*\]").match(self.data, self.place)
        if rest is not None:
            self.place = rest.end() - 1
        return rest is not None

    def _form(self) -> tuple[FlatRecords | None, bytes]:
        """How the first record is written, if it has only numbers."""
        end = self.data.find(b"}", self.place) + 1
        start = self.data.find(b"{", self.place, end)
        following = _SEPARATOR.match(self.data, end - 1)
        separator = b"," if following is None else following[1]
        if start < 0 or self.data[self.place : start].strip():
            return None, separator
        try:
            record = self.data[start:end]
            form = FlatRecords.like(record, separator) if record.isascii() else None
        except (ValueError, RecursionError, AttributeError):
            return None, separator
        if form is not None:
            self.place = start
        return form, separator

    def _blocks(self, separator: bytes) -> Iterator[bytes]:
        """About a megabyte of whole records each, every record with the separator before it."""
        place = self.place
        while (end := self.data.rfind(b"}", place, place + _BLOCK) + 1) > place:
            yield (
                separator + self.data[place:end]
                if place == self.place and not self.count
                else self.data[place:end]
            )
            place = end

    def decoded(self) -> list[Any]:
        """The next records, as the JSON parser reads them: those of a megabyte, and at least one."""
        size = _BLOCK
        while True:
            text = self.data[self.place : self.place + size].decode("utf-8", "surrogateescape")
            values, end, flaw = _decode(text, follows=self.count > 0)
            if values:
                self.place += len(text[:end].encode("utf-8", "surrogateescape"))
                return values
            if self.place + size >= len(self.data) or size >= _LONGEST:
                offset = self.place + len(text[: flaw.position].encode("utf-8", "surrogateescape"))
                raise _error_at(self.data, offset, flaw.message, self.count)
            size *= 2


def _decode(text: str, *, follows: bool) -> tuple[list[Any], int, Flaw]:
    """Entries from the beginning of a text, where the last of them ends, and what is wrong after it."""
    values: list[Any] = []
    end = 0
    while True:
        place = _BLANK.match(text, end).end()  # type: ignore[union-attr]  # matches nothing at least
        if follows:
            if text[place : place + 1] != ",":
                return values, end, Flaw.at(text, place, "expected ',' or ']'")
            place = _BLANK.match(text, place + 1).end()  # type: ignore[union-attr]
        try:
            value, after = _DECODER.raw_decode(text, place)
        except (ValueError, RecursionError) as error:
            return values, end, flaw_of(error, text, place)
        if after == len(text) and isinstance(value, int | float):
            return (
                values,
                end,
                Flaw.at(text, after, "expected ',' or ']'"),
            )  # a number may go on in the next block
        values.append(value)
        end, follows = after, True
