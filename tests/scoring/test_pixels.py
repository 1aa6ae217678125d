import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from heldout_scoring.archives.png import Header, Png, PngError, labels_of, open_png
from heldout_scoring.data.arrays import Bytes
from tests.scoring.pngs import Parts, chunk, filtered, picture, saved

images = arrays(np.uint8, array_shapes(min_dims=2, max_dims=2, max_side=19), elements=st.integers(0, 255))


def read(data: bytes) -> Bytes:
    return labels_of(open_png(data, None))


def refused(png: Png) -> PngError:
    with pytest.raises(PngError) as error:
        labels_of(png)
    return error.value


@given(images, st.data())
def test_every_png_filter_is_decoded(labels: Bytes, data: st.DataObject) -> None:
    filters = data.draw(st.lists(st.integers(0, 4), min_size=len(labels), max_size=len(labels)))
    height, width = labels.shape

    found = read(Parts(width, height, stream=filtered(labels, filters)).to_bytes())

    assert np.array_equal(found, labels)
    assert found.dtype == np.uint8


@given(images, st.data())
def test_simple_filters_are_decoded_without_pillow(labels: Bytes, data: st.DataObject) -> None:
    filters = data.draw(st.lists(st.integers(0, 2), min_size=len(labels), max_size=len(labels)))
    height, width = labels.shape

    with pytest.MonkeyPatch.context() as patch:
        patch.delattr("heldout_scoring.archives.png._read_by_pillow")
        found = read(Parts(width, height, stream=filtered(labels, filters)).to_bytes())

    assert np.array_equal(found, labels)


@given(images, st.sampled_from([1, 2, 4]))
def test_indices_of_fewer_bits_equal_those_of_pillow(labels: Bytes, depth: int) -> None:
    few = labels & 2**depth - 1

    assert np.array_equal(read(saved(picture(few), bits=depth)), few)


@given(images, st.sampled_from([1, 2, 4, 8]))
def test_an_interlaced_image_is_assembled(labels: Bytes, depth: int) -> None:
    few = labels & 2**depth - 1
    height, width = few.shape
    stream = b"".join(
        b"".join(b"\0" + packed(row, depth) for row in few[y::down, x::across])
        for x, y, across, down in PASSES
        if few[y::down, x::across].size
    )

    found = read(Parts(width, height, depth, methods=(0, 0, 1), stream=stream).to_bytes())

    assert np.array_equal(found, few)


PASSES = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))


def packed(row: Bytes, depth: int) -> bytes:
    bits = np.unpackbits(row[:, np.newaxis], axis=1)[:, 8 - depth :]
    return np.packbits(bits.ravel()).tobytes()


def test_grey_values_are_read_as_labels() -> None:
    labels = np.array([[0, 20, 255]], np.uint8)
    stream = filtered(labels, [4])

    assert read(Parts(3, 1, kind=0, palette=b"", stream=stream).to_bytes()).tolist() == labels.tolist()


def test_pixels_may_be_split_over_many_chunks() -> None:
    stream = zlib.compress(bytes(15))
    pieces = b"".join(chunk(b"IDAT", stream[place : place + 1]) for place in range(len(stream)))

    assert not read(Parts(pixels=pieces).to_bytes()).any()


HEADER = Header(4, 3, 8, 3, interlaced=False)
WHOLE = zlib.compress(bytes(15))


@pytest.mark.parametrize(
    ("pixels", "code", "words"),
    [
        (zlib.compress(bytes(14)), "truncated-png", "14 of 15 bytes"),
        (b"", "truncated-png", "0 of 15 bytes"),
        (WHOLE[:-1], "truncated-png", "before their checksum"),
        (zlib.compress(bytes(16)), "trailing-data", "more pixels than its size asks for, 15 bytes"),
        (zlib.compress(bytes(1 << 24)), "trailing-data", "more pixels"),
        (WHOLE + b"x", "trailing-data", "more pixels"),
        (WHOLE[:-1] + b"\xff", "damaged-png", "cannot be inflated"),
        (b"no pixels at all", "damaged-png", "cannot be inflated"),
        (zlib.compress(b"\5" + bytes(14)), "damaged-png", "a filter that does not exist"),
    ],
)
def test_a_wrong_number_of_pixels_is_refused(pixels: bytes, code: str, words: str) -> None:
    error = refused(Png(HEADER, bytes(3), pixels))

    assert error.code == code
    assert words in str(error)


def test_files_that_pillow_cannot_read_are_reported_as_damaged() -> None:
    header = Header(1, 1, 8, 3, interlaced=True)

    assert refused(Png(header, bytes(3), zlib.compress(b"\7\0"))).code == "damaged-png"
