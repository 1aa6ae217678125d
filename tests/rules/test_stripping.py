"""Pictures keep their pixels and lose everything else."""

import io
from typing import Any

import numpy as np
import pytest
from PIL import Image, PngImagePlugin

from app.images.decoding import PictureError
from app.images.stripping import stripped

PIXELS = Image.fromarray(np.random.default_rng(1).integers(0, 255, (40, 50, 3), np.uint8))
CANARY = b"canary-7Q"


def picture(kind: str, **options: Any) -> bytes:
    stream = io.BytesIO()
    PIXELS.convert(options.pop("mode", "RGB")).save(stream, kind, **options)
    return stream.getvalue()


def exif() -> Image.Exif:
    found = Image.Exif()
    found[0x0112], found[0x010F], found[0x9003] = 6, CANARY.decode(), "2027:01:01 00:00:00"
    return found


def text() -> PngImagePlugin.PngInfo:
    found = PngImagePlugin.PngInfo()
    found.add_text("Comment", CANARY.decode())
    found.add_itxt("Title", CANARY.decode())
    return found


@pytest.mark.parametrize(
    "content",
    [
        picture("JPEG", exif=exif(), comment=CANARY, dpi=(301, 301)),
        picture("JPEG", exif=exif(), progressive=True, restart_marker_blocks=2) + CANARY,
        picture("JPEG", exif=exif(), mode="CMYK"),
        picture("JPEG", exif=exif(), mode="L"),
        picture("PNG", exif=exif(), pnginfo=text(), dpi=(301, 301)) + CANARY,
        picture("PNG", exif=exif(), mode="P", transparency=3),
    ],
)
def test_the_pixels_stay_and_the_rest_goes(content: bytes) -> None:
    clean = stripped(content)

    with Image.open(io.BytesIO(content)) as before, Image.open(io.BytesIO(clean)) as after:
        assert (np.asarray(before.convert("RGBA")) == np.asarray(after.convert("RGBA"))).all()
        assert not dict(after.getexif())
        assert {"comment", "exif", "Comment", "Title"}.isdisjoint(after.info)
        assert after.info.get("dpi", (1, 1)) == (1, 1)
    assert CANARY not in clean
    assert stripped(clean) == clean


def test_a_colour_profile_stays() -> None:
    content = picture("JPEG", icc_profile=b"profile" * 9)

    with Image.open(io.BytesIO(stripped(content))) as image:
        assert image.info["icc_profile"] == b"profile" * 9


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
def test_every_cut_is_told_as_damaged(kind: str) -> None:
    content = picture(kind)

    for end in (1, 3, 10, 30, len(content) // 2, len(content) - 1):
        with pytest.raises(PictureError):
            stripped(content[:end])
