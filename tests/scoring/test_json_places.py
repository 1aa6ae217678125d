"""Where JSON is broken: the line and the column of the file, in words without Python's."""

import json
from pathlib import Path
from typing import Any

import pytest

from heldout_scoring import (
    DataError,
    Detections,
    GroundTruth,
    Problem,
    SubmissionError,
    evaluate,
    evaluate_coco,
    validate,
)
from heldout_scoring.command_line import main
from heldout_scoring.errors import Problems
from heldout_scoring.readers.coco_json.detections import read_coco_detections
from heldout_scoring.readers.coco_json.instances import read_instances

BOX = {"image_id": 1, "category_id": 1, "bbox": [10, 10, 100, 100]}
IMAGES = [{"id": 1, "width": 640, "height": 480, "file_name": "1.jpg"}]
CATEGORIES = [{"id": 1, "name": "cat"}]
ANNOTATED = {
    "images": IMAGES,
    "categories": CATEGORIES,
    "annotations": [{**BOX, "id": n, "area": 9.5} for n in (1, 2, 3)],
}
FOUND = [{**BOX, "score": 0.9}, {**BOX, "score": 0.8}] * 3
RESULTS, TRUTH = json.dumps(FOUND, indent=2), json.dumps(ANNOTATED, indent=1)
INSIDES = ("sys.", "recursion", "codec", "Expecting", "delimiter", "char ", "Exceeds", "escape:", "NoneType")


def broken(text: str) -> dict[str, str]:
    """The text, broken in many ways."""
    cut = "\n".join(text.split("\n")[:36])
    return {
        "two commas": text.replace('"bbox": [', '"bbox": [,,', 2).replace('"bbox": [,,', '"bbox": [', 1),
        "truncated": cut,
        "truncated in a text": cut[: cut.rindex('"')],
        "garbage": text + "\n\nxx",
        "further data": text + "\n[]",
        "comma at the end": text[:-1].rstrip() + ",\n" + text[-1],
        "comma in an object": text.replace("}", ",}", 1),
        "single quotes": text.replace('"image_id"', "'image_id'", 1),
        "no colon": text.replace('"image_id":', '"image_id"', 1),
        "line break in a text": text.replace('"image_id"', '"image\nid"', 1),
        "backslash": text.replace('"image_id"', '"image\\qid"', 1),
        "point": text.replace("10,", "10.,", 1),
        "page": "<html>\n</html>",
    }


def place_by_python(text: str) -> int:
    with pytest.raises(json.JSONDecodeError) as refused:
        json.loads(text)
    return refused.value.lineno


def problem_of_results(data: bytes) -> Problem:
    problems = Problems()
    truth = read_instances(json.dumps(ANNOTATED).encode())
    read_coco_detections(data, truth, file="d.json", problems=problems)
    return problems.listed[-1]


def problem_of_annotation(data: bytes) -> Problem:
    with pytest.raises(SubmissionError) as refused:
        read_instances(data)
    return refused.value.problems[0]


@pytest.mark.parametrize("name", broken(RESULTS))
def test_the_line_is_that_of_the_file(name: str) -> None:
    results, truth = broken(RESULTS)[name], broken(TRUTH)[name]

    found = [
        (results, problem_of_results(results.encode())),
        ('{"annotations": ' + results, problem_of_results(f'{{"annotations": {results}'.encode())),
        ("\n\n" + truth, problem_of_annotation(f"\n\n{truth}".encode())),
    ]

    for text, problem in found:
        assert problem.code == "bad-json"
        assert problem.line == place_by_python(text), problem
        assert not any(word in problem.message for word in INSIDES), problem


@pytest.mark.sampled
def test_the_line_is_counted_over_all_blocks_of_a_large_file() -> None:
    many = json.dumps(FOUND * 20_000, indent=1)
    place = many.rindex('"score"')
    text = many[:place] + "}" + many[place:]

    problem = problem_of_results(text.encode())

    assert problem.line == place_by_python(text)
    assert '(entry 119999): expected a name in double quotes, found \'}"score"' in problem.message


@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        ("NaN", "column 14 of this line (entry 1): NaN is no number"),
        ("-Infinity", "column 14 of this line (entry 1): -Infinity is no number"),
        ('"NaN", "x": NaN', "column 26 of this line (entry 1): NaN is no number"),
        (
            "1" * 5_000 + ', "x": "' + "2" * 5_000 + '"',
            "column 14 of this line (entry 1): a number has more than 4,300 digits",
        ),
        ("[" * 100_000, "(entry 1): lists and objects are nested too deeply"),
    ],
    ids=["NaN", "infinity", "in-a-text", "digits", "deep"],
)
def test_values_that_cannot_be_read_are_named(number: str, sentence: str) -> None:
    problem = problem_of_results(RESULTS.replace("0.8", number, 1).encode())

    assert sentence in problem.message
    assert not any(word in problem.message for word in INSIDES)


