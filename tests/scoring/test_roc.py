import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heldout_scoring.data.matches import RankedPredictions
from heldout_scoring.data.predictions import ClassConfidences
from heldout_scoring.metrics.labels import ClassLabels, rank_by_confidence, roc_auc
from heldout_scoring.metrics.ranking import auc, ends_of_ties, roc
from heldout_scoring.scores import EXHIBITS, RocCurve, draw_roc
from heldout_scoring.stored import from_plain, to_plain
from tests.scoring import label_oracles as oracles

label = st.sampled_from([1, -1, 0])
confidences = st.one_of(st.sampled_from([0.0, -0.0, 0.5, 1.0]), st.floats(-2, 2), st.none())
rankings = st.lists(st.tuples(label, confidences), max_size=40)


def ranked(rows: list[tuple[int, float | None]]) -> RankedPredictions:
    """A ranking of images with these labels and confidences; None for an image that is missing."""
    known = ClassLabels(
        len(rows),
        np.arange(len(rows), dtype=np.int32),
        np.arange(len(rows), dtype=np.int32),
        np.array([label for label, _ in rows], np.int8),
    )
    given = [(image, confidence) for image, (_, confidence) in enumerate(rows) if confidence is not None]
    predictions = ClassConfidences(
        np.array([image for image, _ in given], np.int32),
        np.array([confidence for _, confidence in given], np.float64),
    )
    return rank_by_confidence("car", predictions, known)


def points(rows: list[tuple[int, float | None]]) -> list[tuple[float, float]]:
    lines = [(str(image), confidence) for image, (_, confidence) in enumerate(rows) if confidence is not None]
    return oracles.roc_points(lines, {str(image): label for image, (label, _) in enumerate(rows)})


def same(one: float, other: float) -> bool:
    return one == other or (math.isnan(one) and math.isnan(other))


@given(rankings)
def test_the_auc_equals_that_of_a_plain_loop_to_the_last_bit(rows: list[tuple[int, float | None]]) -> None:
    assert same(roc_auc(ranked(rows)), oracles.roc_area(points(rows)))


@given(rankings)
def test_every_point_of_the_curve_equals_that_of_a_plain_loop(rows: list[tuple[int, float | None]]) -> None:
    drawn = draw_roc(ranked(rows)).points()

    expected = np.array(points(rows))
    np.testing.assert_array_equal(drawn.fpr, expected[:, 0])
    np.testing.assert_array_equal(drawn.tpr, expected[:, 1])


@given(rankings)
def test_the_auc_is_between_0_and_1_or_is_nan(rows: list[tuple[int, float | None]]) -> None:
    value = roc_auc(ranked(rows))

    assert math.isnan(value) or -1e-12 <= value <= 1 + 1e-12


@given(st.lists(label, min_size=1, max_size=40))
def test_a_perfect_ranking_has_an_auc_of_1(labels: list[int]) -> None:
    value = roc_auc(ranked([(label, float(label)) for label in labels]))

    assert value == pytest.approx(1, abs=1e-12) if {1, -1} <= set(labels) else math.isnan(value)


@given(rankings)
def test_adding_a_negative_at_the_end_changes_the_auc_only_by_its_weight(
    rows: list[tuple[int, float | None]],
) -> None:
    negatives = sum(label == -1 for label, _ in rows)
    alarms = (roc_auc(ranked(rows)) * negatives) if negatives else 0.0

    value = roc_auc(ranked([*rows, (-1, -1e9)]))

    if any(confidence is None for _, confidence in rows) or not any(label == 1 for label, _ in rows):
        return
    assert value * (negatives + 1) == pytest.approx(alarms + 1, abs=1e-9)


def test_ties_count_as_if_their_negatives_came_first() -> None:
    assert roc_auc(ranked([(1, 0.5), (-1, 0.5)])) == 0
    assert roc_auc(ranked([(1, 0.9), (1, 0.5), (-1, 0.5)])) == 0.5


def test_without_positives_or_without_negatives_there_is_no_auc() -> None:
    assert math.isnan(roc_auc(ranked([(-1, 0.5)])))
    assert math.isnan(roc_auc(ranked([(1, 0.5)])))


def test_a_run_of_equal_confidences_ends_at_the_next_different_one() -> None:
    assert ends_of_ties(np.empty(0)).tolist() == []
    assert ends_of_ties(np.array([0.0, -0.0, -1.0])).tolist() == [False, True, True]


def test_a_curve_survives_a_round_trip_through_json() -> None:
    curve = draw_roc(ranked([(1, 0.5), (-1, 0.5), (0, 0.1), (1, None)]))

    assert from_plain(EXHIBITS["roc_curve"], to_plain(curve)) == curve
    assert to_plain(curve)["ends"] == {"size": 4, "fill": 1, "others": {"0": [0]}}


@given(rankings)
def test_the_envelope_is_the_highest_tpr_at_or_below_each_fpr(
    rows: list[tuple[int, float | None]],
) -> None:
    curve = draw_roc(ranked(rows))

    drawn = points(rows)
    if any(math.isnan(alarms) for alarms, _ in drawn):
        assert curve.envelope(5) == [0.0] * 5
        return
    for level, value in zip([0, 0.25, 0.5, 0.75, 1], curve.envelope(5), strict=True):
        reached = [tpr for fpr, tpr in drawn if fpr <= level and not math.isnan(tpr)]
        assert value == max(reached)


def test_a_curve_without_predictions_has_its_two_end_points() -> None:
    empty = RocCurve("car", b"", b"").points()

    assert (empty.fpr.tolist(), empty.tpr.tolist()) == ([0, 1], [0, 1])
    assert auc(empty) == 0
    assert auc(roc(np.array([0], np.int8), np.array([True]))) != 0
