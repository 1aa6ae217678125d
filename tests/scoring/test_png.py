import struct
import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from heldout_scoring.archives.png import INDEXED, MOST_CHUNKS, Header, PngError, labels_to_png, open_png
from heldout_scoring.data.label_maps import LABEL_COLOURS
from heldout_scoring.errors import DataError
from tests.scoring.pngs import SIGNATURE, Parts, chunk, picture, saved

SIZE = (4, 3)
PIXELS = chunk(b"IDAT", zlib.compress(bytes(15)))
HUGE = struct.pack(">I", 1 << 31)


def refused(data: bytes, size: tuple[int, int] | None = SIZE) -> PngError:
    with pytest.raises(PngError) as error:
        open_png(data, size)
    return error.value


def test_a_file_is_parsed_without_being_inflated() -> None:
    png = open_png(Parts(pixels=chunk(b"IDAT", b"ab") + chunk(b"IDAT", b"c")).to_bytes(), SIZE)

    assert png.header == Header(4, 3, 8, INDEXED, interlaced=False)
    assert (png.palette, png.pixels) == (LABEL_COLOURS, b"abc")


@pytest.mark.parametrize("depth", [1, 2, 4, 8])
def test_indices_may_have_fewer_bits(depth: int) -> None:
    assert open_png(Parts(depth=depth).to_bytes(), SIZE).header.depth == depth


def test_grey_values_of_8_bits_are_read_as_indices() -> None:
    assert open_png(Parts(kind=0, palette=b"").to_bytes(), SIZE).header.kind == 0


def test_optional_chunks_are_skipped() -> None:
    notes = chunk(b"tIME", bytes(7)) + chunk(b"zTXt", b"c\0\0" + zlib.compress(bytes(9)))

    assert open_png(Parts(before=notes).to_bytes(), SIZE) == open_png(Parts().to_bytes(), SIZE)


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", "an empty file"),
        (b"\xff\xd8\xff\xe0", "a JPEG image"),
        (b"GIF89a", "a GIF image"),
        (b"%!PS-Adobe", "PostScript"),
        (b"000001 0.5", "something else"),
    ],
)
def test_files_that_are_not_png_are_refused_with_their_kind(data: bytes, found: str) -> None:
    error = refused(data)

    assert (error.code, str(error)) == ("not-a-png", f"expected a PNG, found {found}")


@pytest.mark.parametrize("size", [(3, 4), (5, 3), (1 << 31, 1)])
def test_a_size_that_differs_from_the_images_is_refused_with_both(size: tuple[int, int]) -> None:
    error = refused(Parts().to_bytes(), size)

    assert error.code == "wrong-size"
    assert (error.found, error.expected) == ("4 x 3", f"{size[0]} x {size[1]}")
    assert "found" not in str(error)
    assert str(error).endswith(f"4 x 3 pixels (width x height); expected {size[0]} x {size[1]}")


@pytest.mark.parametrize("size", [(0, 3), (1 << 14, 1 << 13)])
def test_images_of_unknown_size_have_limits_too(size: tuple[int, int]) -> None:
    assert open_png(Parts().to_bytes(), None).header.height == 3
    assert refused(Parts(*size, stream=b"").to_bytes(), None).code == "wrong-size"


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        (Parts(kind=2, stream=bytes(39)), "RGB, 8 bits a channel"),
        (Parts(kind=6), "RGBA, 8 bits a channel"),
        (Parts(kind=4), "grey with alpha, 8 bits a channel"),
        (Parts(kind=0, depth=16), "grey, 16 bits a pixel"),
        (Parts(kind=0, depth=1), "grey, 1 bits a pixel"),
    ],
)
def test_another_colour_type_is_refused_with_found_and_expected_types(parts: Parts, found: str) -> None:
    error = refused(parts.to_bytes())

    assert (error.code, error.found) == ("not-indexed", found)
    assert f"({found}); expected an indexed (palette) PNG" in str(error)
    assert ("turn its colours into indices" in str(error)) == (parts.kind != 0)


