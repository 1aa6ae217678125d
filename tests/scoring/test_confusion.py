import math
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from scoring.arrays import Bytes
from scoring.measures.confusion import (
    ConfusionMatrix,
    Counts,
    count_labels,
    overlap_of_labels,
    share_found,
    share_of_all_pixels,
)
from scoring.truth.masks import Masks

LABELS = 4
MATRIX = np.array([[5, 1, 0, 2], [0, 0, 0, 3], [0, 0, 0, 0], [1, 0, 0, 6]])


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Bytes, Bytes]:
    """A truth with void, and an answer, of the same size; pixel by pixel or in large blots."""
    shape = draw(st.tuples(st.integers(1, 12), st.integers(1, 12)))
    zoom = draw(st.sampled_from([1, 5]))
    truth = draw(arrays(np.uint8, shape, elements=st.sampled_from([0, 1, 2, 3, 255])))
    answer = draw(arrays(np.uint8, shape, elements=st.integers(0, LABELS - 1)))
    return np.kron(truth, np.ones((zoom, zoom), np.uint8)), np.kron(answer, np.ones((zoom, zoom), np.uint8))


def counted(truth: Bytes, answer: Bytes) -> Counts:
    counts: Counts = count_labels([answer], [Masks.of([truth]).runs(0)], LABELS)[0]
    return counts


def counted_plainly(truth: Bytes, answer: Bytes) -> list[list[int]]:
    """One pixel after the other, as the kit's words say."""
    counts = [[0] * LABELS for _ in range(LABELS)]
    for true, given_label in zip(truth.ravel().tolist(), answer.ravel().tolist(), strict=True):
        if true != 255:
            counts[true][given_label] += 1
    return counts


@given(pairs())
def test_pixels_are_counted_as_by_a_plain_loop(pair: tuple[Bytes, Bytes]) -> None:
    assert counted(*pair).tolist() == counted_plainly(*pair)


@given(pairs(), st.randoms())
def test_what_is_answered_for_void_pixels_changes_nothing(pair: tuple[Bytes, Bytes], random: Random) -> None:
    truth, answer = pair
    other = np.where(truth == 255, np.uint8(random.randint(0, LABELS - 1)), answer)

    assert np.array_equal(counted(truth, answer), counted(truth, other))


@given(pairs())
def test_every_value_lies_between_0_and_1_and_only_labels_that_are_nowhere_have_none(
    pair: tuple[Bytes, Bytes],
) -> None:
    counts = counted(*pair)

    values = overlap_of_labels(counts)
    nowhere = counts.sum(0) + counts.sum(1) == 0
    assert np.array_equal(np.isnan(values), nowhere)
    for each in (values[~nowhere], share_found(counts)):
        assert ((each >= 0) & (each <= 1)).all()
    assert (values[~nowhere] <= share_found(counts)[~nowhere]).all()


@given(pairs())
def test_a_perfect_answer_is_worth_1(pair: tuple[Bytes, Bytes]) -> None:
    truth, answer = pair
    counts = counted(truth, np.where(truth == 255, answer, truth))

    there = counts.sum(1) > 0
    assert (overlap_of_labels(counts)[there] == 1).all()
    assert (share_found(counts)[there] == 1).all()
    assert math.isnan(share_of_all_pixels(counts)) != (share_of_all_pixels(counts) == 1)


def test_the_measures_are_what_one_works_out_by_hand() -> None:
    assert overlap_of_labels(MATRIX) == pytest.approx([5 / 9, 0, math.nan, 6 / 12], nan_ok=True)
    assert share_found(MATRIX).tolist() == [5 / 8, 0, 0, 6 / 7]
    assert share_of_all_pixels(MATRIX) == 11 / 18


def test_a_matrix_survives_json() -> None:
    matrix = ConfusionMatrix(("background", "car"), ((10, 2), (3, 4)))

    assert ConfusionMatrix.from_plain(matrix.to_plain()) == matrix
    assert matrix.to_plain()["counts"] == [[10, 2], [3, 4]]
