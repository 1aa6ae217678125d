"""ICC colour profiles without what they say besides colours (ICC.1:2022, sections 7 and 10)."""

import struct
from typing import Final

_HEADER: Final = 128  # bytes
_COUNT: Final = struct.Struct(">I")
_TAG: Final = struct.Struct(">4sII")  # name, offset, size
_MOST_TAGS: Final = 100
_SIGNATURE: Final = b"acsp"  # at byte 36 of the header
# types of values that transform colours, all others are texts, dates, names of devices or private
_OF_COLOURS: Final = frozenset(
    [b"XYZ ", b"chrm", b"curv", b"para", b"mft1", b"mft2", b"mAB ", b"mBA ", b"sf32", b"uf32", b"cicp"]
)
# of the header: preferred module, date, platform, manufacturer and model of the device, creator, digest
_ABOUT_FILE: Final = ((4, 8), (24, 36), (40, 44), (48, 56), (80, 100))
# which every profile must have, so that readers that insist on them find them: no text in no language
_TEXTS: Final = (b"desc", b"cprt")
_NO_TEXT: Final = b"mluc" + bytes(4) + struct.pack(">II", 0, 12)


def without_texts(profile: bytes) -> bytes | None:
    """Return a profile that transforms colours as this one does, and holds no text; None if it is none that can be read."""
    if len(profile) < _HEADER + _COUNT.size or profile[36:40] != _SIGNATURE:
        return None
    (count,) = _COUNT.unpack_from(profile, _HEADER)
    table = _HEADER + _COUNT.size
    if count > _MOST_TAGS or table + count * _TAG.size > len(profile):
        return None
    values: dict[bytes, bytes] = {}
    for place in range(count):
        name, start, size = _TAG.unpack_from(profile, table + place * _TAG.size)
        value = profile[start : start + size]
        if len(value) != size:
            return None
        if value[:4] in _OF_COLOURS:
            values[name] = value
    if sum(map(len, set(values.values()))) > len(profile):
        return None  # values that overlap, so that the new profile would be longer
    return _profile(profile[:_HEADER], values | dict.fromkeys(_TEXTS, _NO_TEXT))


def _profile(header: bytes, values: dict[bytes, bytes]) -> bytes:
    """Put a profile together. Equal values are stored once, as their tags may share them."""
    start = _HEADER + _COUNT.size + len(values) * _TAG.size
    tags, stored, places = bytearray(_COUNT.pack(len(values))), bytearray(), dict[bytes, int]()
    for name, value in values.items():
        if value not in places:
            places[value] = start + len(stored)
            stored += value + bytes(-len(value) % 4)
        tags += _TAG.pack(name, places[value], len(value))
    plain = bytearray(header)
    for first, end in _ABOUT_FILE:
        plain[first:end] = bytes(end - first)
    plain[100:] = bytes(_HEADER - 100)  # reserved
    plain[:4] = _COUNT.pack(start + len(stored))
    return bytes(plain + tags + stored)