@pytest.mark.parametrize(
    "parts", [Parts(kind=1), Parts(methods=(1, 0, 0)), Parts(methods=(0, 1, 0)), Parts(methods=(0, 0, 2))]
)
def test_an_invalid_header_is_refused(parts: Parts) -> None:
    assert str(refused(parts.to_bytes())) == "the PNG is damaged: its header says what no PNG can be"


@pytest.mark.parametrize(
    ("data", "code", "words"),
    [
        (SIGNATURE, "truncated-png", "before its last chunk"),
        (Parts().to_bytes()[:-20], "truncated-png", "within a chunk"),
        (Parts().to_bytes()[:-12], "truncated-png", "before its last chunk"),
        (Parts().to_bytes()[:-6] + bytes(6), "damaged-png", "(CRC)"),
        (SIGNATURE + HUGE + b"IHDR", "truncated-png", "within a chunk"),
        (Parts(header=chunk(b"IHDR", bytes(12))).to_bytes(), "damaged-png", "begin with its header"),
        (SIGNATURE + chunk(b"IEND"), "damaged-png", "begin with its header"),
        (Parts(palette=b"").to_bytes(), "damaged-png", "without a palette"),
        (
            Parts(palette=bytes(4)).to_bytes(),
            "damaged-png",
            "palette is in the wrong place or of a wrong length",
        ),
        (Parts(palette=bytes(771)).to_bytes(), "damaged-png", "of a wrong length"),
        (Parts(before=chunk(b"PLTE", bytes(3))).to_bytes(), "damaged-png", "palette is in the wrong place"),
        (Parts(after=chunk(b"PLTE", bytes(3)) + chunk(b"IEND")).to_bytes(), "damaged-png", "palette is in"),
        (Parts(before=chunk(b"IHDR", bytes(13))).to_bytes(), "damaged-png", "a chunk is in the wrong place"),
        (Parts(before=chunk(b"CgBI")).to_bytes(), "damaged-png", "of an unknown kind"),
        (Parts(before=chunk(b"\0ab1")).to_bytes(), "damaged-png", "of an unknown kind"),
        (Parts(after=chunk(b"IEND", b"x")).to_bytes(), "damaged-png", "a chunk is in the wrong place"),
        (Parts(pixels=PIXELS + chunk(b"tIME") + PIXELS).to_bytes(), "damaged-png", "in two places"),
        (Parts(before=chunk(b"acTL", bytes(8))).to_bytes(), "animated-png", "animated PNG"),
        (Parts().to_bytes() + b"PK\x03\x04", "trailing-data", "4 bytes follow the end"),
        (Parts(before=chunk(b"tEXt") * MOST_CHUNKS).to_bytes(), "damaged-png", "more than 100000 chunks"),
    ],
)
def test_a_file_with_an_invalid_structure_is_refused(data: bytes, code: str, words: str) -> None:
    error = refused(data)

    assert error.code == code
    assert words in str(error)


@given(st.data())
def test_a_changed_byte_anywhere_is_detected(data: st.DataObject) -> None:
    whole = Parts().to_bytes()
    place = data.draw(st.integers(0, len(whole) - 1))
    change = data.draw(st.integers(1, 255))

    refused(whole[:place] + bytes([whole[place] ^ change]) + whole[place + 1 :])


def test_written_images_are_read_by_pillow() -> None:
    labels = np.random.default_rng(1).integers(0, 256, (7, 5), np.uint8)

    written = labels_to_png(labels)

    with Image.open(__import__("io").BytesIO(written)) as image:
        assert image.mode == "P"
        assert np.array_equal(np.asarray(image), labels)
        assert bytes(image.getpalette() or []) == LABEL_COLOURS
    assert open_png(saved(picture(labels)), (5, 7)).header == open_png(written, (5, 7)).header


def test_labels_of_another_type_are_not_written() -> None:
    labels: Any = np.zeros((2, 3), np.int64)

    with pytest.raises(DataError, match="expected labels uint8 \\(height, width\\), found int64"):
        labels_to_png(labels)
