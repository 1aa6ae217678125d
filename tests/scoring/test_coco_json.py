import json
import sys
from typing import Any

import numpy as np
import pytest

from heldout_scoring.errors import Problems, SubmissionError
from heldout_scoring.metrics.coco import CocoInstances, CocoResults
from heldout_scoring.readers.coco_json.content import CocoContent
from heldout_scoring.readers.coco_json.detections import read_coco_detections
from heldout_scoring.readers.coco_json.instances import read_instances
from heldout_scoring.readers.coco_json.records import Block, JsonError, read_records

IMAGES = [{"id": 12, "width": 20, "height": 10}, {"id": 3, "width": 20, "height": 10}]
CATEGORIES = [{"id": 7, "name": "car"}, {"id": 2, "name": "cat"}]
BOX = {"id": 1, "image_id": 12, "category_id": 7, "bbox": [1, 2, 5, 4], "area": 20, "iscrowd": 0}
FOUND = {"image_id": 12, "category_id": 7, "bbox": [1.5, 2, 5, 4], "score": 0.25}
MASK = {
    "image_id": 12,
    "category_id": 7,
    "segmentation": {"size": [10, 20], "counts": [50, 50, 100]},
    "score": 1,
}


def instances(**lists: Any) -> bytes:
    return json.dumps({"images": IMAGES, "categories": CATEGORIES, "annotations": [BOX]} | lists).encode()


TRUTH = read_instances(instances())


def read(data: bytes, *, masks: bool = False, truth: CocoInstances = TRUTH) -> tuple[CocoResults, list[str]]:
    problems = Problems()
    found = read_coco_detections(data, truth, file="d.json", problems=problems, masks=masks)
    return found, [problem.message for problem in problems.listed]


def test_what_stands_in_a_file_is_the_same_however_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    data = instances(annotations=[BOX, 7, MASK])

    fast = [*CocoContent.of(data).entries()]
    monkeypatch.setitem(sys.modules, "msgspec", None)

    assert [(each.place, each.id, each.has_mask) for each in fast] == [(0, 1, False), (2, None, True)]
    for each in (data, data.decode().encode("utf-16")):
        assert [*CocoContent.of(each).entries()] == fast


def test_entries_that_are_nested_too_deeply_are_refused() -> None:
    with pytest.raises(JsonError, match="nested too deeply"):
        _ = Block(0, [], b"[" * 100_000).entries


def test_images_and_classes_are_ordered_by_id() -> None:
    other = BOX | {"id": 5, "image_id": 3, "category_id": 2, "iscrowd": 1, "area": 9.5}

    found = read_instances(instances(annotations=[BOX, other]))

    assert (found.images.tolist(), found.categories.tolist(), found.classes) == (
        [3, 12],
        [2, 7],
        ("cat", "car"),
    )
    assert (found.objects.image.tolist(), found.objects.label.tolist()) == ([1, 0], [1, 0])
    assert (found.objects.area.tolist(), found.objects.crowd.tolist()) == ([20, 9.5], [False, True])
    assert found.boxes.tolist() == [[1, 2, 5, 4]] * 2


def test_detections_keep_the_order_of_the_file_and_the_area_of_their_boxes() -> None:
    found, problems = read(json.dumps([FOUND, FOUND | {"image_id": 3, "score": -1e-07}]).encode())

    assert not problems
    assert found.detections.image.tolist() == [1, 0]
    assert found.detections.confidence.tolist() == [0.25, -1e-07]
    assert found.detections.area.tolist() == [20, 20]
    assert found.boxes[0].tolist() == [1.5, 2, 5, 4]


@pytest.mark.parametrize("text", [b"[]", b" [ ] ", b'{"annotations": []}', b'{"info": 1, "annotations": []}'])
def test_an_empty_list_has_no_detections_and_no_problems(text: bytes) -> None:
    found, problems = read(text)

    assert (len(found.detections), problems) == (0, [])


def test_unknown_fields_are_ignored() -> None:
    rich = FOUND | {"id": 3, "segmentation": [], "area": "x", "name": 'a "quoted" }, {', "more": {"a": [1]}}

    found, problems = read(json.dumps([FOUND, rich, FOUND | {"id": 1}, FOUND], ensure_ascii=False).encode())

    assert (found.detections.confidence.tolist(), problems) == ([0.25] * 4, [])


def test_numbers_are_read_as_python_reads_them() -> None:
    scores = ["0.1", "1e-7", "1E+2", "-0.0", "123456789.123456789", "5e-324", "0.30000000000000004", "7"]
    texts = [f'{{"image_id":12,"category_id":7,"bbox":[1,2e0,3,4.5],"score":{score}}}' for score in scores]

    found, problems = read(f"[{','.join(texts)}]".encode())

    assert (found.detections.confidence.tolist(), problems) == (list(map(float, scores)), [])


