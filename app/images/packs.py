"""Packs: many small parts in one file, each readable without the others."""

import io
import struct
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, BinaryIO, Final

if TYPE_CHECKING:  # child processes do not import the storage
    from app.storage import Storage

PACK: Final = "application/octet-stream"
_COUNT: Final = struct.Struct("<I")
_ENDS: Final = struct.Struct("<QQ")


def write_pack(stream: BinaryIO, count: int, parts: Iterable[bytes]) -> None:
    """Write a pack: the number of parts, the offsets of their starts and of the end, then the parts. count: of parts."""
    starts = [_COUNT.size + 8 * (count + 1)]
    stream.seek(starts[0])
    for part in parts:
        stream.write(part)
        starts.append(starts[-1] + len(part))
    stream.seek(0)
    stream.write(_COUNT.pack(count))
    stream.write(struct.pack(f"<{count + 1}Q", *starts))


def pack(parts: Iterable[bytes]) -> bytes:
    """Return a pack of these parts.

    >>> list(parts_of(io.BytesIO(pack([b"one", b"", b"three"]))))
    [b'one', b'', b'three']
    """
    contents, stream = list(parts), io.BytesIO()
    write_pack(stream, len(contents), contents)
    return stream.getvalue()


def parts_of(stream: BinaryIO) -> Iterator[bytes]:
    """Read the parts of a pack in order, one at a time."""
    [count] = _COUNT.unpack(stream.read(_COUNT.size))
    starts = struct.unpack(f"<{count + 1}Q", stream.read(8 * (count + 1)))
    for start, end in pairwise(starts):
        yield stream.read(end - start)


def read_part(store: "Storage", key: str, number: int) -> bytes:
    """Read one part of a stored pack, counted from 0. Empty if there is no such part."""
    with store.open(key) as stream:
        if number >= _COUNT.unpack(stream.read(_COUNT.size))[0]:
            return b""
    with store.open(key, _COUNT.size + 8 * number) as stream:
        start, end = _ENDS.unpack(stream.read(_ENDS.size))
    with store.open(key, start) as stream:
        return stream.read(end - start)
