"""Pictures without what their files say besides the pixels: EXIF data, comments, dates; nothing is decoded or encoded again."""

import struct
from typing import Final

from app.images.decoding import JPEG, PNG, PictureError

# of PNG, what decides how pixels look
_CHUNKS: Final = frozenset(
    [b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS", b"gAMA", b"cHRM", b"sRGB", b"iCCP", b"sBIT", b"cICP"]
)
_CHUNK: Final = struct.Struct(">I4s")
_BROKEN: Final = "the file is damaged, so that what it says besides its pixels cannot be taken out"

_END, _SCAN = 0xD9, 0xDA  # markers of JPEG
_ALONE: Final = frozenset([0x01, *range(0xD0, 0xD9)])  # markers without a length
_APPLICATION: Final = range(0xE0, 0xF0)
_COMMENT: Final = 0xFE
# of JPEG, the application segments that decide how pixels look: the colour profile and how colours are coded
_KEPT: Final = {0xE2: b"ICC_PROFILE\0", 0xEE: b"Adobe"}
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
        if kind in _CHUNKS:
            kept.append(content[place:end])
        if kind == b"IEND":
            return b"".join(kept)
        place = end
    raise PictureError(_BROKEN)


def _of_jpeg(content: bytes) -> bytes:
    kept, place = [content[:2]], 2
    while place + 4 <= len(content):
        if content[place] != 0xFF:
            break
        marker = content[place + 1]
        if marker == 0xFF:  # a byte that fills
            place += 1
            continue
        if marker == _END:
            kept.append(content[place : place + 2])
            return b"".join(kept)
        end = place + 2 if marker in _ALONE else place + 2 + int.from_bytes(content[place + 2 : place + 4])
        if end > len(content):
            break
        data = content[place + 4 : end]
        if marker == _APPLICATION[0] and data.startswith(_JFIF):
            kept.append(_PLAIN_JFIF)
        elif _is_kept(marker, data):
            kept.append(content[place:end])
        place = end
        if marker == _SCAN:
            place = _end_of_scan(content, end)
            kept.append(content[end:place])
    if place + 2 <= len(content) and content[place : place + 2] == b"\xff\xd9":
        kept.append(b"\xff\xd9")
        return b"".join(kept)
    raise PictureError(_BROKEN)


def _is_kept(marker: int, data: bytes) -> bool:
    if marker == _COMMENT:
        return False
    return marker not in _APPLICATION or (marker in _KEPT and data.startswith(_KEPT[marker]))


def _end_of_scan(content: bytes, place: int) -> int:
    """Where the next marker stands that is no part of the coded pixels."""
    while (place := content.find(b"\xff", place)) >= 0 and place + 1 < len(content):
        if content[place + 1] == 0 or content[place + 1] in range(0xD0, 0xD8):
            place += 2
        else:
            return place
    raise PictureError(_BROKEN)