def test_one_record_in_another_format_does_not_slow_down_the_rest() -> None:
    texts = [json.dumps(FOUND)] * 40_000
    texts[20_000] = json.dumps(FOUND | {"score": 0.5}, separators=(",", ":"))

    form = tuple((name, Any) for name in FOUND)
    blocks = list(read_records(f"[{', '.join(texts)}]".encode(), form))
    found, problems = read(f"[{', '.join(texts)}]".encode())

    assert sum(map(len, blocks)) == 40_000
    assert sum(bool(block.text) for block in blocks) > 1
    assert (np.flatnonzero(found.detections.confidence == 0.5).tolist(), problems) == ([20_000], [])


TEXT = json.dumps(FOUND)
NO_LIST = "expected a list of detections, or an object with such a list as 'annotations'"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "this is not JSON: "),
        ("{", "this is not JSON: "),
        ("7", NO_LIST),
        ('{"annotations": 7}', NO_LIST),
        ('{"results": []}', NO_LIST),
        ("[", "column 2 of this line (entry 0): expected a value, found the end of the file"),
        (f"[{TEXT}", "(entry 1): expected ',' or ']', found the end of the file"),
        (f"[{TEXT}, ]", "(entry 1): expected a value, found ']'"),
        (f"[{TEXT} {TEXT}]", "(entry 1): expected ',' or ']', found '{"),
        (f"[{TEXT}] 7", "of this line: expected the end of the file, found '7'"),
        (f'{{"annotations": [{TEXT}]', "this is not JSON: "),
        (f"[{TEXT.replace('0.25', 'NaN')}]", "(entry 0): NaN is no number"),
        (
            f"[{TEXT.replace('0.25', '0.2.5')}]",
            "(entry 0): expected ',' or the end of the list or object, found '.5}]'",
        ),
        (f"[{TEXT.replace('0.25', '')}]", "(entry 0): expected a value, found '}]'"),
        (f"[7, {'[' * 100_000}]", "this is not JSON: "),
    ],
)
def test_text_that_is_not_a_list_of_detections_is_refused(text: str, sentence: str) -> None:
    _, problems = read(text.encode())

    assert any(sentence in problem for problem in problems)


WRONG: list[tuple[Any, str]] = [
    (7, "expected an object, found 7"),
    ({"score": None}, "expected a number as 'score', found null"),
    ({"score": True}, "expected a number as 'score', found true"),
    ({"score": "1"}, "expected a number as 'score', found \"1\""),
    ({"score": 1e400}, "expected a number as 'score', found Infinity"),
    ({"score": 10**400}, "expected a number as 'score'"),
    ({"image_id": 99}, "'image_id' is 99, which is none of the 2 images"),
    ({"image_id": "12"}, "expected a whole number, without quotes, as 'image_id', found \"12\""),
    ({"image_id": 12.5}, "expected a whole number as 'image_id', found 12.5"),
    (
        {"image_id": 10**30},
        "expected a whole number from -9223372036854775808 to 9223372036854775807 as 'image_id'",
    ),
    ({"category_id": 99}, "'category_id' is 99, which is none of the 2 categories"),
    ({"bbox": [1, 2, 3]}, "expected four numbers, left, top, width and height"),
    ({"bbox": [1, 2, -3, 4]}, "expected four numbers, left, top, width and height"),
    ({"bbox": [1, 2, 3, 1e30]}, "expected four numbers, left, top, width and height"),
    ({"bbox": "x"}, "expected four numbers, left, top, width and height"),
]


@pytest.mark.parametrize(("change", "sentence"), WRONG)
def test_an_invalid_detection_is_reported_and_the_others_are_read(change: Any, sentence: str) -> None:
    wrong = FOUND | change if isinstance(change, dict) else change

    found, [problem] = read(json.dumps([FOUND, wrong, FOUND]).replace("Infinity", "1e400").encode())

    place, _, said = problem.partition(": ")
    assert place.startswith("[1]")
    assert said.startswith(sentence)
    assert len(found.detections) == 2


@pytest.mark.parametrize("field", FOUND)
def test_a_missing_field_is_reported(field: str) -> None:
    short = {name: value for name, value in FOUND.items() if name != field}

    for entries in ([short], [FOUND, short]):
        _, [problem] = read(json.dumps(entries).encode())

        image = "" if field == "image_id" else " (image 12)"
        assert problem == f"[{len(entries) - 1}]{image}: '{field}' is missing"


