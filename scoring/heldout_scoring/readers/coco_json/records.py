"""The records of a JSON list, some at a time: by a fast parser of records that are as expected, and else by Python's."""

import json
import re
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, Self

import numpy as np

from ...data.arrays import Floats, as_array
from ...errors import DataError, Rule, read_file, shown

_PIECE: Final = 1 << 16
"""Bytes that the fast parser is given: what becomes of them has to stay in the processor's cache, or it is half as fast."""
_BLOCK: Final = 1 << 20
_LONGEST: Final = 16 << 20
"""Bytes in which an entry has to end: more than any mask needs."""
ANNOTATIONS: Final = "annotations"
_LISTS: Final = ("images", "categories", ANNOTATIONS)
"""Names that may stand once in the object that is a file: of two lists a parser takes the last."""
_LIST: Final = re.compile(rb"(?:\xef\xbb\xbf)?\s*\[")
_NAMED_LIST: Final = re.compile(rb'"annotations"\s*:\s*\[')
_SHORT: Final = 1 << 10  # bytes in which a file begins after blanks
_BLANK: Final = re.compile(r"[ \t\r\n]*")
_FIRST: Final = re.compile(rb"\s*(?=\{)")
_FOLLOWING: Final = re.compile(rb"\s*,\s*(?=\{)")
_BETWEEN: Final = re.compile(rb"\}\s*,\s*\{")
_LAST: Final = re.compile(rb"\}\s*\]")

DIGITS: Final = 4300
"""Of a whole number; Python reads none with more."""
_HALF: Final = DIGITS // 2
_DIGITS: Final = re.compile(rf"\d{{{_HALF}}}".encode())
_LONG_NUMBER: Final = re.compile(rf'"(?:[^"\\]|\\.)*"|(?P<flaw>\d{{{DIGITS + 1},}})')
_CONSTANTS: Final = ("NaN", "Infinity", "-Infinity")
_CONSTANT: Final = re.compile(r'"(?:[^"\\]|\\.)*"|(?P<flaw>NaN|-?Infinity)')
_SHOWN: Final = 20  # characters of what was found
_DEEP: Final = "lists and objects are nested too deeply"
_WORDS: Final[Mapping[str, str]] = {
    "Expecting value": "expected a value",
    "Expecting property name enclosed in double quotes": "expected a name in double quotes",
    "Expecting ':' delimiter": "expected ':'",
    "Expecting ',' delimiter": "expected ',' or the end of the list or object",
    "Unterminated string starting at": "expected a text that ends in double quotes",
    "Invalid control character at": "expected no line break or other control character in a text",
    "Invalid \\escape": "expected a letter that JSON knows after a backslash",
    "Invalid \\uXXXX escape": "expected four hexadecimal digits after \\u",
    "Extra data": "expected the end of the file",
    "Illegal trailing comma before end of object": "expected no comma before the end of an object",
    "Illegal trailing comma before end of array": "expected no comma before the end of a list",
}
"""What Python's parser says, and what we say."""

Form = tuple[tuple[str, Any] | tuple[str, Any, Any], ...]
"""The fields of a record that are read: the name and type of each, and its value where it may be left out."""
BOX: Final = tuple[float, float, float, float]
"""The type of `bbox` in a form."""
_NUMBER: Final = np.dtype({"names": ["value"], "formats": [">f8"], "offsets": [1], "itemsize": 9})
"""A number in MessagePack: its eight bytes behind one that says what they are."""

_EXPECTED: Final = "expected a path, JSON, or lists and mappings of numbers and texts"

Source = Path | str | bytes | Mapping[str, Any] | Sequence[Mapping[str, Any]]
"""A JSON file by its path, its content, or what a JSON parser makes of it."""


class JsonError(DataError):
    """The text is no JSON, or not the list that is expected; line: of the file, from 1, None where no place is known."""

    def __init__(self, rule: Rule, line: int | None = None) -> None:
        super().__init__(rule)
        self.rule, self.line = rule, line


