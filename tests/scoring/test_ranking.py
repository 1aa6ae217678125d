import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heldout_scoring.data.arrays import Floats
from heldout_scoring.metrics.ranking import (
    ELEVEN_RECALLS,
    Measure,
    average_precision,
    average_precision_11_points,
    mean_of_classes,
    precision_recall,
    rank,
)
from tests.scoring import oracles

outcome = st.sampled_from([1, 0, -1])
outcomes = st.lists(outcome, max_size=60)
left = st.integers(0, 30)  # objects that no prediction matches
measures = pytest.mark.parametrize("measure", [average_precision, average_precision_11_points])


def said(found: list[int]) -> np.ndarray[tuple[int], np.dtype[np.int8]]:
    return np.array(found, np.int8)


def same(one: float, other: float) -> bool:
    return one == other or (math.isnan(one) and math.isnan(other))


@given(outcomes, left)
def test_the_area_equals_that_of_a_plain_loop_to_the_last_bit(found: list[int], missed: int) -> None:
    positives = found.count(1) + missed

    assert same(average_precision(said(found), positives), oracles.area(found, positives))


@given(outcomes, left)
def test_eleven_point_ap_equals_a_plain_loop_to_the_last_bit(found: list[int], missed: int) -> None:
    positives = found.count(1) + missed

    value = average_precision_11_points(said(found), positives)

    assert same(value, oracles.eleven(found, positives, ELEVEN_RECALLS))


def test_both_measures_of_long_rankings_equal_plain_loops_to_the_last_bit() -> None:
    rng = np.random.default_rng(2007)
    for share in (0.02, 0.3, 0.9):
        found = rng.choice([1, 0, -1], 3000, p=[share, 0.95 - share, 0.05]).tolist()
        positives = found.count(1) + 17

        assert average_precision(said(found), positives) == oracles.area(found, positives)
        eleven = oracles.eleven(found, positives, ELEVEN_RECALLS)
        assert average_precision_11_points(said(found), positives) == eleven


@given(outcomes, left)
def test_every_point_of_the_curve_equals_that_of_a_plain_loop(found: list[int], missed: int) -> None:
    points = precision_recall(said(found), found.count(1) + missed)

    recall, precision = oracles.curve(found, found.count(1) + missed)
    np.testing.assert_array_equal(points.recall, np.array(recall))
    np.testing.assert_array_equal(points.precision, np.array(precision))


@measures
@given(found=outcomes, missed=left)
def test_a_value_is_between_0_and_1_or_is_nan(measure: Measure, found: list[int], missed: int) -> None:
    value = measure(said(found), found.count(1) + missed)

    assert math.isnan(value) or 0 <= value <= 1


@measures
@given(count=st.integers(1, 200))
def test_a_perfect_prediction_scores_1(measure: Measure, count: int) -> None:
    assert measure(said([1] * count), count) == pytest.approx(1, abs=1e-12)


@measures
@given(found=outcomes, missed=left)
def test_adding_a_false_positive_at_the_end_never_raises_the_score(
    measure: Measure, found: list[int], missed: int
) -> None:
    positives = found.count(1) + missed
    before = measure(said(found), positives)

    after = measure(said([*found, 0]), positives)

    assert math.isnan(before) or math.isnan(after) or after <= before


@measures
@given(found=outcomes, missed=st.integers(1, 30))
def test_adding_a_true_positive_at_the_end_never_lowers_the_score(
    measure: Measure, found: list[int], missed: int
) -> None:
    positives = found.count(1) + missed
    before = measure(said(found), positives)

    after = measure(said([*found, 1]), positives)

    assert math.isnan(before) or after >= before


def test_without_positives_the_area_is_nan_and_eleven_point_ap_is_0() -> None:
    assert math.isnan(average_precision(said([0]), 0))
    assert average_precision_11_points(said([0]), 0) == 0
    assert average_precision_11_points(said([-1]), 0) == 0


def test_without_predictions_both_measures_are_0_even_without_positives() -> None:
    for positives in (0, 3):
        assert average_precision(said([]), positives) == 0
        assert average_precision_11_points(said([]), positives) == 0


def test_with_only_ignored_predictions_the_area_is_0_and_eleven_point_ap_nan() -> None:
    assert average_precision(said([-1, -1]), 3) == 0
    assert math.isnan(average_precision_11_points(said([-1, -1]), 3))


def test_recall_levels_are_computed_multiples_of_a_tenth() -> None:
    assert [str(level) for level in ELEVEN_RECALLS if len(str(level)) > 3] == [
        "0.30000000000000004",
        "0.6000000000000001",
        "0.7000000000000001",
    ]
    assert tuple(np.arange(0, 1.1, 0.1)) == ELEVEN_RECALLS


confidence = st.one_of(
    st.sampled_from([0.0, -0.0, 0.5, 1.0, -1.0, 1e-300, -1e-300, 0.1, 0.1 + 1e-17, np.nextafter(0.1, 1)]),
    st.floats(allow_nan=False),
)


@given(st.lists(confidence, max_size=60))
def test_the_ranking_equals_a_stable_sort(found: list[float]) -> None:
    assert rank(np.array(found, np.float64)).tolist() == sorted(
        range(len(found)), key=lambda place: -found[place]
    )


def test_confidences_that_differ_in_the_last_bit_are_distinguished() -> None:
    found = np.array([0.1, np.nextafter(0.1, 1), 0.1, np.nextafter(0.1, 0)])

    assert rank(found).tolist() == [1, 0, 2, 3]


@pytest.mark.parametrize("kind", [np.float16, np.float32])
def test_narrow_floats_are_ranked_like_float64(kind: type[np.floating[Any]]) -> None:
    confidence = np.random.default_rng(4).normal(size=1000).astype(kind)

    assert rank(confidence).tolist() == rank(confidence.astype(np.float64)).tolist()


@pytest.mark.parametrize(
    ("confidence", "complaint"), [(np.array([0.5, np.nan]), "NaN at 1"), (np.ones((2, 1)), r"\(2, 1\)")]
)
def test_confidences_that_cannot_be_ranked_are_refused(confidence: Floats, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        rank(confidence)


def test_the_ranking_of_many_ties_equals_a_stable_sort() -> None:
    found = np.random.default_rng(7).integers(0, 50, 20_000) / 50

    assert rank(found).tolist() == np.argsort(-found, kind="stable").tolist()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_the_mean_is_summed_from_left_to_right(values: list[float]) -> None:
    assert mean_of_classes(values) == oracles.mean(values)


def test_there_is_no_mean_of_no_values_or_of_nan() -> None:
    assert math.isnan(mean_of_classes([]))
    assert math.isnan(mean_of_classes([0.5, math.nan]))
