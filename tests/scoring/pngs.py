"""Valid and invalid PNG files, built chunk by chunk."""

import io
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from PIL import Image

from heldout_scoring.data.arrays import Bytes
from heldout_scoring.data.label_maps import LABEL_COLOURS

SIGNATURE = b"\x89PNG\r\n\x1a\n"


def chunk(kind: bytes, content: bytes = b"", *, crc: int | None = None) -> bytes:
    check = zlib.crc32(kind + content) if crc is None else crc
    return struct.pack(">I4s", len(content), kind) + content + struct.pack(">I", check)


@dataclass(frozen=True)
class Parts:
    """A file of 4 x 3 background pixels; parts that are not given are valid."""

    width: int = 4
    height: int = 3
    depth: int = 8
    kind: int = 3
    methods: tuple[int, int, int] = (0, 0, 0)
    stream: bytes | None = None
    pixels: bytes | None = None
    palette: bytes = LABEL_COLOURS
    before: bytes = b""
    after: bytes = chunk(b"IEND")
    header: bytes = field(default=b"")

    def header_chunk(self) -> bytes:
        size = struct.pack(">II", self.width, self.height)
        return chunk(b"IHDR", size + bytes([self.depth, self.kind, *self.methods]))

    def to_bytes(self) -> bytes:
        row = 1 + (self.width * self.depth + 7) // 8
        stream = bytes(row * self.height) if self.stream is None else self.stream
        pixels = chunk(b"IDAT", zlib.compress(stream)) if self.pixels is None else self.pixels
        palette = chunk(b"PLTE", self.palette) if self.palette else b""
        header = self.header or self.header_chunk()
        return SIGNATURE + header + palette + self.before + pixels + self.after


def picture(labels: Bytes, palette: bytes = LABEL_COLOURS) -> Image.Image:
    image = Image.fromarray(np.asarray(labels, np.uint8))
    image.putpalette(palette)
    return image


def saved(image: Image.Image, kind: str = "PNG", **options: int) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def filtered(labels: Bytes, filters: Sequence[int]) -> bytes:
    """The pixel stream with these filters, one per row: a naive implementation of the standard."""
    above, stream = [0] * labels.shape[1], bytearray()
    for row, kind in zip(labels.tolist(), filters, strict=True):
        stream.append(kind)
        for place, value in enumerate(row):
            left, corner = (row[place - 1], above[place - 1]) if place else (0, 0)
            stream.append(value - predicted(kind, left, above[place], corner) & 255)
        above = row
    return bytes(stream)


def predicted(kind: int, left: int, above: int, corner: int) -> int:
    if kind == 4:
        guess = left + above - corner
        return min((left, above, corner), key=lambda value: abs(guess - value))
    return (0, left, above, (left + above) // 2)[kind]
