from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from scoring.array_files import ForeignFileError
from scoring.image_counts import ImageCounts, open_counts, save_counts
from scoring.metrics.confusion import Counts
from scoring.ranked_predictions import Origin, open_predictions

LABELS = ("background", "car", "cat")
ORIGIN = Origin(5, "voc2012", "1", "abc", "def")

matrices = arrays(np.int64, (3, 3), elements=st.integers(0, 2**31 - 1) | st.just(0))


@given(st.lists(matrices, max_size=4))
def test_what_was_counted_comes_back_image_by_image_and_added_up(images: list[Counts]) -> None:
    counts = ImageCounts.of(LABELS, images)

    assert len(counts) == len(images)
    assert counts.by_image().tolist() == [image.tolist() for image in images]
    assert np.array_equal(counts.total(), sum(images, np.zeros((3, 3), np.int64)))
    assert len(counts.pixels) == sum(int(np.count_nonzero(image)) for image in images)


def test_counts_are_kept_in_a_file_with_where_they_come_from(tmp_path: Path) -> None:
    counts = ImageCounts.of(LABELS, [np.eye(3, dtype=np.int64) * 7, np.ones((3, 3), np.int64)])

    for name in ("one", "two"):
        save_counts(tmp_path / name, ORIGIN, counts)
    origin, read = open_counts(tmp_path / "one")

    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert (origin, read.labels) == (ORIGIN, LABELS)
    assert np.array_equal(read.by_image(), counts.by_image())
    with pytest.raises(ForeignFileError):
        open_predictions(tmp_path / "one")
