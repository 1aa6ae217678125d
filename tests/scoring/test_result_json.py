import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heldout_scoring.results import Result
from heldout_scoring.scores import ClassResult, Curve, ScoreTable
from tests.scoring import oracles

OUTCOMES = st.lists(st.sampled_from([1, 0, -1]), max_size=40)


def curve(outcomes: list[int], positives: int) -> Curve:
    return Curve("cat", positives, np.array(outcomes, np.int8).tobytes())


def result() -> Result:
    return Result(
        competition=3,
        task="detection",
        protocol="voc2012",
        measure="AP",
        headline=None,
        headline_reason="not entered: dog",
        classes=(ClassResult("cat", 0.1 + 0.2, None, 4, 3), ClassResult.not_entered("dog", 1)),
        exhibits=(ScoreTable("AP", (("cat", 0.5), ("dog", None))), curve([1, -1, 0], 4)),
        scorer="1",
        truth="cd" * 32,
        receipt="ab" * 32,
    )


def test_a_result_is_read_from_its_json_unchanged() -> None:
    assert Result.from_json(result().to_json()) == result()


def test_json_of_releases_that_said_by_reasons_what_counts_is_read() -> None:
    """Written by the release of 26 November 2026."""
    text = (
        '{"classes":[{"name":"cat","positives":4,"predictions":3,"reason":null,"value":0.5},'
        '{"name":"dog","positives":1,"predictions":0,"reason":"not entered","value":null},'
        '{"name":"owl","positives":0,"predictions":2,"reason":"there is no such object in the set; the mean counts it as 0",'
        '"value":null}],"competition":3,"exhibits":[],"headline":0.25,"headline_reason":null,"measure":"AP",'
        '"protocol":"voc2012","receipt":"ab","rules":null,"scorer":"1","task":"detection","truth":"cd"}'
    )

    read = Result.from_json(text)

    assert [each.counted_as for each in read.classes] == [None, None, 0.0]
    assert [each.is_entered for each in read.classes] == [True, False, True]
    assert str(read).endswith("0.2500  owl counts as 0")


def test_a_result_by_rules_that_are_not_known_is_read_without_them() -> None:
    ours = replace(result(), protocol="ours")

    assert Result.from_json(ours.to_json()) == ours


def test_equal_results_give_equal_json_without_false_positives_in_curves() -> None:
    plain = json.loads(result().to_json())

    assert result().to_json() == result().to_json()
    assert plain["exhibits"][1] == {
        "kind": "curve",
        "class_name": "cat",
        "positives": 4,
        "outcomes": {"size": 3, "fill": 0, "others": {"1": [0], "255": [1]}},
    }


def test_json_that_is_not_a_result_is_refused() -> None:
    for text in ("", "[]", "{}", result().to_json().replace('"curve"', '"sculpture"')):
        with pytest.raises((KeyError, TypeError, ValueError)):
            Result.from_json(text)


@given(OUTCOMES, st.integers(0, 9))
def test_a_curve_has_the_kits_point_for_each_prediction(outcomes: list[int], missed: int) -> None:
    points = curve(outcomes, outcomes.count(1) + missed).points()

    recall, precision = oracles.curve(outcomes, outcomes.count(1) + missed)
    np.testing.assert_array_equal(points.recall, np.array(recall))
    np.testing.assert_array_equal(points.precision, np.array(precision))


@given(OUTCOMES, st.integers(0, 9))
def test_the_envelope_is_the_best_precision_at_or_above_each_recall(outcomes: list[int], missed: int) -> None:
    positives = outcomes.count(1) + missed
    points = list(zip(*oracles.curve(outcomes, positives), strict=True))

    envelope = curve(outcomes, positives).envelope()

    assert len(envelope) == 41
    for step, value in enumerate(envelope):
        assert value == max((p for r, p in points if r >= step / 40 and not math.isnan(p)), default=0)
    assert envelope == sorted(envelope, reverse=True)


def test_the_envelope_can_have_any_number_of_levels() -> None:
    assert curve([1, 0, 1, 0], 4).envelope(5) == [1.0, 1.0, 2 / 3, 0.0, 0.0]
    assert curve([0], 0).envelope(2) == [0.0, 0.0]
    assert curve([], 3).envelope(2) == [0.0, 0.0]
