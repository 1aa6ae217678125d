import json
from typing import Any

import pytest

from heldout_scoring.evaluation import evaluate_coco
from heldout_scoring.results import Result
from heldout_scoring.tasks.task import NO_NUMBER


def result_of(annotations: list[dict[str, Any]], detections: list[dict[str, Any]], **options: Any) -> Result:
    boxes = [{"image_id": 1, "category_id": 1, "iscrowd": 0} | each for each in annotations]
    truth = {
        "images": [{"id": 1, "width": 640, "height": 480}],
        "categories": [{"id": 1, "name": "car"}, {"id": 2, "name": "cat"}],
        "annotations": [
            {"id": number, "area": each["bbox"][2] * each["bbox"][3]} | each
            for number, each in enumerate(boxes, 1)
        ],
    }
    found = [{"image_id": 1, "category_id": 1, "score": 0.9} | each for each in detections]
    return evaluate_coco(json.dumps(found).encode(), json.dumps(truth).encode(), **options)


def sentences(result: Result, code: str) -> list[tuple[str, int, str]]:
    return [(each.class_name, each.count, each.message) for each in result.explain() if each.code == code]


def grid(count: int) -> list[dict[str, Any]]:
    return [{"bbox": [20 * (n % 30), 20 * (n // 30), 10, 10]} for n in range(count)]


def test_a_perfect_prediction_that_scores_1_needs_no_explanation() -> None:
    result = result_of(grid(1), grid(1))

    assert result.headline == pytest.approx(1)
    assert result.explain() == ()


def test_crowds_and_the_detections_they_absorb_are_explained() -> None:
    crowd = {"bbox": [0, 0, 100, 100], "iscrowd": 1}

    result = result_of([crowd], [crowd])

    assert result.headline is None
    assert sentences(result, "crowd") == [
        ("car", 1, "1 annotated crowd is ignored: crowds need not be found"),
        ("car", 1, "1 detection is ignored: matched to a crowd alone"),
    ]


def test_objects_without_an_area_are_explained_as_impossible_to_find() -> None:
    thin = {"bbox": [5, 5, 0, 30]}

    result = result_of([thin, *grid(1)], [thin, *grid(1)])

    assert result.figures["AR100"] == 0.5
    assert sentences(result, "area") == [("car", 1, "1 object is without an area, so that nothing can match")]


def test_an_annotated_area_in_another_size_range_than_its_box_is_explained() -> None:
    result = result_of([{"bbox": [0, 0, 40, 40], "area": 900}], [{"bbox": [0, 0, 40, 40]}])

    [(_, count, message)] = sentences(result, "area")
    assert (count, "another range of sizes" in message) == (1, True)
    assert result["car"].figures["APm"] is None


def test_having_more_objects_than_the_detection_limit_is_explained() -> None:
    result = result_of(grid(103), grid(103))

    assert result.figures["AR100"] == pytest.approx(100 / 103)
    assert sentences(result, "cap") == [
        ("car", 3, "3 objects are overlapped only by detections beyond the first 100"),
        ("car", 3, "3 detections are beyond the 100 of a class in an image that count"),
        ("car", 102, "102 objects are beyond the 1 of a class in an image, so that AR1 cannot be 1"),
        ("car", 93, "93 objects are beyond the 10 of a class in an image, so that AR10 cannot be 1"),
        ("car", 3, "3 objects are beyond the 100 of a class in an image, so that AR100 cannot be 1"),
    ]


def test_a_tie_between_objects_is_explained() -> None:
    objects = [{"bbox": [0, 0, 10, 20]}, {"bbox": [0, 10, 10, 20]}]

    result = result_of(objects, [{"bbox": [0, 5, 10, 20]}, objects[1] | {"score": 0.8}])

    assert ("car", 1, "1 detection is matched to the last of several objects of the same IoU") in sentences(
        result, "tie"
    )


def test_a_tie_between_true_and_false_positives_is_explained() -> None:
    result = result_of(grid(1), [{"bbox": [300, 300, 10, 10]}, *grid(1)])

    [(name, count, message)] = sentences(result, "tie")
    assert (name, count) == ("car", 2)
    assert "a confidence that true and false positives" in message


def test_annotations_with_the_id_0_are_explained() -> None:
    result = result_of([{"bbox": [0, 0, 10, 10], "id": 0}], grid(1))

    assert result.headline == 0
    assert sentences(result, "id") == [("car", 1, f"1 object is {NO_NUMBER}")]


def test_missed_objects_and_wrong_detections_are_explained_by_class() -> None:
    result = result_of(grid(2), [grid(2)[0], {"bbox": [300, 300, 10, 10], "category_id": 2, "score": 0.5}])

    assert sentences(result, "missed") == [("car", 1, "1 object is matched by no detection")]
    assert sentences(result, "wrong") == [("cat", 1, "1 detection is matched to no object")]
    assert result["cat"].score.reason == "no object of the class counts"


def test_masks_are_explained_by_their_own_area() -> None:
    square = {"segmentation": [[0, 0, 40, 0, 40, 40, 0, 40]], "bbox": [0, 0, 40, 40]}

    result = result_of([square | {"area": 100}], [square], masks=True)

    assert [count for _, count, _ in sentences(result, "area")] == [1]
    assert result.headline == pytest.approx(1)
