"""Decode untrusted image files and encode them again as clean JPEG.

This runs in child processes with limits. The output has no metadata, colour profile or trailing bytes.
"""

import io
import json
import os
import re
import stat
import struct
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Final

from app.images.packs import pack, parts_of

if TYPE_CHECKING:
    from PIL import Image

MAX_BYTES: Final = 64 << 20  # per file
MAX_PIXELS: Final = 64_000_000  # per image: 192 MB once decoded
THUMBNAIL: Final = (320, 240)  # largest width and height
VIEW: Final = (1280, 1280)  # largest width and height
QUALITY: Final = {"thumbnail": 80, "view": 88}
FORMATS: Final = ("JPEG", "PNG")
COVER_FORMATS: Final = (*FORMATS, "WebP")
COVERS: Final = ((1280, 720), (640, 360))  # the sizes of a challenge's picture, the largest first
RECIPE: Final = "2"  # increment to make all images again

JPEG: Final = b"\xff\xd8\xff"
PNG: Final = b"\x89PNG\r\n\x1a\n"
_JPEG_MARKER: Final = re.compile(rb"\xff([^\0\xff])")  # a byte of 255 in an image is followed by one of 0
_JPEG_END: Final = 0xD9
_WITHOUT_CONTENT: Final = range(0xD0, 0xD9)  # markers in an image, and at its beginning
_FORMATS: Final = ((JPEG, "JPEG"), (PNG, "PNG"))
_OTHER_FORMATS: Final = (
    (b"GIF8", "a GIF"),
    (b"BM", "a BMP"),
    (b"II*\0", "a TIFF"),
    (b"MM\0*", "a TIFF"),
    (b"%PDF", "a PDF"),
    (b"<svg", "an SVG"),
    (b"<?xml", "an XML file"),
    (b"%!PS", "PostScript"),
)


UNREADABLE: Final = (OSError, SyntaxError, EOFError, ValueError, struct.error)
"""What Pillow raises of broken pictures."""


class PictureError(ValueError):
    """A file cannot be shown as an image. The message says why."""


@dataclass(frozen=True, slots=True)
class MadeImages:
    """The images made from a file: JPEG in both sizes, and the original size in pixels; or the problem."""

    thumbnail: bytes = b""
    view: bytes = b""
    width: int = 0
    height: int = 0
    problem: str | None = None


def check_beginning(data: bytes, formats: Sequence[str] = FORMATS) -> str:
    """Return the format of a file by its first bytes. Raises PictureError if it is none of these formats.

    >>> check_beginning(b"GIF89a")
    Traceback (most recent call last):
    app.images.decoding.PictureError: expected a JPEG or PNG image, found a GIF
    """
    found = next((name for start, name in _FORMATS if data.startswith(start)), "")
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        found = "WebP"
    if found in formats:
        return found
    if not found:
        others = (name for start, name in _OTHER_FORMATS if data.lstrip().startswith(start))
        found = next(others, "something else" if data else "an empty file")
    expected = f"{', '.join(formats[:-1])} or {formats[-1]}"
    raise PictureError(f"expected a {expected} image, found {f'a {found}' if found == 'WebP' else found}")


def check_end(data: bytes, kind: str) -> None:
    """Raise PictureError if a file ends before its image does, or goes on after it.

    What follows an image may make the file another one for other programs.
    """
    end = {"JPEG": _end_of_jpeg, "PNG": _end_of_png, "WebP": _end_of_webp}[kind](data)
    if end > len(data):
        raise PictureError("the file ends before the image does; it was not copied completely")
    if end < len(data):
        raise PictureError(
            f"{len(data) - end} bytes follow the end of the image; open it in a program for images and save it again"
        )


def is_cut_off(data: bytes) -> bool:
    """Whether a JPEG or PNG file ends before its image does; what follows an image does not matter here."""
    if data.startswith(PNG):
        return _end_of_png(data) > len(data)
    return not data.endswith(b"\xff\xd9") and _end_of_jpeg(data) > len(data)


def _end_of_jpeg(data: bytes) -> int:
    place = len(JPEG) - 1
    while found := _JPEG_MARKER.search(data, place):
        place, marker = found.end(), found[1][0]
        if marker == _JPEG_END:
            return place
        if marker not in _WITHOUT_CONTENT:
            place += int.from_bytes(data[place : place + 2])
    return len(data) + 1


def _end_of_png(data: bytes) -> int:
    place = len(PNG)
    while place < len(data):
        length, kind = int.from_bytes(data[place : place + 4]), data[place + 4 : place + 8]
        place += length + 12
        if kind == b"IEND":
            return place
    return len(data) + 1


def _end_of_webp(data: bytes) -> int:
    length = int.from_bytes(data[4:8], "little")
    return 8 + length + length % 2


def read_file(path: Path, limit: int | None = None) -> bytes:
    """Read a file, or its first bytes. Raises PictureError if it is not a regular file or too large."""
    try:
        descriptor = os.open(
            path, os.O_RDONLY | os.O_NONBLOCK
        )  # opening a pipe without a writer would block forever
    except FileNotFoundError:
        raise PictureError("there is no such file") from None
    except OSError as error:
        raise PictureError(f"the file cannot be read: {error.strerror}") from None
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise PictureError("expected a regular file")
        if status.st_size > MAX_BYTES:
            raise PictureError(
                f"the file has {status.st_size >> 20} MiB; at most {MAX_BYTES >> 20} MiB are allowed"
            )
        return file.read(MAX_BYTES if limit is None else limit)


