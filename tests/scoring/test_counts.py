from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from heldout_scoring.data.matches import ImageCounts, Origin, open_matches, open_rankings, save_matches
from heldout_scoring.metrics.labels import Counts
from heldout_scoring.stored import ForeignFileError, Packed, write

LABELS = ("background", "car", "cat")
ORIGIN = Origin("segmentation", "voc2012", "1", "abc", "0f")

matrices = arrays(np.int64, (3, 3), elements=st.integers(0, 2**31 - 1) | st.just(0))


@given(st.lists(matrices, max_size=4))
def test_counts_are_returned_for_each_image_and_in_total(images: list[Counts]) -> None:
    counts = ImageCounts.of(LABELS, images)

    assert len(counts) == len(images)
    assert counts.by_image().tolist() == [image.tolist() for image in images]
    assert np.array_equal(counts.total(), sum(images, np.zeros((3, 3), np.int64)))
    assert len(counts.pixels) == sum(int(np.count_nonzero(image)) for image in images)


def test_counts_are_stored_with_their_origin(tmp_path: Path) -> None:
    counts = ImageCounts.of(LABELS, [np.eye(3, dtype=np.int64) * 7, np.ones((3, 3), np.int64)])

    for name in ("one", "two"):
        save_matches(tmp_path / name, ORIGIN, counts)
    origin, read = open_matches(tmp_path / "one")

    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert isinstance(read, ImageCounts)
    assert (origin, read.labels) == (ORIGIN, LABELS)
    assert np.array_equal(read.by_image(), counts.by_image())
    with pytest.raises(ForeignFileError, match="expected ranked predictions, found pixel counts"):
        open_rankings(tmp_path / "one")


def test_ranked_predictions_are_read_back_as_rankings(tmp_path: Path) -> None:
    save_matches(tmp_path / "ranked", ORIGIN, ())

    assert open_rankings(tmp_path / "ranked") == (ORIGIN, ())


def test_a_file_with_a_missing_part_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "short", "matches", Packed({"task": "detection"}, {}))

    with pytest.raises(ForeignFileError, match="has no 'protocol'"):
        open_matches(tmp_path / "short")