@pytest.mark.parametrize(
    "value", [b'{"a": "\xff"}', b'{"images":\n "\xff"}', b"\xff\xfe\x00"], ids=["one", "two", "short"]
)
def test_a_text_in_no_encoding_is_refused(value: bytes) -> None:
    problem = problem_of_annotation(value)

    assert (problem.line, "expected a text in UTF-8" in problem.message) == (value.count(b"\n") + 1, True)


@pytest.mark.parametrize("content", [b"[{]", b"{}", b'{"images": []}', b"[7]", b"", b'[{"x": 1}]'])
def test_a_fault_in_the_only_file_is_the_only_problem(content: bytes, tmp_path: Path) -> None:
    truth = GroundTruth.from_coco(ANNOTATED)
    (tmp_path / "mine.json").write_bytes(content)

    report = validate(tmp_path, truth.description)
    with pytest.raises(SubmissionError) as refused:
        evaluate(tmp_path, truth, protocol="coco", competition=1)

    for problems in (report.problems, refused.value.problems):
        assert [each.code in ("bad-json", "bad-entry") for each in problems] == [True], problems


def test_a_folder_without_a_json_file_has_no_results(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")

    [problem] = validate(tmp_path, GroundTruth.from_coco(ANNOTATED).description).problems

    assert problem.code == "no-results"


RANGE = "expected a whole number from -9223372036854775808 to 9223372036854775807 as "


@pytest.mark.parametrize(
    ("images", "annotation", "sentence"),
    [
        ({"id": 2**63 + 5}, {}, f"{RANGE}'id', found 9223372036854775813"),
        ({}, {"id": 2**100}, f"{RANGE}'id', found {2**100}"),
        ({}, {"id": -(2**63) - 1}, f"{RANGE}'id', found -9223372036854775809"),
        ({"id": 1e18}, {}, "expected a whole number in digits (with a point or an exponent it is exact up to 2^53 only) as 'id'"),
        ({"id": "img_0a"}, {}, "expected a whole number (texts are no ids here) as 'id', found \"img_0a\""),
        ({"id": "1"}, {}, "expected a whole number, without quotes, as 'id', found \"1\""),
        ({}, {"image_id": "1.jpg"}, "expected 1, the 'id' of the image with this 'file_name', as 'image_id', found \"1.jpg\""),
        ({}, {"image_id": None}, "expected a whole number as 'image_id', found null"),
    ],
)  # fmt: skip
def test_what_is_no_id_is_said(images: dict[str, Any], annotation: dict[str, Any], sentence: str) -> None:
    first, *others = ANNOTATED["annotations"]
    truth = {
        **ANNOTATED,
        "images": [{**IMAGES[0], **images}],
        "annotations": [{**first, **annotation}, *others],
    }

    with pytest.raises(SubmissionError) as refused:
        GroundTruth.from_coco(truth)

    assert sentence in str(refused.value)


@pytest.mark.parametrize("number", [2**53 + 1, 2**63 - 1, -(2**63), 0])
def test_ids_of_64_bits_are_read_beside_numbers_with_a_point(number: int) -> None:
    truth = {**ANNOTATED, "images": [{"id": number}, {"id": 5.0}], "annotations": []}

    assert GroundTruth.from_coco(truth).lists.images == tuple(map(str, sorted((number, 5))))


def test_the_name_of_a_file_is_told_from_the_id_of_its_image() -> None:
    with pytest.raises(
        SubmissionError, match="expected 1, the 'id' of the image with this 'file_name', as 'image_id'"
    ):
        evaluate_coco([{**FOUND[0], "image_id": "1.jpg"}], ANNOTATED)
    with pytest.raises(SubmissionError, match=r"texts are no ids here\) as 'image_id', found \"2.jpg\""):
        evaluate_coco([{**FOUND[0], "image_id": "2.jpg"}], ANNOTATED)


def test_two_categories_of_one_name_are_refused_with_the_reason() -> None:
    truth = {**ANNOTATED, "categories": [*CATEGORIES, {"id": 2, "name": "cat"}]}

    with pytest.raises(
        SubmissionError, match="like one before; classes are told apart by their names here, so each needs"
    ):
        GroundTruth.from_coco(truth)


@pytest.mark.parametrize("masks", ["bbox", "segm", "keypoints", 1, None])
def test_masks_is_a_truth_value(masks: Any) -> None:
    with pytest.raises(DataError, match="expected True for masks or False for boxes as 'masks', found"):
        evaluate_coco(FOUND, ANNOTATED, masks=masks)


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (
            {(1, 2): 3},
            "expected a path, JSON, or lists and mappings of numbers and texts, found tuple as a key",
        ),
        ([{"score": 1j}], "expected a path, JSON, or lists and mappings of numbers and texts, found complex"),
        (
            [{"x": 10**5_000}],
            "expected a path, JSON, or lists and mappings of numbers and texts, found a list or mapping that holds itself, or a number of more than",
        ),
        ([{"x": {1, 2}}], "expected a path, JSON, or lists and mappings of numbers and texts, found set"),
    ],
    ids=["key", "complex", "digits", "set"],
)
def test_values_without_a_form_in_json_are_refused(value: Any, sentence: str) -> None:
    with pytest.raises(DataError) as refused:
        evaluate_coco(value, ANNOTATED)

    assert str(refused.value).startswith(sentence)


