"""Packs: many small contents in one, each of which is read without the others."""

import io
import struct
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, BinaryIO, Final

if TYPE_CHECKING:  # child processes need no store
    from app.storage import Storage

PACK: Final = "application/octet-stream"
_COUNT: Final = struct.Struct("<I")
_ENDS: Final = struct.Struct("<QQ")


def write_pack(stream: BinaryIO, count: int, parts: Iterable[bytes]) -> None:
    """Write so many parts in order: their number, where each begins and the last ends, and the parts themselves."""
    starts = [_COUNT.size + 8 * (count + 1)]
    stream.seek(starts[0])
    for part in parts:
        stream.write(part)
        starts.append(starts[-1] + len(part))
    stream.seek(0)
    stream.write(_COUNT.pack(count))
    stream.write(struct.pack(f"<{count + 1}Q", *starts))


def pack(parts: Iterable[bytes]) -> bytes:
    """Parts as one content.

    >>> list(parts_of(io.BytesIO(pack([b"one", b"", b"three"]))))
    [b'one', b'', b'three']
    """
    contents, stream = list(parts), io.BytesIO()
    write_pack(stream, len(contents), contents)
    return stream.getvalue()


def parts_of(stream: BinaryIO) -> Iterator[bytes]:
    """The parts of a pack in order, one in memory at a time."""
    [count] = _COUNT.unpack(stream.read(_COUNT.size))
    starts = struct.unpack(f"<{count + 1}Q", stream.read(8 * (count + 1)))
    for start, end in pairwise(starts):
        yield stream.read(end - start)


def read_part(store: "Storage", key: str, number: int) -> bytes:
    """One part of a pack in a store, counted from 0; empty beyond the last one."""
    with store.open(key) as stream:
        if number >= _COUNT.unpack(stream.read(_COUNT.size))[0]:
            return b""
    with store.open(key, _COUNT.size + 8 * number) as stream:
        start, end = _ENDS.unpack(stream.read(_ENDS.size))
    with store.open(key, start) as stream:
        return stream.read(end - start)
