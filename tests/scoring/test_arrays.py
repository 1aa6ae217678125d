from pathlib import Path

import numpy as np
import pytest

from heldout_scoring import GroundTruth
from heldout_scoring.stored import (
    ForeignFileError,
    Packed,
    pack,
    pack_words,
    unpack,
    unpack_words,
    write,
)


def content() -> Packed:
    arrays = {
        "empty": np.empty((0, 4)),
        "flags": np.array([True, False]),
        "many": np.arange(30, dtype=np.int32).reshape(5, 6)[:, ::2],
        "big": np.array([1, 2], ">i4"),
    }
    return Packed({"year": 2012, "classes": ["cat", "dog"]}, arrays)


def test_facts_and_arrays_survive_a_round_trip() -> None:
    found = unpack("example", pack("example", content()))

    assert found.facts == {"year": 2012, "classes": ["cat", "dog"]}
    for name, array in content().arrays.items():
        assert np.array_equal(found.arrays[name], array)
        assert found.arrays[name].shape == array.shape
    assert found.arrays["big"].dtype == np.dtype("<i4")


def test_the_order_of_names_does_not_change_the_packed_bytes(tmp_path: Path) -> None:
    turned = Packed(content().facts, dict(reversed(list(content().arrays.items()))))

    write(tmp_path / "file", "example", turned)

    assert (tmp_path / "file").read_bytes() == pack("example", content())


def test_arrays_are_aligned_to_64_bytes_and_read_only() -> None:
    found = unpack("example", pack("example", content())).arrays["many"]

    assert len(pack("example", content())) % 64 == 0
    with pytest.raises(ValueError, match="read-only"):
        found[0, 0] = 7


@pytest.mark.parametrize(
    "data",
    [b"", b"PK\x03\x04", pack("other", content()), b"heldout example 1\n{}\n", b"heldout example 1\nxx"],
)
def test_a_file_of_another_kind_or_format_is_refused(data: bytes) -> None:
    with pytest.raises(ForeignFileError):
        unpack("example", data)


def test_a_truncated_file_is_refused() -> None:
    with pytest.raises(ForeignFileError, match="damaged"):
        unpack("example", pack("example", content())[:-128])


@pytest.mark.parametrize("words", [(), ("000001",), ("a", "b_2")])
def test_words_survive_a_round_trip(words: tuple[str, ...]) -> None:
    assert unpack_words(pack_words(words)) == words


def test_ground_truth_without_a_fact_is_refused_by_name() -> None:
    with pytest.raises(ForeignFileError, match="of the kind 'truth' has no 'dataset'"):
        GroundTruth.of_bytes(pack("truth", Packed({}, {"images": pack_words(["a"])})))
