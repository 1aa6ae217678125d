import io
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from PIL import Image

from heldout_scoring.data.arrays import Bytes
from heldout_scoring.data.label_maps import LabelRuns, MaskError, read_label_image

labels = arrays(
    np.uint8, array_shapes(min_dims=2, max_dims=2, max_side=9), elements=st.sampled_from([0, 1, 20, 255])
)


def png(picture: Image.Image, kind: str = "PNG") -> bytes:
    file = io.BytesIO()
    picture.save(file, kind)
    return file.getvalue()


@given(st.lists(labels, max_size=4))
def test_label_images_survive_a_round_trip(images: list[Bytes]) -> None:
    masks = LabelRuns.of(images)

    assert len(masks) == len(images)
    for number, image in enumerate(images):
        assert np.array_equal(masks[number], image)


def test_indices_are_read_whatever_the_palette() -> None:
    picture = Image.fromarray(np.array([[0, 20], [255, 1]], np.uint8))
    picture.putpalette([9, 9, 9] * 256)

    assert read_label_image(png(picture)).tolist() == [[0, 20], [255, 1]]
    assert read_label_image(png(picture.convert("P"))).dtype == np.uint8


def test_a_grey_image_is_read_as_a_label_image() -> None:
    assert read_label_image(png(Image.fromarray(np.array([[3, 4]], np.uint8)))).tolist() == [[3, 4]]


@pytest.mark.parametrize("depth", [2, 4, 8])
def test_labels_of_a_grey_image_are_its_values_whatever_its_depth(depth: int) -> None:
    values = [0, 1, 3, 2, 0, 2, 3, 1]
    row = sum(value << depth * place for place, value in enumerate(reversed(values))).to_bytes(depth, "big")
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", 8, 1, depth, 0, 0, 0, 0)),
        (b"IDAT", zlib.compress(b"\0" + row)),
        (b"IEND", b""),
    )
    written = [
        len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")
        for kind, data in chunks
    ]

    assert read_label_image(b"\x89PNG\r\n\x1a\n" + b"".join(written)).tolist() == [values]


@pytest.mark.parametrize("mode", ["RGB", "1", "I;16"])
def test_an_image_without_indices_is_refused(mode: str) -> None:
    with pytest.raises(MaskError, match=f"expected an indexed PNG of 8 bits, found one of mode {mode}"):
        read_label_image(png(Image.new(mode, (2, 2))))


def test_files_that_are_truncated_or_not_png_are_refused() -> None:
    whole = png(Image.fromarray(np.random.default_rng(1).integers(0, 255, (40, 40), np.uint8)))

    start, rest = whole[:33], whole[-12:]  # the header and the end, without what is between them
    for data in (b"", b"PNG", whole[:-200], start + rest, png(Image.new("RGB", (2, 2)), "BMP")):
        with pytest.raises(MaskError, match="this is not a PNG that can be read"):
            read_label_image(data)


def test_files_that_are_not_png_always_get_the_same_message() -> None:
    with pytest.raises(MaskError, match=r"^this is not a PNG that can be read$"):
        read_label_image(b"a text")


def test_a_picture_of_too_many_pixels_is_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("PIL.Image.MAX_IMAGE_PIXELS", 1)

    with pytest.raises(MaskError, match="it has too many pixels"):
        read_label_image(png(Image.new("L", (2, 2))))
