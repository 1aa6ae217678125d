"""Reading and writing of indexed PNG files; every chunk is checked before pixels are decoded."""

import io
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from struct import Struct
from typing import Any, Final

import numpy as np

from ..data.arrays import Bytes, as_array
from ..data.label_maps import LABEL_COLOURS
from ..errors import DataError, from_extra

SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
INDEXED: Final = 3
GREY: Final = 0
MOST_PIXELS: Final = 1 << 26
"""Pixels of an image; Pillow, which decodes the rarer formats, has the same limit."""
MOST_CHUNKS: Final = 100_000

_KINDS: Final = {0: "grey", 2: "RGB", INDEXED: "indexed", 4: "grey with alpha", 6: "RGBA"}
_DEPTHS: Final = {INDEXED: (1, 2, 4, 8), GREY: (8,)}
_OTHERS: Final = {
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF8": "a GIF image",
    b"BM": "a BMP image",
    b"II*\0": "a TIFF image",
    b"MM\0*": "a TIFF image",
    b"RIFF": "a WebP image",
    b"%!PS": "PostScript",
    b"<svg": "an SVG image",
}
_FRAME: Final = Struct(">I4s")
_CRC: Final = Struct(">I")
_IHDR: Final = Struct(">IIBBBBB")
_WANTED: Final = "an indexed (palette) PNG of 8 bits whose indices are the labels"


