from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heldout_scoring import Detections, GroundTruth, Result, evaluate, evaluate_coco, intervals_of
from heldout_scoring.errors import SubmissionError
from heldout_scoring.evaluation import missing_truth
from tests.scoring.coco_detectors import as_json, assert_equal, real_detections
from tests.scoring.coco_masks import compressed, draw_mask_set
from tests.scoring.coco_sets import FIGURES, Plain, draw_coco_set
from tests.scoring.conftest import ReadTruth, Unpack

STYLES: list[dict[str, Any]] = [{}, {"separators": (",", ":")}, {"indent": 2}, {"sort_keys": True}]


@pytest.mark.parametrize("style", STYLES, ids=str)
@pytest.mark.parametrize("seed", range(200, 206))
def test_box_files_score_as_in_the_official_program(seed: int, style: dict[str, Any]) -> None:
    truth, found = draw_coco_set(seed)

    result = evaluate_coco(as_json(found, **style), as_json(truth, **style))

    assert_equal(result, truth, found)


@pytest.mark.parametrize("seed", range(16))
def test_masks_score_as_in_the_official_program(seed: int) -> None:
    truth, found = draw_mask_set(seed)

    result = evaluate_coco(as_json(found), as_json(truth), masks=True)

    assert_equal(result, truth, found, "segm")


def test_boxes_given_with_masks_decide_the_size_of_a_detection() -> None:
    truth, found = draw_mask_set(3)
    boxed = [each | {"bbox": [0, 0, 40, 40]} for each in found]

    result = evaluate_coco(as_json(boxed), as_json(truth), masks=True)

    assert_equal(result, truth, boxed, "segm")


def test_detections_may_be_wrapped_in_an_object_with_annotations() -> None:
    truth, found = draw_coco_set(210)
    plain = evaluate_coco(as_json(found), as_json(truth))

    for wrapped in ({"annotations": found, "info": {}}, {"info": {"annotations": 1}, "annotations": found}):
        assert evaluate_coco(as_json(wrapped), as_json(truth)).figures == plain.figures


def test_the_receipt_depends_on_the_annotation_the_file_of_detections_and_the_kind() -> None:
    truth, found = draw_mask_set(1)
    for each in found:
        each["bbox"] = [0, 0, 10, 10]
    files = as_json(found), as_json(truth)
    truth["annotations"][0]["area"] += 1

    receipts = [
        evaluate_coco(*files).receipt,
        evaluate_coco(*files, masks=True).receipt,
        evaluate_coco(files[0], as_json(truth)).receipt,
        evaluate_coco(files[0] + b" ", files[1]).receipt,
    ]

    assert len(set(receipts)) == len(receipts)
    assert evaluate_coco(files[0], files[1] + b" ").receipt == receipts[0]


@pytest.mark.parametrize("masks", [False, True], ids=["boxes", "masks"])
def test_two_files_give_the_result_of_evaluate(tmp_path: Path, *, masks: bool) -> None:
    annotation, found = draw_mask_set(2)
    if not masks:
        annotation, found = draw_coco_set(2)
    path = tmp_path / "found.json"
    path.write_bytes(as_json(found))
    truth = GroundTruth.from_coco(annotation, masks=masks)

    result = evaluate_coco(path, annotation, masks=masks)

    number = 2 if masks else 1
    assert replace(result, competition=number) == evaluate(path, truth, protocol="coco", competition=number)
    assert {each.kind for each in result.exhibits} == {"score_table", "curve"}
    assert intervals_of(result, truth, replicates=20).rows


def test_ground_truth_without_masks_scores_boxes_alike_and_no_masks() -> None:
    annotation, found = draw_mask_set(3)
    truth = GroundTruth.from_coco(annotation, masks=False)

    assert missing_truth(truth)[2] == "no object has a segmentation"
    assert truth.fingerprint != GroundTruth.from_coco(annotation).fingerprint
    for each in found:
        each["bbox"] = [0, 0, 10, 10]
    scored = [
        evaluate(Detections.from_coco(found, one), one, protocol="coco")
        for one in (truth, GroundTruth.from_coco(annotation))
    ]
    assert scored[0].figures == scored[1].figures


def test_masks_need_no_boxes_in_the_annotation() -> None:
    annotation, found = draw_mask_set(4)
    figures = evaluate_coco(found, annotation, masks=True).figures
    for each in annotation["annotations"]:
        del each["bbox"]

    assert evaluate_coco(found, annotation, masks=True).figures == figures


def test_a_result_prints_all_figures_and_its_frame_has_those_of_each_class() -> None:
    truth, found = draw_coco_set(201)

    result = evaluate_coco(as_json(found), as_json(truth))
    frame = result.to_frame()

    assert f"AP {result.headline:.4f}  AP50" in str(result)
    assert frame.columns[5:] == list(FIGURES)
    assert frame["AP50"].to_list() == [result[name].figures["AP50"] for name in result]
    assert Result.from_json(result.to_json()) == result