@dataclass(frozen=True, slots=True)
class Block:
    """Some entries of a list; first: the number of the first one, from 0.

    values: as Python's parser makes them, or, where there is a text, objects with the fields of a form; text: of these entries.
    """

    first: int
    values: list[Any]
    text: bytes = b""

    def __len__(self) -> int:
        return len(self.values)

    @property
    def entries(self) -> list[Any]:
        """The entries as Python's parser makes them. Raises JsonError."""
        if not self.text:
            return self.values
        try:
            found: list[Any] = _DECODER.decode(f"[{self.text.decode('utf-8', 'surrogateescape')}]")
        except RecursionError as error:
            raise JsonError(Rule(f"this is not JSON: {_DEEP}")) from error
        return found

    def may_double(self, form: Form) -> bool:
        """Whether a name of the form may stand twice in an entry: it is not there as often as there are entries, or lacks in one of them.

        >>> form = (("id", float), ("iscrowd", float, 0.0))
        >>> [Block(0, [None] * 2, text).may_double(form) for text in (b'{"id": 1}, {"id": 2}', b'{"id": 1, "id": 3}, {"id": 2}')]
        [False, True]
        >>> Block(0, [None] * 2, b'{"id": 1, "iscrowd": 1, "iscrowd": 0}, {"id": 2}').may_double(form)
        True
        """
        counts = {name: self.text.count(f'"{name}"'.encode()) for name, *_ in form}
        if any(count not in (0, len(self)) for count in counts.values()) or b"\\u" in self.text:
            return True
        optional = tuple((name, Any) for name, _, *default in form if default and counts[name])
        return bool(optional) and _decoded(self.text, optional) is None

    def any_has(self, name: str) -> bool:
        """Whether the field of any entry is there and not empty.

        >>> Block(0, [{"keypoints": []}, 7]).any_has("keypoints"), Block(0, [{"keypoints": [0]}]).any_has("keypoints")
        (False, True)
        """
        quoted = f'"{name}"'.encode()
        if self.text and b"\\" not in self.text:  # else the name may be written in another way
            filled = rb"%b\s*:(?!\s*(?:\[\s*\]|null))" % quoted
            if quoted not in self.text or re.search(filled, self.text) is None:
                return False
        return any(isinstance(entry, dict) and bool(entry.get(name)) for entry in self.entries)


def read_records(data: bytes, form: Form = ()) -> Iterator[Block]:
    """The entries of a list, or of the list `annotations` of an object.

    Records that have the form are read by msgspec, all others by Python's parser. Raises JsonError.

    >>> [block] = read_records(b'[{"score": 0.5}, {"score": 1e-05}]', (("score", float),))
    >>> [record.score for record in block.values], block.entries
    ([0.5, 1e-05], [{'score': 0.5}, {'score': 1e-05}])
    """
    begin = find_list(data)
    if begin is None:
        yield Block(0, _whole(data))
        return
    reader = Reader(data, begin, form)
    yield from reader.read()
    reader.rest()


def name_of_list(data: bytes) -> str:
    """How the path of an entry begins: "annotations" where the file is an object with such a list, "" where it is the list.

    >>> name_of_list(b'{"annotations": []}'), name_of_list(b"[]")
    ('annotations', '')
    """
    return ANNOTATIONS if data[:_SHORT].removeprefix(BOM_UTF8).lstrip().startswith(b"{") else ""


def find_list(data: bytes) -> int | None:
    """Where the entries of a list begin, or of the list `annotations` of an object; None where the file has to be parsed to know that.

    >>> find_list(b'{"info": {}, "annotations": [7]}'), find_list(b'{"info": {"annotations": [7]}}'), find_list(b" [7]")
    (29, None, 2)
    """
    begin = _LIST.match(data)
    if begin is not None:
        return begin.end()
    begin = _NAMED_LIST.search(data)
    if begin is None or _decoded(data[: begin.end()].removeprefix(BOM_UTF8) + b"]}", ()) is None:
        return None
    return begin.end()


def first_record(data: bytes) -> Any:
    """The first entry of a list, or of the list `annotations` of an object; None where the list is empty. Raises JsonError.

    >>> first_record(b'[{"image_id": 3, "score": 0.5}, {}]'), first_record(b"[]")
    ({'image_id': 3, 'score': 0.5}, None)
    """
    begin = find_list(data)
    if begin is None:
        return next(iter(_whole(data)), None)
    reader = Reader(data, begin, ())
    return None if reader.is_at_end() else reader.parsed().values[0]


def _whole(data: bytes) -> list[Any]:
    """The entries of a file that has to be parsed as a whole."""
    root = parse_json(data)
    entries = root.get(ANNOTATIONS) if isinstance(root, dict) else root
    if not isinstance(entries, list):
        raise JsonError(Rule("expected a list of detections, or an object with such a list as 'annotations'"))
    return entries


