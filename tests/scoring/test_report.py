import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.exhibits import Curve, ScoreTable
from scoring.results import ClassResult, Result
from tests.scoring import oracles

outcomes = st.lists(st.sampled_from([1, 0, -1]), max_size=40)


def curve(found: list[int], positives: int) -> Curve:
    return Curve("cat", positives, np.array(found, np.int8).tobytes())


def report() -> Result:
    return Result(
        competition=3,
        task="detection",
        protocol="voc2012",
        measure="AP",
        headline=None,
        headline_reason="not entered: dog",
        classes=(ClassResult("cat", 0.1 + 0.2, None, 4, 3), ClassResult("dog", None, "not entered", 1, 0)),
        exhibits=(ScoreTable("AP", (("cat", 0.5), ("dog", None))), curve([1, -1, 0], 4)),
        scorer="1",
        truth="cd" * 32,
        receipt="ab" * 32,
    )


def test_a_report_comes_back_from_json_as_it_was() -> None:
    assert Result.from_json(report().to_json()) == report()


def test_the_same_report_gives_the_same_json_and_a_curve_says_only_where_it_is_not_wrong() -> None:
    plain = json.loads(report().to_json())

    assert report().to_json() == report().to_json()
    assert plain["exhibits"][1] == {
        "kind": "curve",
        "class_name": "cat",
        "positives": 4,
        "outcomes": {"size": 3, "fill": 0, "others": {"1": [0], "255": [1]}},
    }


def test_what_is_no_report_is_refused() -> None:
    for text in ("", "[]", "{}", report().to_json().replace('"curve"', '"sculpture"')):
        with pytest.raises((KeyError, TypeError, ValueError)):
            Result.from_json(text)


@given(outcomes, st.integers(0, 9))
def test_a_curve_has_the_kit_s_point_for_each_answer(found: list[int], missed: int) -> None:
    points = curve(found, found.count(1) + missed).points()

    recall, precision = oracles.curve(found, found.count(1) + missed)
    np.testing.assert_array_equal(points.recall, np.array(recall))
    np.testing.assert_array_equal(points.precision, np.array(precision))


@given(outcomes, st.integers(0, 9))
def test_the_envelope_is_the_best_precision_at_each_recall_or_beyond(found: list[int], missed: int) -> None:
    positives = found.count(1) + missed
    points = list(zip(*oracles.curve(found, positives), strict=True))

    envelope = curve(found, positives).envelope()

    assert len(envelope) == 41
    for step, value in enumerate(envelope):
        assert value == max((p for r, p in points if r >= step / 40 and not math.isnan(p)), default=0)
    assert envelope == sorted(envelope, reverse=True)


def test_the_envelope_can_have_any_number_of_levels() -> None:
    assert curve([1, 0, 1, 0], 4).envelope(5) == [1.0, 1.0, 2 / 3, 0.0, 0.0]
    assert curve([0], 0).envelope(2) == [0.0, 0.0]
    assert curve([], 3).envelope(2) == [0.0, 0.0]