class PngError(DataError):
    """A file is not a label image; code is stable and in kebab-case, the message a sentence for its sender."""

    def __init__(
        self, code: str, message: str, found: str | None = None, expected: str | None = None
    ) -> None:
        super().__init__(message)
        self.code, self.found, self.expected = code, found, expected


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a PNG: size in pixels, bits per pixel, INDEXED or GREY, and whether it is interlaced."""

    width: int
    height: int
    depth: int
    kind: int
    interlaced: bool

    @property
    def packed(self) -> bytes:
        """The bytes of the IHDR chunk."""
        return _IHDR.pack(self.width, self.height, self.depth, self.kind, 0, 0, self.interlaced)

    def row_bytes(self, width: int) -> int:
        """The bytes of a row of this many pixels, including its filter byte."""
        return 1 + (width * self.depth + 7) // 8

    @property
    def stream_bytes(self) -> int:
        """The bytes of the decompressed pixel stream."""
        if not self.interlaced:
            return self.height * self.row_bytes(self.width)
        return sum(rows * self.row_bytes(columns) for columns, rows in self._passes() if columns)

    def _passes(self) -> Iterator[tuple[int, int]]:
        """Columns and rows of the seven Adam7 passes."""
        for x, y, across, down in (
            (0, 0, 8, 8),
            (4, 0, 8, 8),
            (0, 4, 4, 8),
            (2, 0, 4, 4),
            (0, 2, 2, 4),
            (1, 0, 2, 2),
            (0, 1, 1, 2),
        ):
            yield (self.width - x + across - 1) // across, (self.height - y + down - 1) // down


@dataclass(frozen=True, slots=True)
class Png:
    """A checked PNG; palette: red, green, blue of each index; pixels: the compressed stream."""

    header: Header
    palette: bytes
    pixels: bytes


def open_png(data: bytes, size: tuple[int, int] | None) -> Png:
    """Split a PNG into its parts and check them; size: the expected width and height, None if unknown.

    Nothing is inflated. Raises PngError for the first thing that is wrong.

    >>> import numpy as np
    >>> open_png(labels_to_png(np.zeros((2, 3), np.uint8)), (3, 3))
    Traceback (most recent call last):
    heldout_scoring.archives.png.PngError: the size is wrong: 3 x 2 pixels (width x height); expected 3 x 3
    """
    if not data.startswith(SIGNATURE):
        found = next((kind for magic, kind in _OTHERS.items() if data.startswith(magic)), "something else")
        found = found if data else "an empty file"
        raise PngError("not-a-png", f"expected a PNG, found {found}", found, "a PNG")
    chunks = _chunks(data)
    kind, content = next(chunks, (b"", memoryview(b"")))
    if kind != b"IHDR" or len(content) != _IHDR.size:
        raise _damaged("it does not begin with its header")
    header = _header(content, size)
    palette, pixels = _walk(chunks)
    if header.kind == INDEXED and not palette:
        raise _damaged("it is an indexed PNG without a palette")
    return Png(header, palette, pixels)


def _damaged(what: str) -> PngError:
    return PngError("damaged-png", f"the PNG is damaged: {what}")


def _isal() -> Any:
    with from_extra("files"):
        from isal import isal_zlib  # noqa: PLC0415 - not needed for arrays
    return isal_zlib


def _chunks(data: bytes) -> Iterator[tuple[bytes, memoryview]]:
    """Type and content of every chunk. Raises PngError for a wrong checksum and for data after IEND."""
    view, place, kind = memoryview(data), len(SIGNATURE), b""
    crc32 = _isal().crc32
    for _ in range(MOST_CHUNKS):
        if kind == b"IEND":
            if place < len(data):
                raise PngError("trailing-data", f"{len(data) - place} bytes follow the end of the PNG")
            return
        if place + _FRAME.size > len(data):
            raise PngError("truncated-png", "the PNG is truncated: the file ends before its last chunk")
        length, kind = _FRAME.unpack_from(data, place)
        start, end = place + _FRAME.size, place + _FRAME.size + length
        if end + _CRC.size > len(data):
            raise PngError("truncated-png", "the PNG is truncated: the file ends within a chunk")
        if crc32(view[place + 4 : end]) != _CRC.unpack_from(data, end)[0]:
            raise _damaged("the checksum (CRC) of a chunk is wrong")
        yield kind, view[start:end]
        place = end + _CRC.size
    raise _damaged(f"it has more than {MOST_CHUNKS} chunks")


def _header(content: memoryview, size: tuple[int, int] | None) -> Header:
    width, height, depth, kind, compression, filtering, interlace = _IHDR.unpack(content)
    found = f"{width} x {height}"
    if size is not None and size != (width, height):
        expected = "{} x {}".format(*size)
        message = f"the size is wrong: {found} pixels (width x height); expected {expected}"
        raise PngError("wrong-size", message, found, expected)
    if not 0 < width * height <= MOST_PIXELS:
        message = (
            f"the size is {found} pixels (width x height); expected at least one and at most {MOST_PIXELS}"
        )
        raise PngError("wrong-size", message, found)
    if kind not in _KINDS or compression or filtering or interlace > 1:
        raise _damaged("its header says what no PNG can be")
    if depth not in _DEPTHS.get(kind, ()):
        raise _not_indexed(kind, depth)
    return Header(width, height, depth, kind, bool(interlace))


def _not_indexed(kind: int, depth: int) -> PngError:
    found = f"{_KINDS[kind]}, {depth} bits a {'pixel' if kind in _DEPTHS else 'channel'}"
    message = f"found a PNG of another type ({found}); expected {_WANTED}"
    if kind not in _DEPTHS:
        message += "; turn its colours into indices before it is packed"
    return PngError("not-indexed", message, found, "an indexed PNG")


def _walk(chunks: Iterator[tuple[bytes, memoryview]]) -> tuple[bytes, bytes]:
    """The palette and the compressed pixels. Raises PngError for chunks that are missing, repeated or out of order."""
    palette, pixels, before = b"", list[memoryview](), b"IHDR"
    for kind, content in chunks:
        if kind == b"IDAT":
            if pixels and before != b"IDAT":
                raise _damaged("its pixels are in two places")
            pixels.append(content)
        elif kind == b"PLTE":
            if palette or pixels or len(content) % 3 or not 3 <= len(content) <= len(LABEL_COLOURS):
                raise _damaged("its palette is in the wrong place or of a wrong length")
            palette = bytes(content)
        elif kind == b"acTL":
            message = "found an animated PNG (APNG); expected one image without frames"
            raise PngError("animated-png", message, "an animated PNG", "one image")
        elif not kind.isalpha() or (kind[:1].isupper() and (kind != b"IEND" or content)):
            raise _damaged("a chunk is in the wrong place or of an unknown kind")
        before = kind
    return palette, b"".join(pixels)


def labels_to_png(labels: Bytes, palette: bytes = LABEL_COLOURS) -> bytes:
    """A label image, uint8 (height, width), as an indexed PNG with the palette of the development kits.

    Raises DataError for anything else.

    >>> import numpy as np
    >>> open_png(labels_to_png(np.zeros((2, 3), np.uint8)), (3, 2)).header
    Header(width=3, height=2, depth=8, kind=3, interlaced=False)
    """
    labels = as_array(labels)
    if labels.dtype != "uint8" or labels.ndim != 2:
        raise DataError(f"expected labels uint8 (height, width), found {labels.dtype} {labels.shape}")
    height, width = labels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in labels)
    header = Header(width, height, 8, INDEXED, interlaced=False)
    return as_png(header, palette, zlib.compress(rows))


def as_png(header: Header, palette: bytes, pixels: bytes) -> bytes:
    """A PNG with only the chunks that an indexed image needs."""
    pairs = ((b"IHDR", header.packed), (b"PLTE", palette), (b"IDAT", pixels), (b"IEND", b""))
    chunks = (
        _FRAME.pack(len(content), kind) + content + _CRC.pack(zlib.crc32(content, zlib.crc32(kind)))
        for kind, content in pairs
        if content or kind == b"IEND"
    )
    return SIGNATURE + b"".join(chunks)


_NONE, _LEFT, _ABOVE, _MEAN, _PAETH = range(5)
"""The PNG row filters, which predict a byte from its neighbours."""
_VALUES: Final = {1: 1, 2: 3, 4: 15}
"""The largest value by number of bits."""


def labels_of(png: Png) -> Bytes:
    """The palette indices of an image, uint8 (height, width), whatever the palette; its rows may lie apart in memory.

    Decompresses no more bytes than the image's size needs. Raises PngError if the stream is shorter or longer.

    >>> from heldout_scoring.archives.png import labels_to_png, open_png
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
    isal = _isal()
    inflater = isal.decompressobj()
    try:
        stream: bytes = inflater.decompress(pixels, expected + 1)
    except isal.IsalError as error:
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
    with from_extra("files"):
        from PIL import Image  # noqa: PLC0415 - only where an image is decoded

    file = as_png(png.header, png.palette, png.pixels)
    try:
        with Image.open(io.BytesIO(file), formats=["PNG"]) as image:
            return np.asarray(image, dtype=np.uint8)
    except (OSError, SyntaxError, ValueError) as error:
        raise PngError("damaged-png", "the PNG is damaged: its pixels cannot be read") from error