def test_an_id_may_be_written_as_a_float() -> None:
    found, problems = read(json.dumps([FOUND | {"image_id": 12.0, "category_id": 7.0}]).encode())

    assert (found.detections.image.tolist(), found.detections.label.tolist(), problems) == ([1], [1], [])


@pytest.mark.parametrize("key", ['"scor3"', '"3score"', '"scor-e"', '"scor.e"', '"sc0re"', '"Score"'])
def test_a_key_with_digits_or_signs_in_it_is_a_different_key(key: str) -> None:
    other = TEXT.replace('"score"', key)

    _, [problem] = read(f"[{TEXT}, {other}]".encode())

    assert problem == "[1] (image 12): 'score' is missing"


MASKS = read_instances(
    instances(annotations=[BOX | {"segmentation": [[1, 2, 6, 2, 6, 6, 1, 6]]}]), masks=True
)


def test_masks_are_read_in_every_form() -> None:
    forms: list[Any] = [
        MASK["segmentation"],
        {"size": [10, 20], "counts": "b1b1T3"},
        [[0, 0, 5, 0, 5, 10, 0, 10]],
    ]

    found, problems = read(
        json.dumps([MASK | {"segmentation": form} for form in forms]).encode(), masks=True, truth=MASKS
    )

    assert problems == []
    assert found.masks is not None
    assert found.masks.area.tolist() == [50, 50, 50]
    assert found.detections.area.tolist() == [50, 50, 50]
    assert MASKS.masks is not None
    assert MASKS.masks.area.tolist() == [20]


@pytest.mark.parametrize(
    ("segmentation", "sentence"),
    [
        (
            {"size": [20, 10], "counts": [200]},
            "'size' is [20, 10], but the image's height and width are 10, 20",
        ),
        ({"size": [10, 20], "counts": [7]}, "'counts' are no run lengths that cover the image exactly"),
        ({"size": [10, 20], "counts": "7 7"}, "'counts' are no run lengths that cover the image exactly"),
        ({"size": [10, 20]}, "expected polygons"),
        ({"size": [10, 20], "counts": [-1]}, "expected polygons"),
        ({"size": [10], "counts": [7]}, "expected polygons"),
        ([[1, 2, 3, 4]], "expected polygons"),
        ([[1, 2, 3, 4, 5, 6, 7]], "expected polygons"),
        ([[1, 2, 3, 4, 5, 1e9]], "expected polygons"),
        ([], "expected polygons"),
        ("x", "expected polygons"),
        (None, "expected polygons"),
    ],
)
def test_an_invalid_mask_is_reported_and_the_others_are_read(segmentation: Any, sentence: str) -> None:
    entries = [MASK, MASK | {"segmentation": segmentation}, MASK]

    found, [problem] = read(json.dumps(entries).encode(), masks=True, truth=MASKS)

    assert problem.startswith(f"[1] (image 12): {sentence}")
    assert found.masks is not None
    assert found.masks.area.tolist() == [50, 50]


def test_boxes_are_not_accepted_as_masks() -> None:
    _, [problem] = read(json.dumps([FOUND]).encode(), masks=True, truth=MASKS)

    assert problem.startswith("[0] (image 12): 'segmentation' is missing; found 'image_id', ")
    assert problem.endswith(": this looks like boxes, where masks are asked for")


@pytest.mark.parametrize(
    ("data", "sentences"),
    [
        (b"{", ["this is not JSON"]),
        (b'{"annotations": [1 2]}', ["this is not JSON"]),
        (b"[]", ["expected an object with 'images', 'categories' and 'annotations'"]),
        (b'{"images": NaN}', ["this is not JSON: column 12 of this line: NaN is no number"]),
        (b"{}", [f"expected a list called '{name}'" for name in ("images", "categories", "annotations")]),
        (instances(images=[*IMAGES, IMAGES[0]]), ["images[2] (id 12): 'id' is 12 like one before"]),
        (
            instances(categories=[*CATEGORIES, {"id": 9, "name": " car"}]),
            ["categories[2] (id 9): 'name' is 'car' like one"],
        ),
        (instances(categories=[{"id": 7}]), ["categories[0] (id 7): 'name' is missing"]),
        (instances(annotations=[BOX, BOX]), ["annotations[1] (id 1, image 12): 'id' is 1 like one before"]),
        (
            instances(annotations=[BOX | {"image_id": 1, "bbox": 0}, BOX | {"area": None, "id": 2}]),
            [
                "annotations[0] (id 1, image 1): 'image_id' is 1, which",
                "annotations[1] (id 2, image 12): expected a number from 0 as 'area', found null",
                "annotations[0] (id 1, image 1): expected four numbers",
            ],
        ),
    ],
)
def test_all_problems_of_the_annotation_are_reported(data: bytes, sentences: list[str]) -> None:
    with pytest.raises(SubmissionError) as refused:
        read_instances(data)

    messages = [problem.message for problem in refused.value.problems]
    assert [m[: len(s)] for m, s in zip(messages, sentences, strict=True)] == sentences