def make_all(source: Path, names: tuple[str | None, ...], in_pack: bool) -> bytes:  # noqa: FBT001 - pickled in order
    """Make a pack: JSON with width, height and problem of each file, then a thumbnail and a larger image of each.

    source: a folder, or a pack with the content of each file; names: of the files, None for those to skip.
    """
    with source.open("rb") if in_pack else nullcontext() as stream:
        contents = repeat(None, len(names)) if stream is None else parts_of(stream)
        made = [_make_one(source, name, data) for name, data in zip(names, contents, strict=True)]
    facts = json.dumps([(each.width, each.height, each.problem) for each in made]).encode()
    return pack([facts, *(part for each in made for part in (each.thumbnail, each.view))])


def _make_one(source: Path, name: str | None, data: bytes | None) -> MadeImages:
    if name is None:
        return MadeImages()
    try:
        return make(read_file(source / name) if data is None else data)
    except PictureError as error:
        return MadeImages(problem=str(error))


def make(data: bytes, largest: tuple[int, int] = VIEW) -> MadeImages:
    """Make a thumbnail and a larger image from a JPEG or PNG file. largest: width and height of that one.

    The orientation in the metadata is ignored, because annotation refers to the pixels as stored. Raises PictureError.
    """
    check_beginning(data[:16])
    with _decoded(data) as picture:
        size, view = picture.size, _to_rgb(picture)
    view.thumbnail(largest, reducing_gap=2.0)
    thumbnail = view.copy()
    thumbnail.thumbnail(THUMBNAIL, reducing_gap=2.0)
    return MadeImages(_jpeg(thumbnail, QUALITY["thumbnail"]), _jpeg(view, QUALITY["view"]), *size)


def make_cover(data: bytes) -> bytes:
    """Make the picture of a challenge from a JPEG, PNG or WebP file: a pack of it as JPEG in both sizes, cut to their shape.

    Returns `!` followed by the problem if the file is not such an image or has something else in it.
    """
    from PIL import ImageOps  # noqa: PLC0415 - needed only to decode an image

    least = COVERS[-1]
    try:
        check_end(data, check_beginning(data[:16], COVER_FORMATS))
        with _decoded(data) as picture:
            upright = ImageOps.exif_transpose(picture)
            if upright.width < least[0] or upright.height < least[1]:
                raise PictureError(  # noqa: TRY301 - as every other problem
                    f"the image has {upright.width} x {upright.height} pixels; at least {least[0]} x {least[1]} are needed"
                )
            whole = _to_rgb(upright)
    except PictureError as error:
        return b"!" + str(error).encode()
    return pack(_jpeg(ImageOps.fit(whole, size), QUALITY["view"]) for size in COVERS)


def make_text_image(data: bytes) -> bytes:
    """Make an image for a text from a JPEG, PNG or WebP file: a JPEG of at most `VIEW`, after a line with its width and height.

    Returns `!` followed by the problem if the file is not such an image or has something else in it.
    """
    from PIL import ImageOps  # noqa: PLC0415 - needed only to decode an image

    try:
        check_end(data, check_beginning(data[:16], COVER_FORMATS))
        with _decoded(data) as picture:
            whole = _to_rgb(ImageOps.exif_transpose(picture))
    except PictureError as error:
        return b"!" + str(error).encode()
    whole.thumbnail(VIEW, reducing_gap=2.0)
    return f"{whole.width} {whole.height}\n".encode() + _jpeg(whole, QUALITY["view"])


@contextmanager
def _decoded(data: bytes) -> "Iterator[Image.Image]":
    """Open an image. Raises PictureError if it cannot be decoded, also in place of the block's errors.

    Its header is checked first, so too many pixels are never decoded.
    """
    from PIL import Image, UnidentifiedImageError  # noqa: PLC0415 - needed only to decode an image

    Image.MAX_IMAGE_PIXELS = MAX_PIXELS
    formats = [each.upper() for each in COVER_FORMATS]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(data), formats=formats) as picture:
                yield picture
    except UnidentifiedImageError:
        raise PictureError("this image cannot be decoded") from None
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise PictureError(f"the image has more than {MAX_PIXELS:,} pixels") from None
    except PictureError:
        raise
    except UNREADABLE as error:
        raise PictureError(f"this image cannot be decoded: {error}") from None


def _to_rgb(picture: "Image.Image") -> "Image.Image":
    """Convert to RGB, with transparent pixels on white."""
    from PIL import Image  # noqa: PLC0415

    if picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info:
        with_alpha = picture.convert("RGBA")
        background = Image.new("RGB", with_alpha.size, "white")
        background.paste(with_alpha, mask=with_alpha.getchannel("A"))
        return background
    if picture.mode.startswith("I;16"):
        return picture.point(lambda value: value / 256).convert("L").convert("RGB")
    return picture.convert("RGB")


def _jpeg(picture: "Image.Image", quality: int) -> bytes:
    from PIL import Image  # noqa: PLC0415

    clean = Image.new("RGB", picture.size)  # a new image has no metadata
    clean.paste(picture)
    output = io.BytesIO()
    clean.save(output, "JPEG", quality=quality, optimize=True)
    return output.getvalue()
