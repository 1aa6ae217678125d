"""Pictures keep their pixels and lose everything else."""

import io
import struct
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageCms, PngImagePlugin

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


def in_lab(content: bytes) -> np.ndarray[Any, Any]:
    """The colours of a picture by the profile in its file, which must have one."""
    with Image.open(io.BytesIO(content)) as image:
        profile = ImageCms.ImageCmsProfile(io.BytesIO(image.info["icc_profile"]))
        found = ImageCms.profileToProfile(image, profile, ImageCms.createProfile("LAB"), outputMode="LAB")
        return np.asarray(found)


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
def test_a_colour_profile_gives_the_same_colours_and_says_nothing(kind: str) -> None:
    profile = with_texts(ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes())
    content = picture(kind, icc_profile=profile)

    clean = stripped(content)

    assert (in_lab(clean) == in_lab(content)).all()
    with Image.open(io.BytesIO(clean)) as image:
        stays = image.info["icc_profile"]
    assert CANARY in profile
    assert CANARY not in stays
    assert "sRGB".encode("utf-16-be") not in stays
    assert stripped(clean) == clean


def overlapping() -> bytes:
    """A profile whose fifty curves lie upon each other, each a little shorter, so that a copy of each would be far longer."""
    curves, table = b"curv" + bytes(6000), 132 + 50 * 12
    tags = [struct.pack(">4sII", b"%4d" % place, table, len(curves) - place) for place in range(50)]
    return bytes(36) + b"acsp" + bytes(88) + struct.pack(">I", 50) + b"".join(tags) + curves


@pytest.mark.parametrize(
    "profile",
    [
        b"profile" * 9,
        bytes(36) + b"acsp" + bytes(88) + b"\xff" * 40,
        bytes(36) + b"acsp" + bytes(88) + struct.pack(">I4sII", 1, b"rXYZ", 120, 1 << 31),
        overlapping(),
    ],
    ids=["text", "tags", "outside", "overlapping"],
)
@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
def test_what_is_no_colour_profile_goes(kind: str, profile: bytes) -> None:
    with Image.open(io.BytesIO(stripped(picture(kind, icc_profile=profile)))) as image:
        assert "icc_profile" not in image.info


def with_texts(profile: bytes) -> bytes:
    """The same profile with one more tag, a text, and something behind all values."""
    (count,) = struct.unpack_from(">I", profile, 128)
    tags = [struct.unpack_from(">4sII", profile, 132 + 12 * place) for place in range(count)]
    value = b"text" + bytes(4) + CANARY + bytes(-len(CANARY) % 4)
    table = b"".join(struct.pack(">4sII", name, start + 12, size) for name, start, size in tags)
    table += struct.pack(">4sII", b"note", len(profile) + 12, len(value))
    behind = profile[132 + 12 * count :] + value + CANARY * 4
    plain = struct.pack(">I", 132 + len(table) + len(behind)) + profile[4:128]
    return plain + struct.pack(">I", count + 1) + table + behind


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
def test_every_cut_is_told_as_damaged(kind: str) -> None:
    content = picture(kind)

    for end in (1, 3, 10, 30, len(content) // 2, len(content) - 1):
        with pytest.raises(PictureError):
            stripped(content[:end])