def parse_json(data: bytes, end: int = 0, place: int = 0) -> Any:
    """The value of a file, without what stands in it from `end` to `place`. Raises JsonError, also where a list of COCO's stands twice.

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
        root = _DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        flaw = _Flaw.of(error, text, 0)
    else:
        if twice := next((name for name in _LISTS if name in doubled_names(root)), ""):
            raise JsonError(Rule(f"'{twice}' stands twice; put all entries into one list"))
        return root
    before = text[: flaw.position].encode(encoding, "surrogatepass")
    raise _error_at(data, len(before) + (place - end if len(before) >= end else 0), flaw.message)


@dataclass(slots=True)
class Reader:
    """Reads the entries that begin at a place of a file, and stops at the bracket behind the last one; count: of those that were read."""

    data: bytes
    begin: int
    form: Form
    place: int = -1
    count: int = 0

    def __post_init__(self) -> None:
        self.place = self.begin

    def read(self) -> Iterator[Block]:
        """All entries. Raises JsonError."""
        while not self.is_at_end():
            block = self._typed() or self.parsed()
            self.count += len(block)
            yield block

    def rest(self) -> Any:
        """What stands around the entries: the file with an empty list in their place. Raises JsonError."""
        return parse_json(self.data, self.begin, self.place)

    def is_at_end(self) -> bool:
        """Whether the bracket behind the last entry follows."""
        rest = re.compile(rb"\s*\]").match(self.data, self.place)
        if rest is not None:
            self.place = rest.end() - 1
        return rest is not None

    def _typed(self) -> Block | None:
        """The next records, if all of them have the form."""
        start = (_FOLLOWING if self.count else _FIRST).match(self.data, self.place)
        if start is None:
            return None
        begin = start.end()
        for boundary, least in ((_BETWEEN, _PIECE), (_LAST, 0)):
            end = boundary.search(self.data, begin + least, begin + least + _BLOCK)
            if end is None:
                continue
            text = self.data[begin : end.start() + 1]
            values = _decoded(text, self.form)
            if values is not None:
                self.place = end.start() + 1
                return Block(self.count, values, text)
        return None

    def parsed(self) -> Block:
        """The next records, as Python's parser reads them: those of a megabyte, and at least one. Raises JsonError."""
        size = _BLOCK
        while True:
            text = self.data[self.place : self.place + size].decode("utf-8", "surrogateescape")
            values, end, flaw = _parsed(text, follows=self.count > 0)
            if values:
                self.place += len(text[:end].encode("utf-8", "surrogateescape"))
                return Block(self.count, values)
            if self.place + size >= len(self.data) or size >= _LONGEST:
                offset = self.place + len(text[: flaw.position].encode("utf-8", "surrogateescape"))
                raise _error_at(self.data, offset, flaw.message, self.count)
            size *= 2


