"""Frames of all libraries and dictionaries of images become typed data or are refused in one sentence."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from heldout_scoring.data.annotations import BoxConvention
from heldout_scoring.data.predictions import Confidences, Detections
from heldout_scoring.data.truth import GroundTruth
from heldout_scoring.errors import DataError

BOXES = [[1, 1, 10, 10], [2, 2, 9, 9], [3, 3, 8, 8]]


class Tensor:
    """A tensor of another library, on a device and with a gradient."""

    def __init__(self, values: Any) -> None:
        self.values = np.asarray(values)
        self.steps: tuple[str, ...] = ()

    def detach(self) -> "Tensor":
        return self._after("detach")

    def cpu(self) -> "Tensor":
        return self._after("cpu")

    def __array__(self, *_: Any, **__: Any) -> Any:
        if self.steps != ("detach", "cpu"):
            raise TypeError("a tensor on a device, with a gradient, has no array")
        return self.values

    def _after(self, step: str) -> "Tensor":
        other = Tensor(self.values)
        other.steps = (*self.steps, step)
        return other


def frame() -> dict[str, list[Any]]:
    left, top, right, bottom = (list(side) for side in zip(*BOXES, strict=True))
    return {
        "image": ["a", "b", "a"],
        "label": ["cat", "dog", "dog"],
        "score": [0.9, 0.5, 0.1],
        "left": left,
        "top": top,
        "right": right,
        "bottom": bottom,
        "hard": [True, False, False],
    }


def pandas_frame(columns: dict[str, list[Any]]) -> Any:
    return pd.DataFrame(columns)


class Exchanged:
    """A frame that supports only the interchange protocol."""

    def __init__(self, columns: dict[str, list[Any]]) -> None:
        self.frame = pandas_frame(columns)

    def __dataframe__(self) -> Any:
        with pytest.warns(DeprecationWarning, match="Interchange Protocol"):
            return self.frame.__dataframe__()


@pytest.mark.parametrize("make", [dict, pl.DataFrame, pandas_frame, Exchanged])
def test_frames_of_all_libraries_are_read_the_same(make: Callable[[Any], Any]) -> None:
    found = Detections.from_frame(make(frame()))
    known = Detections.from_arrays(["a", "b", "a"], ["cat", "dog", "dog"], [0.9, 0.5, 0.1], BOXES)

    assert (found.images, found.classes) == (known.images, known.classes)
    assert found.image.tolist() == known.image.tolist()
    assert found.boxes.tolist() == known.boxes.tolist()
    objects = GroundTruth.from_frame(make(frame()), convention="inclusive", difficult="hard").tables.objects
    assert objects.difficult.tolist() == [True, False, False]
    assert Confidences.from_frame(make(frame())).score.tolist() == [0.9, 0.5, 0.1]


@pytest.mark.parametrize("make", [dict, pl.DataFrame, pandas_frame, Exchanged])
def test_a_missing_column_is_reported(make: Callable[[Any], Any]) -> None:
    with pytest.raises(DataError, match="no column 'certainty'; it has image, label, score"):
        Detections.from_frame(make(frame()), score="certainty")


def test_an_exchanged_frame_with_gaps_or_other_types_is_refused() -> None:
    with pytest.raises(DataError, match="expected a value in every row of 'label', found 1 without one"):
        Detections.from_frame(Exchanged(frame() | {"label": ["cat", None, "dog"]}))
    times = pd.to_datetime(["2026-01-01"] * 3)
    with pytest.raises(DataError, match="expected texts or numbers in 'score'"):
        Detections.from_frame(Exchanged(frame() | {"score": times}))
    assert len(Detections.from_frame(Exchanged({name: column[:0] for name, column in frame().items()}))) == 0


class Columns:
    """A frame that does not list its columns."""

    def __getitem__(self, name: str) -> Any:
        return frame()[name]


def test_a_frame_does_not_have_to_list_its_columns() -> None:
    assert Detections.from_frame(Columns()).score.tolist() == [0.9, 0.5, 0.1]


class Bits:
    """A bit-packed boolean column, as in Arrow, and the frame it is in."""

    null_count, dtype = 0, (20, 1, "b", "=")

    def __dataframe__(self) -> "Bits":
        return self

    def column_names(self) -> list[str]:
        return ["image", "label", "score"]

    def get_column_by_name(self, _name: str) -> "Bits":
        return self

    def get_chunks(self) -> "list[Bits]":
        return [self]

    def get_buffers(self) -> dict[str, Any]:
        return {"data": (None, self.dtype)}


def test_a_bit_packed_column_from_the_interchange_protocol_is_refused() -> None:
    with pytest.raises(DataError, match="expected truth values of a byte in 'image', found 1 bit"):
        Confidences.from_frame(Bits())


def test_arguments_that_are_not_frames_are_refused() -> None:
    with pytest.raises(DataError, match="expected a data frame, found int"):
        Detections.from_frame(3)


def test_per_image_dictionaries_of_tensors_are_joined() -> None:
    empty: dict[str, Any] = {"boxes": Tensor(np.empty((0, 4))), "scores": Tensor([]), "labels": Tensor([])}
    full = {
        "boxes": Tensor(BOXES[:2]),
        "scores": Tensor(np.array([0.9, 0.5], np.float32)),
        "labels": Tensor([1, 2]),
    }

    found = Detections.from_dicts([empty, full], images=["a", "b"], classes=["background", "cat", "dog"])

    assert (found.images, found.image.tolist()) == (("a", "b"), [1, 1])
    assert found.label.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("entries", "sentence"),
    [
        ([{"boxes": BOXES, "labels": [1, 1, 1]}], "no image has 'scores'"),
        (
            [{"boxes": BOXES, "labels": [1], "scores": [1, 1, 1]}],
            "3 of 'boxes', 3 of 'scores', 1 of 'labels'",
        ),
        ([{"boxes": [], "labels": [], "scores": []}, {"boxes": []}], "the image '1' has no 'scores'"),
        ([3], "expected a mapping for the image '0', found int"),
        (
            [{"boxes": BOXES, "labels": 1, "scores": [1, 1, 1]}],
            "expected arrays of one length for the image '0'",
        ),
        (
            [{"boxes": b, "labels": [1], "scores": [1]} for b in ([[1, 2, 3, 4]], [[1, 2]])],
            "expected 'boxes' of one shape in every image",
        ),
    ],
)
def test_dictionaries_that_do_not_fit_are_refused(entries: list[Any], sentence: str) -> None:
    with pytest.raises(DataError) as error:
        Detections.from_dicts(entries)

    assert sentence in str(error.value)


def test_every_dictionary_needs_exactly_one_image_name() -> None:
    with pytest.raises(DataError, match="found 2 of 'images' and 1 of 'entries'"):
        Detections.from_dicts([{}], images=["a", "b"])
    with pytest.raises(DataError, match="leave `images` out"):
        Detections.from_dicts({"a": {}}, images=["a"])


def test_supervision_detections_are_recognised_by_their_attributes() -> None:
    found = SimpleNamespace(
        xyxy=np.array(BOXES), confidence=np.array([0.9, 0.5, 0.1], np.float32), class_id=np.array([0, 1, 1])
    )

    read = Detections.from_supervision(
        {"a": found}, classes=["cat", "dog"], convention=BoxConvention.HALF_OPEN
    )

    assert read.label.tolist() == [0, 1, 1]
    assert read.convention is BoxConvention.HALF_OPEN
    with pytest.raises(DataError, match="no image has 'scores'"):
        Detections.from_supervision(
            [SimpleNamespace(xyxy=np.array(BOXES), confidence=None, class_id=[0, 1, 1])]
        )
    with pytest.raises(DataError, match="expected xyxy, confidence, class_id for '0', found int"):
        Detections.from_supervision([3])


def test_columns_of_a_table_without_a_column_list_are_read_by_name() -> None:
    class Table:
        def __getitem__(self, name: str) -> list[Any]:
            return frame()[name]

    assert Detections.from_frame(Table()).score.tolist() == [0.9, 0.5, 0.1]


def test_bit_packed_booleans_are_refused() -> None:
    class Column:
        dtype = (20, 1, "b", "=")  # a truth value of one bit, as Arrow has it
        null_count = 0
        offset = 0

        def size(self) -> int:
            return 3

        def get_chunks(self) -> list["Column"]:
            return [self]

        def get_buffers(self) -> dict[str, Any]:
            return {"data": (None, self.dtype), "validity": None, "offsets": None}

    class Bits(Exchanged):
        def __dataframe__(self) -> Any:
            exchanged = super().__dataframe__()
            others = exchanged.get_column_by_name

            class Frame:
                column_names = exchanged.column_names
                get_column_by_name = staticmethod(lambda name: Column() if name == "hard" else others(name))

            return Frame()

    with pytest.raises(DataError, match="expected truth values of a byte in 'hard', found 1 bit"):
        GroundTruth.from_frame(Bits(frame()), convention="inclusive", difficult="hard")