@pytest.mark.sampled
@pytest.mark.shared
@pytest.mark.parametrize("detector", ["yolo2_e150", "darknet_hli"])
def test_real_detectors_score_as_in_the_official_program(
    detector: str, real_truth: ReadTruth, unpacked: Unpack
) -> None:
    """Uses every twentieth image; `tests/slow` uses all of them and another detector."""
    truth, found = real_detections(detector, real_truth, unpacked, every=20)

    result = evaluate_coco(as_json(found), as_json(truth))

    assert_equal(result, truth, found)


@pytest.mark.shared
def test_masks_of_the_synthetic_tree_score_as_in_the_official_program(real_truth: ReadTruth) -> None:
    maps = real_truth("synthetic_seed2012.tar.xz", "VOC2012", "val").tables.masks
    images: list[Plain] = []
    annotations: list[Plain] = []
    found: list[Plain] = []
    for image in range(1, len(maps) + 1):
        labels = maps[image - 1]
        images.append({"id": image, "width": labels.shape[1], "height": labels.shape[0]})
        for label in set(labels.ravel().tolist()) - {0, 255}:
            bits = labels == label
            common = {"image_id": image, "category_id": label}
            drawn = {"segmentation": compressed(bits), "area": float(bits.sum()), "bbox": [0, 0, 1, 1]}
            annotations.append(common | drawn | {"id": len(annotations) + 1, "iscrowd": int(image % 7 == 0)})
            for step in (0, 2, 9):
                moved = {
                    "segmentation": compressed(np.roll(bits, step, axis=1)),
                    "score": 1 / (1 + step + image % 3),
                }
                found.append(common | moved)
    categories = [{"id": label, "name": str(label)} for label in range(1, 21)]
    truth = {"images": images, "categories": categories, "annotations": annotations}

    result = evaluate_coco(as_json(found), as_json(truth), masks=True)

    assert len(annotations) > 10
    assert_equal(result, truth, found, "segm")


def test_all_problems_of_the_detections_are_reported() -> None:
    truth, _ = draw_coco_set(200)
    image, category = truth["images"][0]["id"], truth["categories"][0]["id"]
    right = {"image_id": image, "category_id": category, "bbox": [0, 0, 1, 1], "score": 1}

    with pytest.raises(SubmissionError) as refused:
        evaluate_coco(as_json([right | {"image_id": 999}, right | {"score": None}, right, 7]), as_json(truth))

    assert [problem.code for problem in refused.value.problems] == ["bad-entry", "unknown-image", "bad-score"]


@pytest.mark.parametrize("form", ["a list", "an object with all that the annotation has"])
def test_swapped_arguments_are_reported_as_swapped(form: str) -> None:
    truth, found = draw_coco_set(200)
    results = found if form == "a list" else truth | {"annotations": found}

    with pytest.raises(SubmissionError) as refused:
        evaluate_coco(as_json(truth), as_json(results))

    assert refused.value.problems[0].code == "swapped-files"
    assert str(refused.value.problems[0]) == (
        "the two files seem to be swapped: 'detections.json' is given as results and reads as annotation, "
        "'instances.json' is given as annotation and reads as results"
    )


def test_arguments_that_are_wrong_in_other_ways_are_not_reported_as_swapped() -> None:
    truth, found = draw_coco_set(200)

    for annotation, results in (
        (as_json(truth), as_json(truth)),
        (as_json(found), as_json(found)),
        (b"{}", b"[]"),
    ):
        with pytest.raises(SubmissionError) as refused:
            evaluate_coco(results, annotation)
        assert "swapped-files" not in {problem.code for problem in refused.value.problems}


def shift_ids(truth: Plain, found: list[Plain], by: int) -> tuple[Plain, list[Plain]]:
    """The same with ids that begin below 1."""

    def shifted(entries: list[Plain]) -> list[Plain]:
        return [
            {
                name: value - by if name == "id" or name.endswith("_id") else value
                for name, value in entry.items()
            }
            for entry in entries
        ]

    return {name: shifted(entries) for name, entries in truth.items()}, shifted(found)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(3000, 3250, 50))
def test_hundreds_of_box_files_score_as_in_the_official_program(first: int) -> None:
    for seed in range(first, first + 50):
        truth, found = shift_ids(*draw_coco_set(seed), by=seed % 5)

        result = evaluate_coco(as_json(found, **STYLES[seed % 3]), as_json(truth, **STYLES[seed % 4]))

        assert_equal(result, truth, found)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(3000, 3110, 55))
def test_a_hundred_of_mask_files_score_as_in_the_official_program(first: int) -> None:
    for seed in range(first, first + 55):
        truth, found = shift_ids(*draw_mask_set(seed), by=seed % 5)

        result = evaluate_coco(as_json(found), as_json(truth), masks=True)

        assert_equal(result, truth, found, "segm")
