"""The measures of plain arrays equal those of scikit-learn, or of the kits if a rule says so."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from heldout_scoring import average_precision, confusion_matrix, iou_matrix
from heldout_scoring.errors import DataError
from heldout_scoring.metrics.shorthand import ApRule

pairs = st.lists(st.tuples(st.booleans(), st.integers(0, 8)), min_size=1, max_size=40).filter(
    lambda rows: any(positive for positive, _ in rows)
)


@given(pairs)
def test_average_precision_equals_that_of_scikit_learn(rows: list[tuple[bool, int]]) -> None:
    y_true, y_score = (list(column) for column in zip(*rows, strict=True))

    expected = metrics.average_precision_score(y_true, y_score)

    assert average_precision(y_true, y_score) == pytest.approx(expected, abs=1e-12)


def test_average_precision_of_many_float32_scores_equals_scikit_learn() -> None:
    dice = np.random.default_rng(3)
    y_true, y_score = dice.integers(0, 2, 5000), dice.random(5000, np.float32)

    expected = metrics.average_precision_score(y_true, y_score)

    assert average_precision(y_true, y_score) == pytest.approx(expected, abs=1e-12)
    assert average_precision(2 * y_true - 1, y_score) == pytest.approx(expected, abs=1e-12)


def test_the_other_rules_of_average_precision_follow_the_kits() -> None:
    y_true, y_score = [1, 0, 1, 1], [0.9, 0.8, 0.8, 0.1]

    assert average_precision(y_true, y_score, rule=ApRule.AREA) == pytest.approx((1 + 0.75 + 0.75) / 3)
    assert average_precision(y_true, y_score, rule="11-points") == pytest.approx((4 + 7 * 0.75) / 11)


@pytest.mark.filterwarnings("ignore:A single label was found:UserWarning")
@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("abcd")), min_size=1, max_size=30),
    st.permutations("abcd").map(lambda labels: labels[:3]),
)
def test_a_confusion_matrix_equals_that_of_scikit_learn(
    rows: list[tuple[str, str]], labels: list[str]
) -> None:
    y_true, y_pred = (list(column) for column in zip(*rows, strict=True))

    found = confusion_matrix(y_true, y_pred)

    assert (
        found.tolist() == metrics.confusion_matrix(y_true, y_pred, labels=sorted({*y_true, *y_pred})).tolist()
    )
    if set(labels) & set(y_true):  # scikit-learn refuses labels of which none occurs
        expected = metrics.confusion_matrix(y_true, y_pred, labels=labels)
        assert confusion_matrix(y_true, y_pred, labels=labels).tolist() == expected.tolist()


def test_label_maps_are_counted_by_pixel_without_void() -> None:
    true, predicted = np.array([[0, 1], [255, 1]], np.uint8), np.array([[0, 0], [1, 1]], np.uint8)

    assert confusion_matrix(true, predicted, labels=[0, 1]).tolist() == [[1, 0], [1, 1]]
    assert confusion_matrix([], [], labels=[]).shape == (0, 0)


def test_overlaps_are_computed_for_every_pair_in_either_convention() -> None:
    boxes, others = [[1, 1, 10, 10], [5, 5, 4, 4]], np.array([[1, 1, 10, 5], [1, 1, 10, 10]], np.float32)

    assert iou_matrix(boxes, others, convention="inclusive").tolist() == [[0.5, 1.0], [0.0, 0.0]]
    assert iou_matrix(boxes, others).tolist() == [[pytest.approx(4 / 9), 1.0], [0.0, 0.0]]
    assert iou_matrix([], others).shape == (0, 2)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: average_precision([0, 0], [1, 2]), "expected at least one positive in 'y_true', found none"),
        (lambda: average_precision([0, 2], [1, 2]), "expected 'y_true' as 1 for a positive"),
        (lambda: average_precision([0, 1], [1, np.nan]), "expected finite numbers in 'y_score'"),
        (lambda: average_precision([0, 1], [1]), "2 of 'y_true' and 1 of 'y_score'"),
        (
            lambda: average_precision([0, 1], [1, 2], rule="voc"),
            "expected 'steps', 'area', '11-points' as 'rule'",
        ),
        (lambda: iou_matrix([[1, 2, 3]], []), "expected 'boxes' as four numbers each"),
        (lambda: iou_matrix([], [], convention="voc"), "as 'convention', found 'voc'"),
        (
            lambda: confusion_matrix([1, 2], [1]),
            "expected 'y_true' and 'y_pred' of one shape, found (2,) and (1,)",
        ),
        (lambda: confusion_matrix([1], [1], labels=[1, 1]), "to name each label once, found [1, 1]"),
    ],
)
def test_invalid_arguments_are_refused_in_one_sentence(call: Any, sentence: str) -> None:
    with pytest.raises(DataError) as error:
        call()

    assert sentence in str(error.value)
