"""Decoding the pixels of an indexed PNG to labels."""

import io
from typing import Final

import numpy as np
from isal import isal_zlib

from scoring.archives.png import Header, Png, PngError, as_png
from scoring.data.arrays import Bytes

_NONE, _LEFT, _ABOVE, _MEAN, _PAETH = range(5)
"""The PNG row filters, which predict a byte from its neighbours."""
_DAMAGED: Final[type[Exception]] = isal_zlib.IsalError  # type: ignore[assignment]  # its stub says it is an instance
_VALUES: Final = {1: 1, 2: 3, 4: 15}
"""The largest value by number of bits."""


def labels_of(png: Png) -> Bytes:
    """The palette indices of an image, uint8 (height, width), whatever the palette; its rows may lie apart in memory.

    Decompresses no more bytes than the image's size needs. Raises PngError if the stream is shorter or longer.

    >>> from scoring.archives.png import labels_to_png, open_png
    >>> labels_of(open_png(labels_to_png(np.array([[0, 1, 2]], np.uint8)), (3, 1))).tolist()
    [[0, 1, 2]]
    """
    header = png.header
    stream = _inflated(png.pixels, header.stream_bytes)
    if header.interlaced:
        return _read_by_pillow(png)
    rows = np.frombuffer(stream, np.uint8).reshape(header.height, -1)
    filters = rows[:, 0]
    last = int(filters.max())
    if last > _PAETH:
        raise PngError("damaged-png", "the PNG is damaged: its pixels name a filter that does not exist")
    if last > _ABOVE:
        return _read_by_pillow(png)
    packed = rows[:, 1:]
    if last > _NONE:
        packed = packed.copy()
        _undo_filters(packed, filters)
    return packed if header.depth == 8 else _unpacked(packed, header)


def _inflated(pixels: bytes, expected: int) -> bytes:
    inflater = isal_zlib.decompressobj()
    try:
        stream: bytes = inflater.decompress(pixels, expected + 1)
    except _DAMAGED as error:
        raise PngError("damaged-png", "the PNG is damaged: its pixels cannot be inflated") from error
    found = len(stream)
    if found == expected and not inflater.eof:
        raise PngError("truncated-png", "the PNG is truncated: its pixels end before their checksum")
    if found < expected:
        message = f"the PNG is truncated: its pixels end after {found} of {expected} bytes"
        raise PngError("truncated-png", message, str(found), str(expected))
    if found > expected or inflater.unused_data:
        raise PngError("trailing-data", f"the PNG has more pixels than its size asks for, {expected} bytes")
    return stream


def _undo_filters(packed: Bytes, filters: Bytes) -> None:
    """Undo the row filters None, Sub and Up, in place."""
    from_left = filters == _LEFT
    packed[from_left] = np.cumsum(packed[from_left], axis=1, dtype=np.uint8)
    for row in np.flatnonzero(filters == _ABOVE):
        packed[row] += packed[row - 1] if row else 0


def _unpacked(packed: Bytes, header: Header) -> Bytes:
    """Values of fewer than 8 bits as one byte each, most significant bits first; padding at the end of a row is dropped."""
    shifts = np.arange(8 - header.depth, -1, -header.depth, dtype=np.uint8)
    values = packed[:, :, np.newaxis] >> shifts & np.uint8(_VALUES[header.depth])
    return np.ascontiguousarray(values.reshape(header.height, -1)[:, : header.width])


def _read_by_pillow(png: Png) -> Bytes:
    """Decode interlaced images and the filters Average and Paeth by Pillow, from a file with nothing but these pixels."""
    from PIL import Image  # noqa: PLC0415 - only where an image is decoded

    file = as_png(png.header, png.palette, png.pixels)
    try:
        with Image.open(io.BytesIO(file), formats=["PNG"]) as image:
            return np.asarray(image, dtype=np.uint8)
    except (OSError, SyntaxError, ValueError) as error:
        raise PngError("damaged-png", "the PNG is damaged: its pixels cannot be read") from error