def _decoded(text: bytes, form: Form) -> list[Any] | None:
    """Records with a comma between any two, as objects with the fields of a form; None where that is not what they are.

    >>> _decoded(b'{"id": 7}, {"id": 8.0}', (("id", float),)), _decoded(b'{"id": "7"}', (("id", float),))
    ([Record(id=7.0), Record(id=8.0)], None)
    """
    try:
        import msgspec  # noqa: PLC0415 - only where a file is read
    except ImportError:
        return None
    if any(_DIGITS.match(text, place) for place in range(0, len(text), _HALF)):
        return None  # there may be a number that Python does not read
    try:
        found: list[Any] = _decoder(form).decode(b"[%b]" % text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return found


@cache
def _decoder(form: Form) -> Any:
    import msgspec  # noqa: PLC0415

    return msgspec.json.Decoder(list[msgspec.defstruct("Record", form, gc=False, kw_only=True)])  # type: ignore[misc]


def columns_of(records: Sequence[Any], form: Form) -> Mapping[str, Floats]:
    """The numbers in records of a form: float64 (n,) of each field that is one, (n, 4) of the boxes if every record has one.

    >>> form = (("id", float), ("bbox", BOX))
    >>> [block] = read_records(b'[{"id": 7, "bbox": [1, 2, 3, 4]}]', form)
    >>> {name: column.tolist() for name, column in columns_of(block.values, form).items()}
    {'id': [7.0], 'bbox': [[1.0, 2.0, 3.0, 4.0]]}
    """
    import msgspec  # noqa: PLC0415

    boxes = [name for name, kind, *_ in form if kind is BOX]
    numbers = [name for name, kind, *_ in form if kind in (float, float | bool)]
    if len(boxes) + len(numbers) == len(form):
        packed, layout = msgspec.msgpack.encode(records), _layout(form)
        start = len(packed) - len(records) * layout.itemsize
        if start > 0:  # no truth value, which is shorter, stands for a number
            table = np.frombuffer(packed, layout, offset=start)
            return {name: table[name]["value"].astype(np.float64) for name in (*numbers, *boxes)}
    rows = chain.from_iterable(map(attrgetter(*numbers), records))
    columns = np.fromiter(rows, np.float64, len(records) * len(numbers)).reshape(-1, len(numbers)).T
    found: dict[str, Floats] = dict(zip(numbers, columns, strict=True))
    for name in boxes:
        sides = [getattr(record, name) for record in records]
        if all(sides):
            found[name] = np.array(sides)
    return found


def columns_of_mappings(entries: Sequence[Any], form: Form) -> Mapping[str, Floats] | None:
    """The same of mappings; None where one has another field, or anything but the numbers and lists that a JSON parser makes.

    >>> columns = columns_of_mappings([{"id": 7, "bbox": [1, 2, 3, 4]}], (("id", float), ("bbox", BOX)))
    >>> {name: column.tolist() for name, column in columns.items()}
    {'id': [7.0], 'bbox': [[1.0, 2.0, 3.0, 4.0]]}
    """
    names = {name for name, *_ in form}
    if set(map(type, entries)) != {dict} or not names.issuperset(chain.from_iterable(entries)):
        return None
    found: dict[str, Floats] = {}
    for name, kind, *_ in form:
        values = [entry.get(name) for entry in entries]
        if kind is BOX:
            if set(map(type, values)) != {list} or set(map(len, values)) != {4}:
                return None
            values = list(chain.from_iterable(values))
        if not set(map(type, values)) <= {int, float}:
            return None
        try:
            column = np.array(values, np.float64)
        except OverflowError:  # a whole number beyond all floats
            return None
        found[name] = column.reshape(-1, 4) if kind is BOX else column
    return found


@cache
def _layout(form: Form) -> np.dtype[np.void]:
    """How MessagePack has a record of numbers: a byte, then every field behind a byte and its name; a list begins with a byte."""
    places: dict[str, tuple[Any, int]] = {}
    size = 1
    for name, kind, *_ in form:
        size += 1 + len(name) + (kind is BOX)
        places[name] = (_NUMBER, 4) if kind is BOX else _NUMBER, size
        size += _NUMBER.itemsize * (4 if kind is BOX else 1)
    formats, offsets = zip(*places.values(), strict=True)
    return np.dtype({"names": [*places], "formats": formats, "offsets": offsets, "itemsize": size})


def _parsed(text: str, *, follows: bool) -> "tuple[list[Any], int, _Flaw]":
    """Entries from the beginning of a text, where the last of them ends, and what is wrong after it."""
    values: list[Any] = []
    end = 0
    while True:
        place = _BLANK.match(text, end).end()  # type: ignore[union-attr]  # matches nothing at least
        if follows:
            if text[place : place + 1] != ",":
                return values, end, _Flaw.at(text, place, "expected ',' or ']'")
            place = _BLANK.match(text, place + 1).end()  # type: ignore[union-attr]
        try:
            value, after = _DECODER.raw_decode(text, place)
        except (ValueError, RecursionError) as error:
            return values, end, _Flaw.of(error, text, place)
        if after == len(text) and isinstance(value, int | float):  # a number may go on in the next block
            return values, end, _Flaw.at(text, after, "expected ',' or ']'")
        values.append(value)
        end, follows = after, True


def _refuse(constant: str) -> None:
    raise ValueError(constant)


class _WithDoubledNames(dict[str, Any]):
    """An object in which names stand twice, with the last value of each."""

    names: tuple[str, ...] = ()


def _object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        found = _WithDoubledNames(pairs)
        found.names = tuple(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
    return found


def doubled_names(value: Any) -> tuple[str, ...]:
    """The names that stand twice in an object, as Python's parser makes it here: of two values any parser takes one without a word.

    >>> doubled_names(parse_json(b'{"id": 7, "id": 8}')), doubled_names({"id": 7})
    (('id',), ())
    """
    return value.names if isinstance(value, _WithDoubledNames) else ()


_DECODER: Final = json.JSONDecoder(parse_constant=_refuse, object_pairs_hook=_object_of)


@dataclass(frozen=True, slots=True)
class _Flaw:
    """The first thing that is wrong in a text; position: of its first character, from 0."""

    position: int
    message: Rule

    @classmethod
    def at(cls, text: str, position: int, expected: str) -> Self:
        """What was expected at a position, and what was found there.

        >>> _Flaw.at("[1 2]", 3, "expected ','").message
        "expected ',', found '2]'"
        """
        rest = text[position : position + _SHOWN]
        line = rest.partition("\n")[0].rstrip("\r")
        if line:
            return cls(position, Rule(f"{expected}, found '{{}}'", shown(line)))
        return cls(position, Rule(f"{expected}, found the end of the {'line' if rest else 'file'}"))

    @classmethod
    def of(cls, error: Exception, text: str, start: int) -> Self:
        """What made Python's parser stop, which began to read at `start`.

        >>> try:
        ...     json.loads("[,]")
        ... except ValueError as error:
        ...     _Flaw.of(error, "[,]", 0)
        _Flaw(position=1, message="expected a value, found ',]'")
        """
        if isinstance(error, json.JSONDecodeError):
            said = error.msg.partition(": ")[0].strip()
            return cls.at(text, error.pos, _WORDS.get(said, "expected JSON"))
        if isinstance(error, RecursionError):
            return cls(start, Rule(_DEEP))
        is_constant = str(error) in _CONSTANTS
        pattern, message = (
            (_CONSTANT, Rule("{} is no number", error))
            if is_constant
            else (_LONG_NUMBER, Rule(f"a number has more than {DIGITS:,} digits"))
        )
        found = next((each for each in pattern.finditer(text, start) if each["flaw"]), None)
        return cls(start if found is None else found.start(), message)


def _error_at(data: bytes, offset: int, flaw: Rule, entry: int | None = None) -> JsonError:
    """The error at a byte of a file, or in one of its entries."""
    line = data.count(b"\n", 0, offset) + 1
    column = len(data[data.rfind(b"\n", 0, offset) + 1 : offset].decode("utf-8", "replace")) + 1
    where = "" if entry is None else f" (entry {entry})"
    words = f"this is not JSON: column {column} of this line{where}: {flaw.words}"
    return JsonError(Rule(words, *flaw.quotes), line)


def read_source(source: Source, name: str) -> tuple[str, bytes]:
    """The name and the content of a JSON file, given in any of these ways; a text that begins with a bracket is content.

    name: what a file is called that has none. Raises PathError for a file that cannot be read, DataError for what has no form in JSON.

    >>> read_source("[]", "detections.json"), read_source([{"id": 1}], "detections.json")
    (('detections.json', b'[]'), ('detections.json', b'[{"id": 1}]'))
    """
    if isinstance(source, bytes):
        return name, source
    if isinstance(source, str) and source.lstrip()[:1] in ("[", "{"):
        return name, source.encode("utf-8", "surrogatepass")
    if isinstance(source, Path | str):
        return Path(source).name, read_file(source)
    try:
        return name, json.dumps(source, default=_plain).encode()
    except DataError:
        raise
    except RecursionError as error:
        raise DataError(f"{_EXPECTED}, found lists and mappings that are nested too deeply") from error
    except ValueError as error:
        found = f"a list or mapping that holds itself, or a number of more than {DIGITS:,} digits"
        raise DataError(f"{_EXPECTED}, found {found}") from error
    except TypeError as error:  # of keys only
        raise DataError(f"{_EXPECTED}, found {_odd_key(source)} as a key") from error


def _plain(value: Any) -> Any:
    """Numbers and arrays of NumPy and of others as JSON has them, and run lengths in bytes, as pycocotools has them."""
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if hasattr(value, "__array__"):
        return as_array(value).tolist()
    hint = "; its `dataset` can be read" if hasattr(value, "dataset") else ""
    raise DataError(f"{_EXPECTED}, found {type(value).__name__}{hint}")


def _odd_key(value: Any) -> str:
    """The type of the first key of a mapping that JSON does not have."""
    if isinstance(value, Mapping):
        odd = next((key for key in value if not isinstance(key, str | int | float | None)), None)
        return (
            type(odd).__name__ if odd is not None else next(filter(None, map(_odd_key, value.values())), "")
        )
    return next(filter(None, map(_odd_key, value)), "") if isinstance(value, list | tuple) else ""
