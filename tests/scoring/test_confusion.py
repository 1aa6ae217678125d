import math
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from heldout_scoring.data.arrays import Bytes
from heldout_scoring.data.label_maps import LabelRuns
from heldout_scoring.metrics.labels import Counts, class_accuracy, count_labels, iou_of_labels, pixel_accuracy
from heldout_scoring.scores import ConfusionMatrix
from heldout_scoring.stored import from_plain, to_plain

LABELS = 4
MATRIX = np.array([[5, 1, 0, 2], [0, 0, 0, 3], [0, 0, 0, 0], [1, 0, 0, 6]])


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Bytes, Bytes]:
    """A truth with void and a prediction of the same size, random by pixel or in large blocks."""
    shape = draw(st.tuples(st.integers(1, 12), st.integers(1, 12)))
    zoom = draw(st.sampled_from([1, 5]))
    truth = draw(arrays(np.uint8, shape, elements=st.sampled_from([0, 1, 2, 3, 255])))
    prediction = draw(arrays(np.uint8, shape, elements=st.integers(0, LABELS - 1)))
    return np.kron(truth, np.ones((zoom, zoom), np.uint8)), np.kron(
        prediction, np.ones((zoom, zoom), np.uint8)
    )


def counted(truth: Bytes, prediction: Bytes) -> Counts:
    counts: Counts = count_labels([prediction], [LabelRuns.of([truth]).runs(0)], LABELS)[0]
    return counts


def counted_plainly(truth: Bytes, prediction: Bytes) -> list[list[int]]:
    """Pixels counted one by one, as the kit describes it."""
    counts = [[0] * LABELS for _ in range(LABELS)]
    for true, given_label in zip(truth.ravel().tolist(), prediction.ravel().tolist(), strict=True):
        if true != 255:
            counts[true][given_label] += 1
    return counts


@given(pairs())
def test_pixel_counts_equal_those_of_a_plain_loop(pair: tuple[Bytes, Bytes]) -> None:
    assert counted(*pair).tolist() == counted_plainly(*pair)


@given(pairs(), st.randoms())
def test_predictions_for_void_pixels_change_nothing(pair: tuple[Bytes, Bytes], random: Random) -> None:
    truth, prediction = pair
    other = np.where(truth == 255, np.uint8(random.randint(0, LABELS - 1)), prediction)

    assert np.array_equal(counted(truth, prediction), counted(truth, other))


@given(pairs())
def test_values_are_between_0_and_1_and_missing_only_for_absent_labels(
    pair: tuple[Bytes, Bytes],
) -> None:
    counts = counted(*pair)

    values = iou_of_labels(counts)
    nowhere = counts.sum(0) + counts.sum(1) == 0
    assert np.array_equal(np.isnan(values), nowhere)
    for each in (values[~nowhere], class_accuracy(counts)):
        assert ((each >= 0) & (each <= 1)).all()
    assert (values[~nowhere] <= class_accuracy(counts)[~nowhere]).all()


@given(pairs())
def test_a_perfect_prediction_scores_1(pair: tuple[Bytes, Bytes]) -> None:
    truth, prediction = pair
    counts = counted(truth, np.where(truth == 255, prediction, truth))

    there = counts.sum(1) > 0
    assert (iou_of_labels(counts)[there] == 1).all()
    assert (class_accuracy(counts)[there] == 1).all()
    assert math.isnan(pixel_accuracy(counts)) != (pixel_accuracy(counts) == 1)


def test_the_measures_match_a_calculation_by_hand() -> None:
    assert iou_of_labels(MATRIX) == pytest.approx([5 / 9, 0, math.nan, 6 / 12], nan_ok=True)
    assert class_accuracy(MATRIX).tolist() == [5 / 8, 0, 0, 6 / 7]
    assert pixel_accuracy(MATRIX) == 11 / 18


def test_a_confusion_matrix_survives_a_round_trip_through_json() -> None:
    matrix = ConfusionMatrix(("background", "car"), ((10, 2), (3, 4)))

    assert from_plain(ConfusionMatrix, to_plain(matrix)) == matrix
    assert to_plain(matrix)["counts"] == [[10, 2], [3, 4]]
