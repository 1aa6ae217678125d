"""Pictures out of files that nobody vouches for: checked, decoded and written again without anything else in them.

Meant for child processes with limits; what comes out is JPEG of ours, without metadata, colour profile or trailing bytes.
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

MAX_BYTES: Final = 64 << 20  # of one file
MAX_PIXELS: Final = 64_000_000  # of one picture: 192 MB once decoded
THUMBNAIL: Final = (320, 240)  # largest width and height
VIEW: Final = (1280, 1280)
QUALITY: Final = {"thumbnail": 80, "view": 88}
FORMATS: Final = ("JPEG", "PNG")
RECIPE: Final = "2"  # grows with every change of what is made of a file

JPEG: Final = b"\xff\xd8\xff"
PNG: Final = b"\x89PNG\r\n\x1a\n"
_KNOWN: Final = (
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
    """A file is no picture that can be shown; the message says why."""


@dataclass(frozen=True, slots=True)
class Made:
    """What was made of a file: JPEG of both sizes and the size of the picture itself, or why nothing was."""

    thumbnail: bytes = b""
    view: bytes = b""
    width: int = 0
    height: int = 0
    problem: str | None = None


def check_beginning(data: bytes) -> None:
    """Raise PictureError where a file that begins so is neither JPEG nor PNG.

    >>> check_beginning(b"GIF89a")
    Traceback (most recent call last):
    app.images.decoding.PictureError: expected a JPEG or PNG picture, found a GIF
    """
    if data.startswith((JPEG, PNG)):
        return
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        found = "a WebP"
    else:
        found = next((name for start, name in _KNOWN if data.lstrip().startswith(start)), "something else")
    raise PictureError(f"expected a JPEG or PNG picture, found {found if data else 'an empty file'}")


def read_file(path: Path, most: int | None = None) -> bytes:
    """The bytes of a file, or the first so many. Raises PictureError for what is no plain file, or too large."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe without a writer would wait for ever
    except FileNotFoundError:
        raise PictureError("there is no such file") from None
    except OSError as error:
        raise PictureError(f"the file cannot be read: {error.strerror}") from None
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise PictureError("expected a plain file")
        if found.st_size > MAX_BYTES:
            raise PictureError(
                f"the file has {found.st_size >> 20} MiB; at most {MAX_BYTES >> 20} are allowed"
            )
        return file.read(MAX_BYTES if most is None else most)


def make_all(source: Path, names: tuple[str | None, ...], in_pack: bool) -> bytes:  # noqa: FBT001 - pickled in order
    """A pack with a thumbnail and a larger picture of each file, behind JSON of width, height and problem of each.

    source: a folder, or a pack with the content of each file; names: of the files, None for one to leave out.
    """
    with source.open("rb") if in_pack else nullcontext() as stream:
        contents = repeat(None, len(names)) if stream is None else parts_of(stream)
        made = [_make_one(source, name, data) for name, data in zip(names, contents, strict=True)]
    facts = json.dumps([(each.width, each.height, each.problem) for each in made]).encode()
    return pack([facts, *(part for each in made for part in (each.thumbnail, each.view))])


def _make_one(source: Path, name: str | None, data: bytes | None) -> Made:
    if name is None:
        return Made()
    try:
        return make(read_file(source / name) if data is None else data)
    except PictureError as error:
        return Made(problem=str(error))


def make(data: bytes) -> Made:
    """A thumbnail and a larger picture of a JPEG or PNG file.

    Turned as its pixels are stored, whatever its metadata says: that is what annotation counts in. Raises PictureError.
    """
    from PIL import Image, UnidentifiedImageError  # noqa: PLC0415 - only where a picture is decoded

    check_beginning(data[:16])
    try:
        size, view = _decoded(data)
    except UnidentifiedImageError:
        raise PictureError("this is not a picture that can be read") from None
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise PictureError(f"the picture has more than {MAX_PIXELS:,} pixels") from None
    except (OSError, SyntaxError, EOFError, struct.error) as error:
        raise PictureError(f"this is not a picture that can be read: {error}") from None
    view.thumbnail(VIEW, reducing_gap=2.0)
    thumbnail = view.copy()
    thumbnail.thumbnail(THUMBNAIL, reducing_gap=2.0)
    return Made(_jpeg(thumbnail, QUALITY["thumbnail"]), _jpeg(view, QUALITY["view"]), *size)


def _decoded(data: bytes) -> "tuple[tuple[int, int], Image.Image]":
    """The size of a picture and its pixels, unless its header says that they are too many."""
    from PIL import Image  # noqa: PLC0415

    Image.MAX_IMAGE_PIXELS = MAX_PIXELS
    with warnings.catch_warnings():
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        with Image.open(io.BytesIO(data), formats=FORMATS) as picture:
            return picture.size, _flat(picture)


def _flat(picture: "Image.Image") -> "Image.Image":
    """The pixels as red, green and blue, what is transparent on white."""
    from PIL import Image  # noqa: PLC0415

    if picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info:
        with_alpha = picture.convert("RGBA")
        paper = Image.new("RGB", with_alpha.size, "white")
        paper.paste(with_alpha, mask=with_alpha.getchannel("A"))
        return paper
    if picture.mode.startswith("I;16"):
        return picture.point(lambda value: value / 256).convert("L").convert("RGB")
    return picture.convert("RGB")


def _jpeg(picture: "Image.Image", quality: int) -> bytes:
    from PIL import Image  # noqa: PLC0415

    clean = Image.new("RGB", picture.size)  # has no metadata that could be written with it
    clean.paste(picture)
    written = io.BytesIO()
    clean.save(written, "JPEG", quality=quality, optimize=True)
    return written.getvalue()
