"""Segments: parts of a file, each encrypted in memory for the workers' key and bound to its place in the file.

A segment is one complete age file. Its plaintext begins with the data set, the file, the role of the file, the offset and whether it is
the last, so that whoever stores segments can neither drop, swap, repeat nor exchange any unnoticed, nor take what was sent as hidden
for public.
"""

import struct
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Final

import pyrage
from pyrage import x25519

from app.core.units import MiB
from app.intake.reports import HIDDEN, PUBLIC

SEGMENT: Final = 8 * MiB  # bytes of plaintext at most
_MAGIC: Final = b"heldout2"
_HEADER: Final = struct.Struct(">8s16s16sQ?8s")
_EARLIER_MAGIC: Final = b"heldout1"  # of releases before this one, without a role
_EARLIER_HEADER: Final = struct.Struct(">8s16s16sQ?")


class SegmentError(Exception):
    """Stored segments are not those that were sent; the message is a sentence and quotes nothing."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a segment belongs.

    is_last: whether the file ends with it; role: of the file as it was sent, None if an earlier release sealed it.
    """

    intake_id: uuid.UUID
    file_id: uuid.UUID
    offset: int
    is_last: bool
    role: str | None


def seal(content: bytes | bytearray, place: Place, public_key: str) -> bytes:
    """Encrypt a part of a file for the owner of a key."""
    assert place.role is not None
    header = _HEADER.pack(
        _MAGIC, place.intake_id.bytes, place.file_id.bytes, place.offset, place.is_last, place.role.encode()
    )
    return pyrage.encrypt(header + content, [x25519.Recipient.from_str(public_key)])


def unseal(sealed: bytes, identity: x25519.Identity) -> tuple[Place, bytes]:
    """Decrypt a segment. Raises SegmentError if it was changed, or encrypted for another key."""
    try:
        plain = pyrage.decrypt(sealed, [identity])
    except pyrage.DecryptError:
        raise SegmentError("A part of the file was changed in storage, or is for another key") from None
    for magic, header in ((_MAGIC, _HEADER), (_EARLIER_MAGIC, _EARLIER_HEADER)):
        if plain.startswith(magic) and len(plain) >= header.size:
            _, intake_id, file_id, offset, is_last, *role = header.unpack_from(plain)
            sent_as = role[0].rstrip(b"\0").decode("ascii", "replace") if role else None
            place = Place(uuid.UUID(bytes=intake_id), uuid.UUID(bytes=file_id), offset, is_last, sent_as)
            return place, plain[header.size :]
    raise SegmentError("A part of the file is not one of ours")


def may_become(sent_as: str | None, role: str) -> bool:
    """Whether a file that was sent in one role may be read in another: what was sent as public may be hidden, and nothing else.

    >>> may_become("public", "hidden"), may_become("hidden", "public"), may_become("images", "hidden")
    (True, False, False)
    """
    return sent_as in (None, role) or (sent_as, role) == (PUBLIC, HIDDEN)


def in_order(
    segments: Iterator[tuple[Place, bytes]], intake_id: uuid.UUID, file_id: uuid.UUID, role: str
) -> Iterator[bytes]:
    """Yield the content of a file from all its segments. role: in which it is read.

    Raises SegmentError for a segment of another file, one that was sent in another role, a gap, an overlap, a wrong order, a missing end,
    or one behind the end.
    """
    end, is_complete = 0, False
    for place, content in segments:
        if (place.intake_id, place.file_id) != (intake_id, file_id):
            raise SegmentError("A part of the file belongs to another file")
        if not may_become(place.role, role):
            raise SegmentError(f"The file was not sent as {role}")
        if is_complete:
            raise SegmentError("A part of the file stands behind its end")
        if place.offset != end:
            raise SegmentError("A part of the file is missing, stands twice, or is not in its place")
        yield content
        end, is_complete = end + len(content), place.is_last
    if not is_complete:
        raise SegmentError("The end of the file is missing")


async def pieces_in_memory(chunks: AsyncIterator[bytes], size: int = SEGMENT) -> AsyncGenerator[bytearray]:
    """Gather chunks into pieces of `size` bytes, never on disk. What arrived before an error is yielded before it is raised."""
    piece = bytearray()
    broken: BaseException | None = None
    try:
        async for chunk in chunks:
            rest = memoryview(chunk)
            while rest:
                taken = rest[: size - len(piece)]
                piece += taken
                rest = rest[len(taken) :]
                if len(piece) == size:
                    yield piece
                    piece = bytearray()
    except Exception as error:  # noqa: BLE001 - store what arrived before any error
        broken = error
    if piece:
        yield piece
    if broken is not None:
        raise broken
