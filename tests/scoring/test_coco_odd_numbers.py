"""COCO's JSON with nonsensical numbers and lists, and large or empty sets."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from heldout_scoring.errors import Problems, SubmissionError
from heldout_scoring.metrics.coco import _stably_sorted, box_iou
from heldout_scoring.metrics.coco_tables import figures_of, tabulate_coco
from heldout_scoring.metrics.masks import mask_intersections, masks_of_counts
from heldout_scoring.readers.coco_json.detections import read_coco_detections
from heldout_scoring.readers.coco_json.instances import read_instances
from tests.scoring.coco_sets import Plain, boxes_of, detections_of, objects_of
from tests.scoring.test_coco_json import BOX, FOUND, TRUTH, instances, read

HUGE = 10**400


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"score": HUGE}, "expected a number"),
        ({"image_id": HUGE}, "expected a whole number"),
        ({"bbox": [1, 2, HUGE, 4]}, "expected four numbers"),
        ({"bbox": [1, 2, "5", 4]}, "expected four numbers"),
    ],
)
@pytest.mark.parametrize("other", [{}, {"note": "\ud800"}], ids=["fast", "exact"])
def test_numbers_with_hundreds_of_digits_are_refused(
    change: dict[str, Any], sentence: str, other: dict[str, Any]
) -> None:
    found, problems = read(json.dumps([FOUND | other, FOUND | change | other]).encode())

    assert len(found.detections) <= 1
    assert sentence in problems[0]


KEYPOINTS = {name: value for name, value in FOUND.items() if name != "bbox"} | {"keypoints": [1, 2, 2] * 17}
MASK = {"size": [4, 4], "counts": [0, 16]}
LACKING: dict[str, tuple[dict[str, Any], str]] = {
    "category": (
        {name: value for name, value in FOUND.items() if name != "category_id"},
        "'category_id' is missing, as in all 3 entries that were read; found 'image_id', 'bbox' and 'score'",
    ),
    "keypoints": (
        KEYPOINTS,
        (
            "'bbox' is missing, as in all 3 entries that were read; found 'image_id', 'category_id', 'score' and 'keypoints': "
            "this looks like keypoints, which are not scored"
        ),
    ),
    "captions": (
        {"image_id": 12, "caption": "a cat"},
        (
            "'category_id', 'score' and 'bbox' are missing, as in all 3 entries that were read; found 'image_id' and 'caption': "
            "this looks like captions, which are not scored"
        ),
    ),
    "panoptic": (
        {"image_id": 12, "segments_info": [], "category_id": 7, "score": 1},
        "this looks like panoptic segmentation, which is not scored",
    ),
    "masks": (
        {name: value for name, value in FOUND.items() if name != "bbox"} | {"segmentation": MASK},
        "this looks like masks, where boxes are asked for",
    ),
    "annotation": (
        {"id": 1, "image_id": 12, "category_id": 7, "bbox": [0, 0, 2, 2], "area": 4, "iscrowd": 0},
        "this looks like annotation in place of detections",
    ),
    "arrays": (
        {"boxes": [[1, 2, 3, 4]], "scores": [0.5], "labels": [7]},
        (
            "'image_id', 'category_id', 'score' and 'bbox' are missing, as in all 3 entries that were read; "
            "found 'boxes', 'scores' and 'labels'"
        ),
    ),
}


@pytest.mark.parametrize("form", LACKING)
def test_what_all_entries_lack_is_said_once_with_what_they_seem_to_be(form: str) -> None:
    entry, sentence = LACKING[form]
    problems = Problems()

    read_coco_detections(json.dumps([entry] * 3).encode(), TRUTH, file="a.json", problems=problems)

    [problem] = problems.listed
    assert (problem.code, problem.message.startswith("[0]"), problem.message.endswith(sentence)) == (
        "missing-field",
        True,
        True,
    )
    assert (problems.total, problems.notes) == (1, ())


def test_a_field_that_some_entries_lack_is_missing_from_each_of_them() -> None:
    _, problems = read(json.dumps([FOUND, KEYPOINTS, KEYPOINTS]).encode())

    assert problems == ["[1] (image 12): 'bbox' is missing", "[2] (image 12): 'bbox' is missing"]


@pytest.mark.parametrize("lists", [{"images": []}, {"categories": []}, {"images": {}}])
def test_that_there_are_no_images_or_categories_is_said_once(lists: dict[str, Any]) -> None:
    [(name, found)] = lists.items()
    field, value = {"images": ("image_id", 12), "categories": ("category_id", 7)}[name]

    with pytest.raises(SubmissionError) as refused:
        read_instances(instances(annotations=[BOX | {"id": number} for number in range(1, 6)], **lists))

    *first, last = [problem.message for problem in refused.value.problems]
    assert first == ([] if found == [] else ["expected a list called 'images'"])
    assert last.startswith("annotations[0] (id 1, ")
    assert last.endswith(f": '{field}' is {value}, but there are no {name}")


def test_what_all_annotations_lack_is_said_once() -> None:
    panoptic = {"image_id": 12, "segments_info": [{"id": 1, "category_id": 7}]}

    with pytest.raises(SubmissionError) as refused:
        read_instances(instances(annotations=[panoptic] * 3))

    [problem] = refused.value.problems
    assert problem.message.startswith(
        "annotations[0] (image 12): 'category_id', 'id', 'area' and 'bbox' are missing"
    )
    assert problem.message.endswith("this looks like panoptic segmentation, which is not scored")


def test_iscrowd_may_be_left_out() -> None:
    plain = {name: value for name, value in BOX.items() if name != "iscrowd"}

    assert read_instances(instances(annotations=[plain])).objects.crowd.tolist() == [False]


@pytest.mark.parametrize(
    "data",
    [
        instances().replace(b'"annotations": [', b'"annotations": [}'),
        instances().replace(b'"annotations": [', b'"annotations": 7, "others": ['),
        b'{"annotations": [{"id": 1}',
        b'{"images": 1}',
    ],
)
def test_an_annotation_that_is_truncated_or_not_a_list_is_refused(data: bytes) -> None:
    with pytest.raises((SubmissionError, ValueError)):
        read_instances(data)


def test_a_nested_annotation_list_is_not_the_annotation() -> None:
    nested = json.dumps({"info": {"annotations": [1]}}).encode()[:-1] + b", " + instances()[1:]

    assert read_instances(nested).objects.image.tolist() == [1]


def test_very_large_keys_are_sorted_stably() -> None:
    keys = np.array([2**61, 5, 2**61, 1], np.int64)

    found, places = _stably_sorted(keys)

    assert found.tolist() == [1, 5, 2**61, 2**61]
    assert places.tolist() == [3, 1, 0, 2]


def test_empty_masks_do_not_overlap() -> None:
    masks = masks_of_counts([[4], [4]], np.array([2, 2]), np.array([2, 2])).masks

    assert mask_intersections(masks, np.array([0]), np.array([1])).tolist() == [0]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"score": 1e305}, "expected a number"),
        ({"image_id": 12.5}, "expected a whole number"),
        ({"bbox": [1, 2, -5, 4]}, "expected four numbers"),
    ],
)
def test_odd_numbers_are_refused_by_the_fast_reader(change: dict[str, Any], sentence: str) -> None:
    _, problems = read(json.dumps([FOUND | change] * 3).encode())

    assert len(problems) == 3
    assert all(sentence in problem for problem in problems)


@pytest.mark.parametrize("field", ["bbox", "category_id"])
def test_the_fast_reader_reports_which_field_of_an_annotation_is_missing(field: str) -> None:
    plain = {name: value for name, value in BOX.items() if name != field}

    with pytest.raises(SubmissionError, match=f"'{field}' is missing"):
        read_instances(instances(annotations=[plain] * 2))


def test_the_fast_reader_refuses_an_annotation_with_an_invalid_box() -> None:
    with pytest.raises(SubmissionError, match="expected four numbers"):
        read_instances(instances(annotations=[BOX | {"bbox": [1, 2, -5, 4]}] * 2))


def test_an_entry_larger_than_a_block_is_read() -> None:
    found, problems = read(json.dumps([FOUND | {"note": "x" * (3 << 20)}, FOUND]).encode())

    assert (len(found.detections), problems) == (2, [])


def test_exempt_detections_without_a_match_are_ignored() -> None:
    truth: Plain = {
        "images": [{"id": 1, "width": 640, "height": 480}],
        "categories": [{"id": 1, "name": "car"}],
        "annotations": [BOX | {"image_id": 1, "category_id": 1, "bbox": [0, 0, 40, 40], "area": 1600}],
    }
    found = [
        {"image_id": 1, "category_id": 1, "bbox": [left, 0, 40, 40], "score": score}
        for left, score in ((300, 0.9), (0, 0.8))
    ]
    objects, detections = objects_of(truth), detections_of(truth, found)
    iou = box_iou(boxes_of(found), boxes_of(truth["annotations"]), objects.crowd)

    plain, exempt = (
        figures_of(tabulate_coco(replace(detections, exempt=flags), objects, iou, images=1, classes=1))
        for flags in (None, np.array([True, False]))
    )

    assert plain["AP"] == pytest.approx(0.5)
    assert exempt["AP"] == pytest.approx(1)
