import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from scoring import (
    AnnotatedObject,
    Annotation,
    Box,
    Description,
    Limits,
    SubmissionError,
    evaluate,
    truth_of_boxes,
)
from tests.scoring.archives import description


def test_a_description_with_limits_comes_back_from_json() -> None:
    told = replace(description(), limits=Limits(unpacked=5, depth=1))

    assert json.loads(told.to_json())["limits"] == asdict(told.limits)
    assert Description.from_json(told.to_json()) == told


def test_a_description_from_before_limits_were_told_has_the_usual_ones() -> None:
    plain = json.loads(description().to_json())
    del plain["limits"]

    assert Description.from_json(json.dumps(plain)) == description()
    assert description().limits == Limits()


def test_a_limit_that_a_description_leaves_out_is_the_usual_one() -> None:
    plain = json.loads(description().to_json()) | {"limits": {"members": 7}}

    assert Description.from_json(json.dumps(plain)).limits == Limits(members=7)


@pytest.mark.parametrize(
    ("limits", "sentence"),
    [
        ({"files": 3}, "no limit is called 'files'; there are unpacked, member, members, ratio, ratio_from, depth, name"),
        ({"members": 0}, "the limit 'members' must be a whole number from 1, not 0"),
        ({"members": "3"}, "the limit 'members' must be a whole number from 1, not '3'"),
        ({"ratio": 2.5}, "the limit 'ratio' must be a whole number from 1, not 2.5"),
        ({"depth": True}, "the limit 'depth' must be a whole number from 1, not True"),
        ([3], "limits must be an object of numbers, not [3]"),
        (None, "limits must be an object of numbers, not None"),
    ],
)  # fmt: skip
def test_limits_that_are_none_are_refused_in_a_sentence(limits: Any, sentence: str) -> None:
    plain = json.loads(description().to_json()) | {"limits": limits}

    with pytest.raises(ValueError, match="limit") as caught:
        Description.from_json(json.dumps(plain))
    assert str(caught.value) == sentence


def test_limits_move_neither_the_fingerprint_of_a_ground_truth_nor_a_receipt(tmp_path: Path) -> None:
    page = Annotation(50, 40, (AnnotatedObject("cat", Box(1, 1, 10, 10)),))
    truth = truth_of_boxes({"a": page}, dataset="VOC2012", image_set="val")
    (tmp_path / "comp3_det_val_cat.txt").write_text("a 0.5 1 1 10 10\n")
    narrow = replace(truth, description=replace(truth.description, limits=Limits(member=3)))

    usual = evaluate(tmp_path, truth, competition=3, protocol="voc2012")

    assert type(truth).of(truth.lists, truth.tables).fingerprint == truth.fingerprint
    assert evaluate(tmp_path, narrow, competition=3, protocol="voc2012", limits=Limits()) == usual
    with pytest.raises(SubmissionError, match="too large"):
        evaluate(tmp_path, narrow, competition=3, protocol="voc2012")
    with pytest.raises(SubmissionError, match="too large"):
        evaluate(tmp_path, truth, competition=3, protocol="voc2012", limits=Limits(member=3))
