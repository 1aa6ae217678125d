"""Annotated objects that count otherwise than one may think are noted, and explained where there are explanations."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heldout_scoring import Detections, GroundTruth, Result, evaluate, evaluate_coco, read_tree
from heldout_scoring.command_line import main
from heldout_scoring.errors import Problems
from tests.scoring.builders import Kit, annotation, kit, thing

BOXES = [[0, 0, 10, 10], [20, 20, 50, 50], [60, 60, 90, 90]]
IMAGES, NAMES = ["a", "b", "a"], ["cat", "cat", "dog"]
DIFFICULT = "marked as difficult, which these rules do not know: difficult objects count like any other"
CROWD = "marked as crowd, which these rules do not know: crowds are taken as difficult and need not be found"
COUNTED = "marked as crowd, which these rules do not know: crowds count like any other object"
NO_NUMBER = "numbered 0 as 'id': as in the official program, what matches such an object is a false positive"


def truth_of(**flags: Any) -> GroundTruth:
    return GroundTruth.from_arrays(IMAGES, NAMES, BOXES, convention="half-open", **flags)


def result_of(truth: GroundTruth, protocol: str, **options: Any) -> Result:
    found = Detections.from_arrays(IMAGES, NAMES, [0.9, 0.8, 0.7], BOXES, convention="half-open")
    return evaluate(found, truth, protocol=protocol, **options)


def said(result: Result) -> list[str]:
    return [note.message for note in result.notes]


def lists(**change: Any) -> dict[str, Any]:
    annotations = [
        {"id": n, "image_id": 1, "category_id": 1, "bbox": [x, y, 10, 10], "area": 100}
        | (change if n == 1 else {})
        for n, (x, y, _, _) in enumerate(BOXES, 1)
    ]
    return {"images": [{"id": 1}], "categories": [{"id": 1, "name": "cat"}], "annotations": annotations}


@pytest.mark.parametrize("area", [None, [100, 900, 900]])
def test_difficult_objects_count_by_the_rules_of_coco_which_is_said(area: Any) -> None:
    truth = truth_of(difficult=[0, 1, 1], crowd=[0, 0, 1], area=area)

    result = result_of(truth, "coco")

    assert said(result) == [f"1 annotated object is {DIFFICULT}"]
    assert [(e.class_name, e.count, e.message) for e in result.explain() if e.code == "difficult"] == [
        ("cat", 1, f"1 object is {DIFFICULT}")
    ]
    assert said(result_of(truth, "coco", classes=["dog"])) == []


def test_difficult_objects_of_columns_in_any_order_belong_to_their_class() -> None:
    truth = GroundTruth.from_arrays(
        ["b", "a", "b"],
        ["cat", "dog", "owl"],
        BOXES,
        images=["a", "b"],
        convention="half-open",
        difficult=[0, 1, 0],
        area=[1, 2, 3],
    )
    nothing = Detections.from_arrays([], [], [], np.empty((0, 4)))

    result = evaluate(nothing, truth, protocol="coco")

    assert [each.class_name for each in result.explain() if each.code == "difficult"] == ["dog"]


@pytest.mark.parametrize("protocol", ["voc2007", "voc2012", "pascal_voc_detection_metrics"])
def test_crowds_are_difficult_by_the_rules_of_voc_which_is_said(protocol: str) -> None:
    truth = truth_of(crowd=[1, 1, 0])

    assert said(result_of(truth, protocol)) == [f"2 annotated objects are {CROWD}"]
    assert said(result_of(truth, protocol, classes=["dog"])) == []
    assert said(result_of(truth_of(difficult=[1, 1, 0]), protocol)) == []


@pytest.mark.parametrize("protocol", ["oid_V2_detection_metrics", "oid_challenge_detection_metrics"])
def test_the_rules_of_open_images_know_crowds_and_no_difficult_objects(protocol: str) -> None:
    assert said(result_of(truth_of(crowd=[1, 1, 0]), protocol)) == []


def test_open_images_counts_difficult_objects_which_is_said() -> None:
    result = result_of(truth_of(difficult=[1, 0, 0]), "oid_V2_detection_metrics")

    assert said(result) == [f"1 annotated object is {DIFFICULT}"]


@pytest.mark.parametrize("flag", ["ignore", "difficult"])
def test_flags_in_coco_json_are_said_to_be_none_of_its_rules(flag: str) -> None:
    found = [{"image_id": 1, "category_id": 1, "bbox": [0, 0, 10, 10], "score": 0.5}]
    truth = lists(**{flag: 1})

    for result in (
        evaluate_coco(found, truth),
        evaluate(
            Detections.from_coco(found, GroundTruth.from_coco(truth)),
            GroundTruth.from_coco(truth),
            protocol="coco",
        ),
    ):
        assert said(result) == [f"1 annotated object is {DIFFICULT}"]
        assert [each.code for each in result.explain()][:1] == ["difficult"]


def test_crowds_count_by_the_rules_of_lvis_which_is_said() -> None:
    truth = lists(iscrowd=1)
    truth["images"][0] |= {"neg_category_ids": [], "not_exhaustive_category_ids": []}
    truth["categories"][0]["frequency"] = "f"

    assert said(evaluate_coco([], truth, protocol="lvis")) == [f"1 annotated object is {COUNTED}"]
    assert said(evaluate_coco([], truth)) == []


def test_an_annotation_with_the_id_0_is_noted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    truth = GroundTruth.from_coco(lists(id=0))
    for name, content in (("truth", lists(id=0)), ("results", [])):
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    expected = [f"1 annotated object is {NO_NUMBER}"]

    assert said(evaluate_coco([], lists(id=0))) == expected
    assert said(evaluate(Detections.from_coco([], truth), truth, protocol="coco")) == expected
    files = ["--truth", str(tmp_path / "truth.json"), "--results", str(tmp_path / "results.json")]
    assert main(["evaluate", "--protocol", "coco", *files]) == 0
    assert [each["message"] for each in json.loads(capsys.readouterr().out)["notes"]] == expected


@pytest.mark.parametrize("text", ["True", "true", "yes", "2", "1.0"])
def test_a_flag_that_is_neither_0_nor_1_is_warned_of(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = thing("cat").replace("</name>", f"</name><difficult>{text}</difficult>")
    tree = kit(tmp_path).write("Annotations/a_1.xml", annotation(thing("dog"), odd))
    problems = Problems()

    truth = read_tree(tree.root, "test", problems=problems)

    [warning] = problems.warnings
    expected = (
        f"<difficult> of object 2 is '{text}', which is not 1 and so counts as 0, as in the development kit"
    )
    assert (warning.file, warning.message) == ("Annotations/a_1.xml", expected)
    assert truth.tables.objects.difficult.tolist() == [False, False, False, True]
    assert main(["statistics", str(tree.root), "--image-set", "test"]) == 0
    assert [each["message"] for each in json.loads(capsys.readouterr().out)["notes"]] == [expected]


def test_flags_that_decide_nothing_are_not_warned_of(tmp_path: Path) -> None:
    plain = "<truncated>Unspecified</truncated><difficult> 0 </difficult><groupof></groupof>"
    odd = thing("cat").replace("</name>", f"</name>{plain}")
    problems = Problems()

    read_tree(Kit(tmp_path / "VOC2012").main({"a": annotation(odd)}).root, "test", problems=problems)

    assert problems.warnings == ()
