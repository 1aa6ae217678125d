"""What is kept for years: arrays in files, and dataclasses as JSON.

The same arrays give the same bytes, and reading copies nothing. A file is one line `heldout <kind> 1`, one line of JSON `{"arrays": [[name, type, shape, offset], ...], "facts": {...}}`
filled up with blanks to a multiple of 64 bytes, and then the arrays, little-endian, each beginning at a multiple of
64 bytes; offsets count from the end of the JSON line. Nothing in it depends on the clock, on the machine or on a
compressor's version, so the hash of a file names its content.
"""

import json
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import cache
from io import BytesIO
from itertools import accumulate
from pathlib import Path
from typing import Any, Final, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from .errors import DataError, ScoringError, named

_ALIGNMENT = 64
_AT_ONCE = 1 << 20
"""Elements that are made ready in one go."""
_FIRST_LINE = 256
"""More bytes than the first line has."""


class ForeignFileError(DataError):
    """A file of another kind than expected, or a damaged one."""


@dataclass(frozen=True, slots=True, eq=False)
class Packed:
    """The content of a file of arrays: facts (any JSON value by name) and read-only arrays by name.

    wide: names of arrays that are int64 in the file, and may be narrower in memory.
    """

    facts: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]]
    wide: frozenset[str] = frozenset()


def pack(kind: str, packed: Packed) -> bytes:
    """The bytes of a file of this kind.

    >>> data = pack("example", Packed({"year": 2007}, {"boxes": np.array([[1.0, 2.0, 3.0, 4.0]])}))
    >>> unpack("example", data).arrays["boxes"].tolist()
    [[1.0, 2.0, 3.0, 4.0]]
    """
    content = BytesIO()
    content.writelines(pieces(kind, packed))
    return content.getvalue()


def write(path: Path, kind: str, packed: Packed) -> None:
    """Write a file of this kind, without a second copy of the arrays in memory. Raises PathError."""
    with named(path), path.open("wb") as file:
        file.writelines(pieces(kind, packed))


def pieces(kind: str, packed: Packed) -> Iterator[bytes | memoryview]:
    """The bytes of a file of this kind, a few megabytes at a time."""
    arrays = sorted(packed.arrays.items())
    types = [
        np.dtype("<i8") if name in packed.wide else array.dtype.newbyteorder("<") for name, array in arrays
    ]
    lengths = [array.size * each.itemsize for (_, array), each in zip(arrays, types, strict=True)]
    offsets = accumulate((length + -length % _ALIGNMENT for length in lengths), initial=0)
    table = [
        (name, each.str, array.shape, offset)
        for (name, array), each, offset in zip(arrays, types, offsets, strict=False)
    ]
    header = json.dumps({"arrays": table, "facts": packed.facts}, sort_keys=True, separators=(",", ":"))
    head = f"heldout {kind} 1\n{header}".encode()
    yield head + b" " * (-(len(head) + 1) % _ALIGNMENT) + b"\n"
    for (_, array), each, length in zip(arrays, types, lengths, strict=True):
        flat = array.reshape(-1)
        for begin in range(0, len(flat), _AT_ONCE):
            yield np.ascontiguousarray(flat[begin : begin + _AT_ONCE], each).view(np.uint8).data
        yield bytes(-length % _ALIGNMENT)


def as_read(packed: Packed) -> Packed:
    """What is read again of a file with this content; arrays that are wide there are not copied.

    >>> as_read(Packed({"years": (2007, 2012)}, {})).facts
    {'years': [2007, 2012]}
    """
    arrays = {
        name: array.view() if name in packed.wide else array.copy() for name, array in packed.arrays.items()
    }
    for array in arrays.values():
        array.setflags(write=False)
    return Packed(json.loads(json.dumps(packed.facts)), arrays)


