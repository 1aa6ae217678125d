import json
from pathlib import Path
from typing import Any

import pytest

from heldout_scoring import Detections, GroundTruth, Result, evaluate
from heldout_scoring.command_line import main
from heldout_scoring.stored import to_plain
from tests.scoring.coco_masks import draw_mask_set
from tests.scoring.coco_sets import FIGURES, draw_coco_set, official, official_figures


def carry_out(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, dict[str, Any]]:
    code = main(list(map(str, words)))
    return code, json.loads(capsys.readouterr().out)


def write(folder: Path, truth: Any, found: Any) -> tuple[str | Path, ...]:
    (folder / "instances.json").write_text(json.dumps(truth))
    (folder / "detections.json").write_text(json.dumps(found))
    files = ("--truth", folder / "instances.json", "--results", folder / "detections.json")
    return ("evaluate", "--protocol", "coco", *files, "--json")


def test_boxes_are_scored_from_two_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    truth, found = draw_coco_set(3)

    code, said = carry_out(capsys, *write(tmp_path, truth, found))

    assert code == 0
    assert list(said) == ["protocol", "measure", "headline", "figures", "classes", "receipt", "notes"]
    assert tuple(said["figures"]) == ("AP", *[name for name in FIGURES if name != "AP"])
    assert said["figures"] == pytest.approx(official_figures(official(truth, found)), abs=1e-12)
    assert (said["protocol"], said["headline"]) == ("coco", said["figures"]["AP"])
    assert set(said["classes"]) == {each["name"] for each in truth["categories"]}
    assert {"value", "reason", "positives", "predictions", "figures"} == set(
        next(iter(said["classes"].values()))
    )


def test_masks_are_scored_on_request(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    truth, found = draw_mask_set(4)

    _, said = carry_out(capsys, *write(tmp_path, truth, found), "--masks")

    assert said["figures"] == pytest.approx(official_figures(official(truth, found, "segm")), abs=1e-12)
    assert "masks" in said["measure"]


def test_explanations_are_printed_on_request(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    truth, found = draw_coco_set(3)

    _, said = carry_out(capsys, *write(tmp_path, truth, found), "--explain")

    assert {"code", "class_name", "count", "message"} == set(said["explanations"][0])


def test_arrays_give_the_same_figures_and_explanations_as_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    annotated, detected = draw_coco_set(3)
    truth = GroundTruth.from_coco(annotated)

    result = evaluate(Detections.from_coco(detected, truth), truth, protocol="coco")

    _, said = carry_out(capsys, *write(tmp_path, annotated, detected), "--explain")
    assert result.figures == said["figures"]
    assert {each.name: result[each.name].figures for each in result.classes} == {
        name: each["figures"] for name, each in said["classes"].items()
    }
    assert [to_plain(each) for each in result.explain()] == said["explanations"]
    assert str(result).splitlines()[-2].startswith(f"AP {said['headline']:.4f}  AP50 ")


def test_a_result_from_json_keeps_its_figures_and_loses_its_explanations() -> None:
    annotated, detected = draw_coco_set(3)
    truth = GroundTruth.from_coco(annotated)
    result = evaluate(Detections.from_coco(detected, truth), truth, protocol="coco")

    again = Result.from_json(result.to_json())

    assert again.figures == result.figures
    assert again[again.classes[0].name].figures == {}
    with pytest.raises(ValueError, match="evaluate the predictions again"):
        again.explain()


def test_explanations_can_be_limited_to_some_classes() -> None:
    annotated, detected = draw_coco_set(3)
    truth = GroundTruth.from_coco(annotated)
    name = truth.description.classes[1]

    result = evaluate(Detections.from_coco(detected, truth), truth, protocol="coco", classes=[name])

    assert {each.class_name for each in result.explain()} == {name}


def test_all_problems_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    truth, _ = draw_coco_set(3)

    code, said = carry_out(capsys, *write(tmp_path, truth, [{"image_id": 1}, 7]))

    assert code == 2
    assert {problem["file"] for problem in said["problems"]} == {"detections.json"}
    assert [problem["code"] for problem in said["problems"]] == ["bad-entry", "missing-field"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--competition", "3"), "--competition does not go with --protocol coco"),
        (("--classes", "car", "--image-set", "val"), "--image-set, --classes do not go with --protocol coco"),
        (("--image-set", "val"), "--image-set does not go with --protocol coco"),
        (("--classes", "car"), "--classes does not go with --protocol coco"),
        (("--bootstrap", "10"), "--bootstrap does not go with --protocol coco"),
    ],
)
def test_options_of_challenges_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: tuple[str, ...], message: str
) -> None:
    code, said = carry_out(capsys, *write(tmp_path, *draw_coco_set(3)), *more)

    assert (code, said["problems"][0]["message"]) == (2, message)


def test_a_folder_in_place_of_a_file_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = write(tmp_path, *draw_coco_set(3))

    code, said = carry_out(capsys, *words, "--results", tmp_path)

    assert (code, said["problems"][0]["code"]) == (2, "no-file")


@pytest.mark.parametrize("option", ["--masks", "--explain"])
def test_coco_options_are_refused_for_other_protocols(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    code, said = carry_out(capsys, "evaluate", "--truth", tmp_path, "--results", tmp_path, option)

    assert (code, said["problems"][0]["message"]) == (
        2,
        "--masks and --explain go with --protocol coco or lvis only",
    )


def test_all_missing_files_are_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    files = ("--truth", tmp_path / "truth.json", "--results", tmp_path / "found.json")

    code, said = carry_out(capsys, "evaluate", "--protocol", "coco", *files)

    assert code == 2
    assert [each["message"].rpartition("/")[2] for each in said["problems"]] == ["truth.json'", "found.json'"]
