"""Decode untrusted image files and encode them again as clean JPEG.

This runs in child processes with limits. The output has no metadata, colour profile or trailing bytes.
"""

import io
import json
import os
import stat
import struct
import warnings
from contextlib import nullcontext
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
RECIPE: Final = "2"  # increment to make all images again

JPEG: Final = b"\xff\xd8\xff"
PNG: Final = b"\x89PNG\r\n\x1a\n"
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


def check_beginning(data: bytes) -> None:
    """Raise PictureError if the first bytes of a file are neither JPEG nor PNG.

    >>> check_beginning(b"GIF89a")
    Traceback (most recent call last):
    app.images.decoding.PictureError: expected a JPEG or PNG image, found a GIF
    """
    if data.startswith((JPEG, PNG)):
        return
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        found = "a WebP"
    else:
        found = next(
            (name for start, name in _OTHER_FORMATS if data.lstrip().startswith(start)), "something else"
        )
    raise PictureError(f"expected a JPEG or PNG image, found {found if data else 'an empty file'}")


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


def make(data: bytes) -> MadeImages:
    """Make a thumbnail and a larger image from a JPEG or PNG file.

    The orientation in the metadata is ignored, because annotation refers to the pixels as stored. Raises PictureError.
    """
    from PIL import Image, UnidentifiedImageError  # noqa: PLC0415 - needed only to decode an image

    check_beginning(data[:16])
    try:
        size, view = _decoded(data)
    except UnidentifiedImageError:
        raise PictureError("this image cannot be decoded") from None
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise PictureError(f"the image has more than {MAX_PIXELS:,} pixels") from None
    except (OSError, SyntaxError, EOFError, struct.error) as error:
        raise PictureError(f"this image cannot be decoded: {error}") from None
    view.thumbnail(VIEW, reducing_gap=2.0)
    thumbnail = view.copy()
    thumbnail.thumbnail(THUMBNAIL, reducing_gap=2.0)
    return MadeImages(_jpeg(thumbnail, QUALITY["thumbnail"]), _jpeg(view, QUALITY["view"]), *size)


def _decoded(data: bytes) -> "tuple[tuple[int, int], Image.Image]":
    """Return the size and the pixels of an image. Its header is checked first, so too many pixels are never decoded."""
    from PIL import Image  # noqa: PLC0415

    Image.MAX_IMAGE_PIXELS = MAX_PIXELS
    with warnings.catch_warnings():
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        with Image.open(io.BytesIO(data), formats=FORMATS) as picture:
            return picture.size, _to_rgb(picture)


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