def unpack(kind: str, data: bytes) -> Packed:
    """The content of the bytes that `pack` made; the arrays are views of `data`. Raises ForeignFileError for anything else."""
    first, _, _ = data[:_FIRST_LINE].partition(b"\n")
    if first != f"heldout {kind} 1".encode():
        found = f"one that begins with {first[:40]!r}" if data else "an empty one"
        raise ForeignFileError(f"expected a file of the kind '{kind}', found {found}")
    start = data.find(b"\n", len(first) + 1) + 1
    try:
        parsed = json.loads(data[len(first) + 1 : start])
        arrays = {
            name: np.frombuffer(data, dtype, count=int(np.prod(shape)), offset=start + offset).reshape(shape)
            for name, dtype, shape, offset in parsed["arrays"]
        }
    except (KeyError, TypeError, ValueError) as error:
        raise ForeignFileError(f"the file of the kind '{kind}' is damaged or cut off") from error
    return Packed(parsed["facts"], arrays)


@contextmanager
def complete(kind: str) -> Iterator[None]:
    """Raise ForeignFileError where a file of this kind lacks a fact or an array, or has others than belong there."""
    try:
        yield
    except ScoringError:
        raise
    except KeyError as error:
        raise ForeignFileError(f"the file of the kind '{kind}' has no {error}") from error
    except (TypeError, ValueError, IndexError) as error:
        raise ForeignFileError(f"the file of the kind '{kind}' is damaged: {error}") from error


@contextmanager
def read_from(path: Path | str) -> Iterator[None]:
    """Name the file of this path in a ForeignFileError.

    >>> with read_from("kept"):
    ...     unpack("example", b"")
    Traceback (most recent call last):
    heldout_scoring.stored.ForeignFileError: 'kept': expected a file of the kind 'example', found an empty one
    """
    try:
        yield
    except ForeignFileError as error:
        raise ForeignFileError(f"'{path}': {error}") from None


def pack_words(words: Iterable[str]) -> NDArray[np.uint8]:
    """Words without line breaks as one array of bytes.

    >>> unpack_words(pack_words(["000001", "000002"]))
    ('000001', '000002')
    """
    return np.frombuffer("\n".join(words).encode(), np.uint8)


def unpack_words(array: NDArray[np.uint8]) -> tuple[str, ...]:
    """The words that `pack_words` put together."""
    return tuple(array.tobytes().decode().split("\n")) if array.size else ()


_KIND: Final = "kind"
"""The key under which a dataclass with a class variable of this name says which one it is."""

Value = TypeVar("Value")


def to_plain(value: Any) -> Any:
    """A value as JSON has it: dataclasses as objects, tuples as lists, enums by their value, bytes as `sparse` has them.

    value: a dataclass whose fields are such values again, a tuple, an enum, bytes, a text, a number, a truth value or None;
    fields that are not compared (`field(compare=False)`) are left out. Raises TypeError for anything else.

    >>> from heldout_scoring.scores import ScoreTable
    >>> to_plain(ScoreTable("Average precision", (("car", 0.5), ("cat", None))))
    {'kind': 'score_table', 'title': 'Average precision', 'rows': [['car', 0.5], ['cat', None]]}
    """
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple):
        return [to_plain(each) for each in value]
    if isinstance(value, bytes):
        return sparse(value)
    if is_dataclass(value) and not isinstance(value, type):
        kind = _kind_of(type(value))
        tag = {} if kind is None else {_KIND: kind}
        return tag | {name: to_plain(getattr(value, name)) for name in _types_of(type(value))}
    raise DataError(f"results have no form in JSON for {type(value).__name__}")


def from_plain(cls: type[Value], plain: Any) -> Value:
    """The value of this type that `to_plain` gave. Raises KeyError, TypeError or ValueError for anything else.

    >>> from heldout_scoring.scores import ScoreTable
    >>> table = ScoreTable("Average precision", (("car", 0.5), ("cat", None)))
    >>> from_plain(ScoreTable, to_plain(table)) == table
    True
    """
    value: Value = _read(cls, plain)
    return value