def test_values_that_have_no_end_are_refused() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    circle: list[Any] = []
    circle.append(circle)

    for value, sentence in (
        (deep, "lists and mappings that are nested too deeply"),
        (circle, "a list or mapping that holds itself"),
    ):
        with pytest.raises(DataError, match=f"numbers and texts, found {sentence}"):
            evaluate_coco(value, ANNOTATED)


@pytest.mark.parametrize("key", ["keypoints", "num_keypoints"])
def test_keypoints_are_said_not_to_be_scored(
    key: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    truth = GroundTruth.from_coco(ANNOTATED)
    more: list[dict[str, Any]] = [{key: [1, 2, 2] * 17}, {key: [1, 2, 2] * 17, "note": "x"}]
    said = {"keypoints": ["the detections have 'keypoints', which are not scored; their boxes are"]}.get(
        key, []
    )

    for each in more:
        found = [{**entry, **each} for entry in FOUND]
        (tmp_path / "r.json").write_text(json.dumps(found))
        (tmp_path / "t.json").write_text(json.dumps(ANNOTATED))
        report = validate(tmp_path / "r.json", truth.description)
        result = evaluate(tmp_path / "r.json", truth, protocol="coco", competition=1)
        code = main(
            [
                "evaluate",
                "--protocol",
                "coco",
                "--truth",
                str(tmp_path / "t.json"),
                "--results",
                str(tmp_path / "r.json"),
            ]
        )

        assert report.valid
        assert [note.message for note in report.notes if note.code == "keypoints-not-scored"] == said
        assert [note.message for note in result.notes] == said
        assert [note.message for note in evaluate_coco(found, ANNOTATED).notes] == said
        assert code == 0
        assert [note["message"] for note in json.loads(capsys.readouterr().out)["notes"]] == said


BOXES = [[0, 0, 10, 10], [5, 5, 9, 9]]


def test_classes_may_be_a_mapping_of_numbers_to_names() -> None:
    numbers = {7: "cat", 90: "dog"}
    truth = GroundTruth.from_arrays(["a", "a"], [90, 7], BOXES, convention="half-open", classes=numbers)
    found = Detections.from_arrays(["a"], [90], [0.9], BOXES[:1], classes={90: "dog"})

    result = evaluate(found, truth, protocol="coco")

    assert truth.lists.classes == ("cat", "dog")
    assert {each.name: each.value for each in result.classes} == {"cat": 0.0, "dog": pytest.approx(1)}


@pytest.mark.parametrize(
    ("classes", "sentence"),
    [
        ({7: "cat"}, "unknown 'label': 90; 'classes' has 7"),
        ({"cat": 7, "dog": 90}, "expected whole numbers with a name each in 'classes', or a list of names, found 'cat' with 7: turn it round"),
        ({7: "cat", 90: "cat"}, "'cat' stands twice among the names of 'classes'"),
        ({7: "cat", 90: 3}, "expected texts as the names of 'classes', found 3"),
        ("cat", "expected a list in 'classes', found 'cat'"),
        ({"cat", "dog"}, "expected a list in 'classes', found set, which has no order"),
    ],
)  # fmt: skip
def test_classes_of_another_form_are_refused_by_the_name_of_the_argument(classes: Any, sentence: str) -> None:
    with pytest.raises(DataError) as refused:
        GroundTruth.from_arrays(["a", "a"], [7, 90], BOXES, convention="half-open", classes=classes)

    assert str(refused.value) == sentence


def test_numbers_without_the_names_that_they_count_are_explained() -> None:
    names: dict[str, Any] = {"images": ["a"], "classes": ["x"]}
    truth = GroundTruth.from_arrays([0], [0], BOXES[:1], convention="half-open", **names)

    for left_out, sentence in (
        (
            "images",
            "the ground truth has no image '0'; it has a; numbers are names, unless `images=` lists what they count",
        ),
        (
            "classes",
            "the ground truth has no class '0'; it has x; numbers are names, unless `classes=` lists what they count",
        ),
    ):
        given = {name: value for name, value in names.items() if name != left_out}
        found = Detections.from_arrays([0], [0], [0.9], BOXES[:1], **given)
        with pytest.raises(DataError) as refused:
            evaluate(found, truth, protocol="coco")
        assert str(refused.value) == sentence
