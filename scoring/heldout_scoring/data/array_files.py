"""Arrays in one file: the same content gives the same bytes, and reading copies nothing.

A file is one line `heldout <kind> 1`, one line of JSON `{"arrays": [[name, type, shape, offset], ...], "facts": {...}}`
filled up with blanks to a multiple of 64 bytes, and then the arrays, little-endian, each beginning at a multiple of
64 bytes; offsets count from the end of the JSON line. Nothing in it depends on the clock, on the machine or on a
compressor's version, so the hash of a file names its content.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import named
from .arrays import Bytes

_ALIGNMENT = 64
_FIRST_LINE = 256
"""More bytes than the first line has."""


class ForeignFileError(ValueError):
    """A file of another kind than expected, or a damaged one."""


@dataclass(frozen=True, slots=True, eq=False)
class Packed:
    """The content of a file of arrays: facts (any JSON value by name) and read-only arrays by name."""

    facts: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]]


def pack(kind: str, packed: Packed) -> bytes:
    """The bytes of a file of this kind.

    >>> data = pack("example", Packed({"year": 2007}, {"boxes": np.array([[1.0, 2.0, 3.0, 4.0]])}))
    >>> unpack("example", data).arrays["boxes"].tolist()
    [[1.0, 2.0, 3.0, 4.0]]
    """
    return b"".join(_pieces(kind, packed))


def write(path: Path, kind: str, packed: Packed) -> None:
    """Write a file of this kind, without a second copy of the arrays in memory. Raises PathError."""
    with named(path), path.open("wb") as file:
        file.writelines(_pieces(kind, packed))


def _pieces(kind: str, packed: Packed) -> Iterator[bytes | memoryview]:
    arrays = {
        name: np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        for name, array in sorted(packed.arrays.items())
    }
    padded = [array.nbytes + -array.nbytes % _ALIGNMENT for array in arrays.values()]
    offsets = accumulate(padded, initial=0)
    table = [
        (name, array.dtype.str, array.shape, offset)
        for (name, array), offset in zip(arrays.items(), offsets, strict=False)
    ]
    header = json.dumps({"arrays": table, "facts": packed.facts}, sort_keys=True, separators=(",", ":"))
    head = f"heldout {kind} 1\n{header}".encode()
    yield head + b" " * (-(len(head) + 1) % _ALIGNMENT) + b"\n"
    for array, length in zip(arrays.values(), padded, strict=True):
        yield array.reshape(-1).view(np.uint8).data
        yield bytes(length - array.nbytes)


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
    """Raise ForeignFileError where a file of this kind lacks a fact or an array."""
    try:
        yield
    except KeyError as error:
        raise ForeignFileError(f"the file of the kind '{kind}' has no {error}") from error


@contextmanager
def read_from(path: Path | str) -> Iterator[None]:
    """Name the file of this path in a ForeignFileError.

    >>> with read_from("kept"):
    ...     unpack("example", b"")
    Traceback (most recent call last):
    heldout_scoring.data.array_files.ForeignFileError: 'kept': expected a file of the kind 'example', found an empty one
    """
    try:
        yield
    except ForeignFileError as error:
        raise ForeignFileError(f"'{path}': {error}") from None


def pack_words(words: Iterable[str]) -> Bytes:
    """Words without line breaks as one array of bytes.

    >>> unpack_words(pack_words(["000001", "000002"]))
    ('000001', '000002')
    """
    return np.frombuffer("\n".join(words).encode(), np.uint8)


def unpack_words(array: Bytes) -> tuple[str, ...]:
    """The words that `pack_words` put together."""
    return tuple(array.tobytes().decode().split("\n")) if array.size else ()