def sparse(data: bytes) -> dict[str, Any]:
    """Bytes by their most frequent value and where the others are, since few predictions are true positives.

    >>> sparse(bytes([0, 1, 0, 255]))
    {'size': 4, 'fill': 0, 'others': {'1': [1], '255': [3]}}
    """
    array = np.frombuffer(data, np.uint8)
    counts = np.bincount(array, minlength=1)
    fill = int(counts.argmax())
    others = [value for value in np.flatnonzero(counts).tolist() if value != fill]
    places = {str(value): np.flatnonzero(array == value).tolist() for value in others}
    return {"size": len(data), "fill": fill, "others": places}


def dense(plain: Mapping[str, Any]) -> bytes:
    """The bytes that `sparse` gave. Raises KeyError, TypeError, ValueError or IndexError for anything else.

    >>> list(dense({"size": 4, "fill": 0, "others": {"1": [1], "255": [3]}}))
    [0, 1, 0, 255]
    """
    array = np.full(plain["size"], plain["fill"], np.uint8)
    for value, places in plain["others"].items():
        array[np.array(places, np.intp)] = int(value)
    return array.tobytes()


def _read(expected: Any, plain: Any) -> Any:
    origin = get_origin(expected)
    if origin in (types.UnionType, Union):
        return _read_one_of(get_args(expected), plain)
    if origin is tuple:
        return _read_tuple(get_args(expected), plain)
    if is_dataclass(expected):
        return _read_dataclass(expected, plain)
    if isinstance(expected, type) and issubclass(expected, Enum):
        return expected(plain)
    if expected is bytes:
        return dense(plain)
    return _read_scalar(expected, plain)


def _read_scalar(expected: Any, plain: Any) -> Any:
    if expected is float and type(plain) is int:
        return float(plain)
    if type(plain) is not expected:
        raise DataError(f"expected {expected.__name__}, found {plain!r}")
    return plain


def _read_one_of(expected: tuple[Any, ...], plain: Any) -> Any:
    if plain is None and types.NoneType in expected:
        return None
    choices = [each for each in expected if each is not types.NoneType]
    if len(choices) > 1:
        by_kind = {each.kind: each for each in choices}
        return _read_dataclass(by_kind[plain[_KIND]], plain)
    return _read(choices[0], plain)


def _read_tuple(expected: tuple[Any, ...], plain: Any) -> tuple[Any, ...]:
    if not isinstance(plain, list):
        raise DataError(f"expected a list, found {plain!r}")
    if expected[-1] is Ellipsis:
        return tuple(_read(expected[0], each) for each in plain)
    return tuple(_read(each, found) for each, found in zip(expected, plain, strict=True))


def _read_dataclass(expected: Any, plain: Any) -> Any:
    if not isinstance(plain, dict):
        raise DataError(f"expected an object with the fields of {expected.__name__}, found {plain!r}")
    kind = _kind_of(expected)
    if kind is not None and plain.get(_KIND) != kind:
        raise DataError(f"expected the kind {kind!r}, found {plain.get(_KIND)!r}")
    known = _types_of(expected)
    if unknown := sorted(plain.keys() - known.keys() - ({_KIND} if kind else set())):
        raise DataError(f"{expected.__name__} has no field {', '.join(unknown)}")
    make: Callable[..., Any] = expected
    return make(**{name: _read(each, plain[name]) for name, each in known.items() if name in plain})


def _kind_of(cls: Any) -> str | None:
    kind = getattr(cls, _KIND, None)
    return kind if isinstance(kind, str) else None  # of a field with this name it is a descriptor


@cache
def _types_of(cls: Any) -> Mapping[str, Any]:
    """The types of the fields that are written, in their order."""
    hints = get_type_hints(cls)
    return {field.name: hints[field.name] for field in fields(cls) if field.compare}
