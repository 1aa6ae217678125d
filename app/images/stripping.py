"""Pictures without what their files say besides the pixels: EXIF data, comments, dates; nothing is decoded or encoded again."""

import struct
import zlib
from collections.abc import Iterable, Iterator
from typing import Final

from app.images.colour_profiles import without_texts
from app.images.decoding import JPEG, PNG, PictureError

# of PNG, what decides how pixels look
_CHUNKS: Final = frozenset(
    [b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS", b"gAMA", b"cHRM", b"sRGB", b"iCCP", b"sBIT", b"cICP"]
)
_CHUNK: Final = struct.Struct(">I4s")
BROKEN: Final = "the file is damaged, so that what it says besides its pixels cannot be taken out"

_END, _SCAN = 0xD9, 0xDA  # markers of JPEG
_ALONE: Final = frozenset([0x01, *range(0xD0, 0xD9)])  # markers without a length
_APPLICATION: Final = range(0xE0, 0xF0)
_COMMENT: Final = 0xFE
# of JPEG, the application segments that decide how pixels look: the colour profile and how colours are coded
_PROFILE: Final = 0xE2, b"ICC_PROFILE\0"
_ADOBE: Final = 0xEE, b"Adobe"
_PROFILE_PART: Final = (
    65_519  # bytes of a profile that fit in a segment, beside its length, name, number and their count
)
_LARGEST_PROFILE: Final = 8 << 20  # bytes
_JFIF: Final = b"JFIF\0"
_PLAIN_JFIF: Final = b"\xff\xe0\0\x10" + _JFIF + b"\1\1\0\0\1\0\1\0\0"  # without resolution and thumbnail


def stripped(content: bytes) -> bytes:
    """Return a JPEG or PNG file with the same pixels and colours, and nothing else. Raises PictureError for others."""
    if content.startswith(PNG):
        return _of_png(content)
    if content.startswith(JPEG):
        return _of_jpeg(content)
    raise PictureError("the file is neither JPEG nor PNG")


def _of_png(content: bytes) -> bytes:
    kept, place = [PNG], len(PNG)
    while place + 12 <= len(content):
        length, kind = _CHUNK.unpack_from(content, place)
        end = place + 12 + length
        if end > len(content):
            break
        if kind == b"iCCP":
            kept.append(_profile_chunk(content[place + 8 : end - 4]))
        elif kind in _CHUNKS:
            kept.append(content[place:end])
        if kind == b"IEND":
            return b"".join(kept)
        place = end
    raise PictureError(BROKEN)


def _profile_chunk(data: bytes) -> bytes:
    """The chunk of a colour profile without its texts; nothing if there is none that can be read."""
    packed = data.partition(b"\0")[2][1:]
    try:
        profile = without_texts(zlib.decompressobj().decompress(packed, _LARGEST_PROFILE))
    except zlib.error:
        return b""
    if profile is None:
        return b""
    plain = b"iCCP" + b"ICC\0\0" + zlib.compress(profile, 9)
    return struct.pack(">I", len(plain) - 4) + plain + struct.pack(">I", zlib.crc32(plain))


def _of_jpeg(content: bytes) -> bytes:
    segments = list(_segments(content))
    profile = _profile_of(whole[4:] for marker, whole in segments if marker == _PROFILE[0])
    kept = [content[:2]]
    for marker, whole in segments:
        if marker == _APPLICATION[0] and whole[4:].startswith(_JFIF):
            kept.append(_PLAIN_JFIF)
        elif marker == _PROFILE[0]:
            kept.append(profile)  # where its first part stood
            profile = b""
        elif _is_kept(marker, whole[4:]):
            kept.append(whole)
    return b"".join([*kept, b"\xff\xd9"])


def _segments(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the marker of each segment, and the segment with the coded pixels that follow it."""
    place = 2
    while place + 4 <= len(content) and content[place] == 0xFF and content[place + 1] != _END:
        marker = content[place + 1]
        if marker == 0xFF:  # a byte that fills
            place += 1
            continue
        end = place + 2 if marker in _ALONE else place + 2 + int.from_bytes(content[place + 2 : place + 4])
        if end > len(content):
            break
        if marker == _SCAN:
            end = _end_of_scan(content, end)
        yield marker, content[place:end]
        place = end
    if content[place : place + 2] != b"\xff\xd9":
        raise PictureError(BROKEN)


def _profile_of(segments: Iterable[bytes]) -> bytes:
    """The segments of a colour profile without its texts; nothing if there is none that can be read."""
    name = _PROFILE[1]
    parts = {
        each[len(name)]: each[len(name) + 2 :]
        for each in segments
        if each.startswith(name) and len(each) > len(name) + 2
    }
    profile = without_texts(b"".join(parts[number] for number in sorted(parts)))
    return b"".join(_profile_segments(profile)) if profile else b""


def _profile_segments(profile: bytes) -> Iterable[bytes]:
    marker, name = _PROFILE
    parts = [profile[start : start + _PROFILE_PART] for start in range(0, len(profile), _PROFILE_PART)]
    for number, part in enumerate(parts, 1):
        data = name + bytes((number, len(parts))) + part
        yield struct.pack(">BBH", 0xFF, marker, len(data) + 2) + data


def _is_kept(marker: int, data: bytes) -> bool:
    if marker == _COMMENT:
        return False
    return marker not in _APPLICATION or (marker == _ADOBE[0] and data.startswith(_ADOBE[1]))


def _end_of_scan(content: bytes, place: int) -> int:
    """Where the next marker stands that is no part of the coded pixels."""
    while (place := content.find(b"\xff", place)) >= 0 and place + 1 < len(content):
        if content[place + 1] == 0 or content[place + 1] in range(0xD0, 0xD8):
            place += 2
        else:
            return place
    raise PictureError(BROKEN)