def test_masks_need_the_size_of_every_image() -> None:
    drawn = BOX | {"segmentation": [[1, 2, 6, 2, 6, 6]]}

    with pytest.raises(SubmissionError, match="'width' is missing"):
        read_instances(instances(images=[{"id": 12, "height": 4}], annotations=[drawn]), masks=True)
    with pytest.raises(SubmissionError, match=r"expected width and height from 1 to 65536, found \[0, 4\]"):
        read_instances(
            instances(images=[{"id": 12, "height": 4, "width": 0}], annotations=[drawn]), masks=True
        )


def test_list_elements_that_are_not_objects_are_read() -> None:
    assert [block.entries for block in read_records(b"[1, 2]")] == [[1, 2]]
    with pytest.raises(JsonError):
        list(read_records(b"[12"))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"area": 1e301},
            "annotations[1] (id 2, image 12): expected a number from 0 as 'area', found 1e+301",
        ),
        ({"area": 10**400}, "annotations[1] (id 2, image 12): expected a number from 0 as 'area'"),
        (
            {"area": 10**400, "note": ""},
            "annotations[1] (id 2, image 12): expected a number from 0 as 'area'",
        ),
        ({"bbox": [1, 2, 3, 10**400], "note": ""}, "annotations[1] (id 2, image 12): expected four numbers"),
        ({"bbox": [1, 2, -3, 4]}, "annotations[1] (id 2, image 12): expected four numbers"),
        ({"bbox": [1, 2, 3, 10**400]}, "annotations[1] (id 2, image 12): expected four numbers"),
        ({"bbox": [1, 2, 3, True]}, "annotations[1] (id 2, image 12): expected four numbers"),
    ],
)
def test_numbers_of_the_annotation_have_bounds(change: Any, sentence: str) -> None:
    with pytest.raises(SubmissionError) as refused:
        read_instances(instances(annotations=[BOX, BOX | {"id": 2} | change]))

    assert [problem.message[: len(sentence)] for problem in refused.value.problems] == [sentence]


def test_an_annotation_needs_an_id_and_is_not_a_crowd_by_default() -> None:
    plain = {name: value for name, value in BOX.items() if name != "iscrowd"}

    assert read_instances(instances(annotations=[plain])).objects.crowd.tolist() == [False]
    with pytest.raises(SubmissionError, match=r"annotations\[0\] \(image 12\): 'id' is missing"):
        read_instances(instances(annotations=[{name: plain[name] for name in plain if name != "id"}]))


def test_a_nested_list_called_annotations_is_not_the_annotation_list() -> None:
    text = json.dumps({"info": {"annotations": [1]}} | json.loads(instances()))

    assert len(read_instances(text.encode()).objects.image) == 1


def test_an_entry_larger_than_a_block_is_read() -> None:
    found, problems = read(json.dumps([FOUND, FOUND | {"note": "x" * 3_000_000}, FOUND]).encode())

    assert (len(found.detections), problems) == (3, [])


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({}, "annotations[1] (id 2, a/b.jpg)"),
        ({"id": "x\n"}, "annotations[1] (id x\\n, a/b.jpg)"),
        ({"id": None}, "annotations[1] (a/b.jpg)"),
        ({"image_id": 99}, "annotations[1] (id 2, image 99)"),
    ],
)
def test_a_problem_names_path_identifier_and_image(change: dict[str, Any], place: str) -> None:
    images = [{"id": 12, "file_name": "a/b.jpg"}]
    wrong = BOX | {"id": 2, "area": None} | change

    with pytest.raises(SubmissionError) as refused:
        read_instances(instances(images=images, annotations=[BOX, wrong]))

    assert {problem.message.partition(": ")[0] for problem in refused.value.problems} == {place}


def test_the_path_of_a_detection_starts_with_its_list() -> None:
    wrong = FOUND | {"id": 887, "score": None}

    _, [alone] = read(json.dumps([wrong]).encode())
    _, [inside] = read(json.dumps({"annotations": [FOUND, wrong]}).encode())

    assert alone == "[0] (id 887, image 12): expected a number as 'score', found null"
    assert inside == "annotations[1] (id 887, image 12): expected a number as 'score', found null"
