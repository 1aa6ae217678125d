import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from heldout_scoring import (
    AnnotatedObject,
    Annotation,
    Box,
    Description,
    Image,
    Limits,
    SubmissionError,
    evaluate,
    truth_of_boxes,
    validate,
)
from tests.scoring.archives import FOLDER, description, lines, tar, written


def test_a_description_with_limits_survives_a_round_trip_through_json() -> None:
    told = replace(description(), limits=Limits(max_unpacked_bytes=5, max_depth=1))

    assert json.loads(told.to_json())["limits"] == asdict(told.limits)
    assert Description.from_json(told.to_json()) == told


def test_a_description_without_limits_has_the_default_ones() -> None:
    plain = json.loads(description().to_json())
    del plain["limits"]

    assert Description.from_json(json.dumps(plain)) == description()
    assert description().limits == Limits()


def test_a_limit_missing_from_a_description_has_its_default() -> None:
    plain = json.loads(description().to_json()) | {"limits": {"max_files": 7}}

    assert Description.from_json(json.dumps(plain)).limits == Limits(max_files=7)


@pytest.mark.parametrize(
    ("limits", "sentence"),
    [
        ({"members": 3}, "no limit is called 'members'; there are max_unpacked_bytes, max_file_bytes, max_files, max_lines, max_total_lines, max_boxes, max_ratio, ratio_from_bytes, max_depth, max_path_length"),
        ({"max_files": 0}, "the limit 'max_files' must be a whole number from 1, not 0"),
        ({"max_files": "3"}, "the limit 'max_files' must be a whole number from 1, not '3'"),
        ({"max_ratio": 2.5}, "the limit 'max_ratio' must be a whole number from 1, not 2.5"),
        ({"max_depth": True}, "the limit 'max_depth' must be a whole number from 1, not True"),
        ([3], "limits must be an object of numbers, not [3]"),
        (None, "limits must be an object of numbers, not None"),
    ],
)  # fmt: skip
def test_invalid_limits_are_refused_in_a_sentence(limits: Any, sentence: str) -> None:
    plain = json.loads(description().to_json()) | {"limits": limits}

    with pytest.raises(ValueError, match="limit") as caught:
        Description.from_json(json.dumps(plain))
    assert str(caught.value) == sentence


def test_limits_change_neither_fingerprint_nor_receipt(tmp_path: Path) -> None:
    page = Annotation(50, 40, (AnnotatedObject("cat", Box(1, 1, 10, 10)),))
    truth = truth_of_boxes({"a": page}, dataset="VOC2012", image_set="val")
    (tmp_path / "comp3_det_val_cat.txt").write_text("a 0.5 1 1 10 10\n")
    narrow = replace(truth, description=replace(truth.description, limits=Limits(max_file_bytes=3)))

    usual = evaluate(tmp_path, truth, competition=3, protocol="voc2012")

    assert type(truth).of(truth.lists, truth.tables).fingerprint == truth.fingerprint
    assert evaluate(tmp_path, narrow, competition=3, protocol="voc2012", limits=Limits()) == usual
    assert evaluate(tmp_path, narrow, competition=3, protocol="voc2012") == usual
    with pytest.raises(SubmissionError, match="too large"):
        evaluate(tmp_path, truth, competition=3, protocol="voc2012", limits=Limits(max_file_bytes=3))


def test_the_limit_of_lines_applies_to_archives_but_not_to_folders(tmp_path: Path) -> None:
    page = Annotation(50, 40, (AnnotatedObject("cat", Box(1, 1, 10, 10)),))
    truth = truth_of_boxes({"a": page}, dataset="VOC2012", image_set="val")
    boxes = b"a 0.5 1 1 10 10\n" * 3
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "comp3_det_val_cat.txt").write_bytes(boxes)
    sent = tmp_path / "sent.tar"
    sent.write_bytes(tar({"comp3_det_val_cat.txt": boxes}))
    narrow = Limits(max_lines=2)

    report = evaluate(tmp_path / "folder", truth, competition=3, protocol="voc2012", limits=narrow)

    assert report.classes[0].predictions == 3
    with pytest.raises(SubmissionError, match="the file has 3 lines, too many; at most 2 are read"):
        evaluate(sent, truth, competition=3, protocol="voc2012", limits=narrow)
    assert [problem.code for problem in validate(sent, truth.description, limits=narrow).problems] == [
        "too-many-lines"
    ]


def crowded(*names: str) -> dict[str, bytes]:
    row = b"000001 0.5 1 1 10 10\n"
    return {f"{FOLDER}/comp3_det_test_{name}.txt": 3 * row for name in names}


def test_each_image_with_too_many_boxes_of_a_class_is_reported(tmp_path: Path) -> None:
    files = crowded("boat", "car") | {f"{FOLDER}/comp3_det_test_bird.txt": lines("000001", "000002")}
    sent = written(tmp_path, tar(files), "sent.tar")

    problems = validate(sent, description(), limits=Limits(max_boxes=2)).problems

    assert [(problem.code, problem.file) for problem in problems] == [
        ("too-many-boxes", f"comp3_det_test_{name}.txt") for name in ("boat", "car")
    ]
    assert problems[0].message == "3 boxes of 'boat' in the image '000001', too many; at most 2 are allowed"
    assert validate(sent, description(), limits=Limits(max_boxes=3)).valid


def test_reading_stops_at_the_limit_of_lines_in_all_files(tmp_path: Path) -> None:
    sent = written(tmp_path, tar(crowded("bird", "boat", "car")), "sent.tar")

    [problem] = validate(sent, description(), limits=Limits(max_total_lines=8)).problems

    assert problem.code == "too-many-lines"
    assert problem.message.startswith("the archive has more than 8 lines in all its files, too many")
    assert validate(sent, description(), limits=Limits(max_total_lines=9)).valid


def test_limits_of_validation_do_not_apply_to_scoring(tmp_path: Path) -> None:
    page = Annotation(50, 40, (AnnotatedObject("cat", Box(1, 1, 10, 10)),))
    truth = truth_of_boxes({"a": page}, dataset="VOC2012", image_set="val")
    sent = written(tmp_path, tar({"comp3_det_val_cat.txt": b"a 0.5 1 1 10 10\n" * 3}), "sent.tar")
    narrow = Limits(max_boxes=1, max_total_lines=1)

    assert evaluate(sent, truth, competition=3, protocol="voc2012", limits=narrow).classes[0].predictions == 3


def test_the_limit_of_boxes_in_coco_images_is_per_class(tmp_path: Path) -> None:
    phase = Description("COCO", "val", ("cat", "dog"), (), (Image("3", 9, 9),), class_numbers=(7, 8))
    form = '{{"image_id": 3, "category_id": {}, "bbox": [1, 1, 2, 2], "score": 0.5}}'
    text = f"[{', '.join(form.format(number) for number in (7, 7, 7, 8, 8))}]"
    sent = written(tmp_path, tar({"detections.json": text.encode()}), "sent.tar")

    [problem] = validate(sent, phase, limits=Limits(max_boxes=2)).problems

    assert problem.message == "3 boxes of 'cat' in the image '3', too many; at most 2 are allowed"
