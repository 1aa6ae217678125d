"""Fields of COCO's JSON that are not what they claim to be."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from heldout_scoring import Detections, GroundTruth, SubmissionError, evaluate_coco, validate
from heldout_scoring.command_line import main
from heldout_scoring.errors import Problems
from heldout_scoring.readers.coco_json.instances import read_instances

IMAGES = [
    {"id": 1, "width": 640, "height": 480, "file_name": "1.jpg"},
    {"id": 2, "width": 640, "height": 480, "file_name": "2.jpg"},
]
BOXES = [[10, 10, 100, 100], [50, 60, 80, 90]]
TRUTH: dict[str, Any] = {
    "images": IMAGES,
    "categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}],
    "annotations": [
        {"id": n, "image_id": n, "category_id": n, "bbox": box, "area": box[2] * box[3], "iscrowd": 0}
        for n, box in enumerate(BOXES, 1)
    ],
}
FOUND = [{"image_id": n, "category_id": n, "bbox": box, "score": 0.9} for n, box in enumerate(BOXES, 1)]
FAST: dict[str, Any] = {}
EXACT = {"note": "\ud800"}  # half a character, which the fast parser does not read
WAYS = pytest.mark.parametrize("more", [FAST, EXACT], ids=["fast", "exact"])
LVIS: dict[str, Any] = {"neg_category_ids": [], "not_exhaustive_category_ids": []}

SIDES = (
    "expected four numbers, left, top, width and height, neither of the last two below 0, as 'bbox', found "
)
WRONG_RESULTS: Mapping[str, tuple[Mapping[str, Any], str]] = {
    "rotated": ({"bbox": [10, 10, 100, 100, 45.0]}, SIDES + "5 values"),
    "corners": ({"bbox": [10, 10, 110, 10, 110, 110, 10, 110]}, SIDES + "8 values"),
    "short": ({"bbox": [10, 10, 100]}, SIDES + "3 values"),
    "no-side": ({"bbox": []}, SIDES + "0 values"),
    "one-side": ({"bbox": 10}, SIDES + "10"),
    "nested": ({"bbox": [[10, 10, 100, 100]]}, SIDES + "1 value"),
    "scores": ({"score": [0.9]}, "expected a number as 'score', found 1 value, [0.9]"),
    "two-scores": ({"score": [0.1, 0.9]}, "expected a number as 'score', found 2 values"),
    "no-score": ({"score": []}, "expected a number as 'score', found 0 values"),
    "image": ({"image_id": [1]}, "expected a whole number as 'image_id', found 1 value"),
    "category": ({"category_id": [1]}, "expected a whole number as 'category_id', found 1 value"),
    "part": ({"category_id": 1.5}, "expected a whole number as 'category_id', found 1.5"),
}
WRONG_ANNOTATIONS: Mapping[str, tuple[Mapping[str, Any], str]] = {
    "rotated": ({"bbox": [10, 10, 100, 100, 45.0]}, SIDES + "5 values"),
    "corners": ({"bbox": [10, 10, 110, 10, 110, 110, 10, 110]}, SIDES + "8 values"),
    "no-side": ({"bbox": []}, SIDES + "0 values"),
    "areas": ({"area": [100]}, "expected a number from 0 as 'area', found 1 value"),
    "negative-area": ({"area": -100}, "expected a number from 0 as 'area', found -100"),
    "two-crowds": ({"iscrowd": 2}, "expected 0 or 1 as 'iscrowd', found 2"),
    "crowds": ({"iscrowd": [1]}, "expected 0 or 1 as 'iscrowd', found 1 value"),
    "no-crowd": ({"iscrowd": []}, "expected 0 or 1 as 'iscrowd', found 0 values"),
    "half-a-crowd": ({"iscrowd": 0.5}, "expected 0 or 1 as 'iscrowd', found 0.5"),
    "difficult": ({"difficult": [1]}, "expected 0 or 1 as 'difficult', found 1 value"),
    "ignored": ({"ignore": -1}, "expected 0 or 1 as 'ignore', found -1"),
    "text": ({"ignore": "1"}, "expected 0 or 1 as 'ignore', found \"1\""),
    "image": ({"image_id": [1]}, "expected a whole number as 'image_id', found 1 value"),
    "id": ({"id": [7]}, "expected a whole number as 'id', found 1 value"),
}


def as_bytes(value: Any) -> bytes:
    return json.dumps(value).encode()


def annotation(change: Mapping[str, Any]) -> dict[str, Any]:
    return TRUTH | {"annotations": [{**each, **change} for each in TRUTH["annotations"]]}


def lvis(truth: dict[str, Any]) -> dict[str, Any]:
    return truth | {
        "images": [each | LVIS for each in IMAGES],
        "categories": [each | {"frequency": "f"} for each in TRUTH["categories"]],
    }


def messages(error: SubmissionError) -> str:
    return "\n".join(each.message for each in error.problems)


@WAYS
@pytest.mark.parametrize(("change", "sentence"), WRONG_RESULTS.values(), ids=WRONG_RESULTS)
def test_results_with_a_wrong_field_in_every_entry_are_refused_by_every_way_in(
    change: Mapping[str, Any],
    sentence: str,
    more: dict[str, Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = [{**each, **change, **more} for each in FOUND]
    truth = GroundTruth.from_coco(TRUTH)
    (tmp_path / "results.json").write_bytes(as_bytes(found))
    (tmp_path / "truth.json").write_bytes(as_bytes(TRUTH))

    refusals = []
    for score in (
        lambda: evaluate_coco(found, TRUTH),
        lambda: evaluate_coco(found, lvis(TRUTH), protocol="lvis"),
        lambda: Detections.from_coco(found, truth),
    ):
        with pytest.raises(SubmissionError) as refused:
            score()
        refusals.append(messages(refused.value))
    report = validate(tmp_path / "results.json", truth.description)
    refusals.append("\n".join(each.message for each in report.problems))
    files = ["--truth", str(tmp_path / "truth.json"), "--results", str(tmp_path / "results.json")]
    assert main(["evaluate", "--protocol", "coco", *files]) == 2
    refusals.append("\n".join(each["message"] for each in json.loads(capsys.readouterr().out)["problems"]))

    for refusal in refusals:
        assert refusal.count(sentence) == len(FOUND), refusal


@WAYS
@pytest.mark.parametrize(("change", "sentence"), WRONG_ANNOTATIONS.values(), ids=WRONG_ANNOTATIONS)
def test_annotation_with_a_wrong_field_in_every_entry_is_refused(
    change: Mapping[str, Any], sentence: str, more: dict[str, Any]
) -> None:
    truth = annotation({**change, **more})

    for read in (
        lambda: GroundTruth.from_coco(truth),
        lambda: GroundTruth.from_coco(lvis(truth)),
        lambda: evaluate_coco(FOUND, truth),
        lambda: read_instances(as_bytes(truth), problems=Problems()),
    ):
        with pytest.raises(SubmissionError) as refused:
            read()
        assert messages(refused.value).count(sentence) >= 1, messages(refused.value)


@WAYS
@pytest.mark.parametrize("flag", [1, 1.0, True], ids=["one", "float", "true"])
def test_flags_are_0_or_1_or_truth_values(flag: Any, more: dict[str, Any]) -> None:
    truth = read_instances(as_bytes(annotation({"iscrowd": flag, "difficult": flag, **more})))

    assert truth.objects.crowd.tolist() == [True, True]
    assert truth.difficult is not None
    assert truth.difficult.tolist() == [True, True]


@WAYS
def test_an_empty_list_in_every_entry_stays_an_empty_list(more: dict[str, Any]) -> None:
    found = [
        {key: each[key] for key in each if key != "bbox"} | {"segmentation": []} | more for each in FOUND
    ]

    with pytest.raises(SubmissionError, match="found an empty list"):
        evaluate_coco(found, annotation({"segmentation": [[1, 1, 9, 1, 9, 9]]}), masks=True)


@WAYS
def test_a_flat_polygon_in_every_annotation_is_refused(more: dict[str, Any]) -> None:
    with pytest.raises(
        SubmissionError, match="found a list of 6 numbers, which belong into a list of their own"
    ):
        GroundTruth.from_coco(annotation({"segmentation": [1, 1, 9, 1, 9, 9], **more}))


MASK = [[1 if 12 <= x < 50 and 10 <= y < 40 else 0 for x in range(64)] for y in range(48)]
SMALL = {"id": 1, "width": 64, "height": 48}
SQUARE = [12, 10, 50, 10, 50, 40, 12, 40]
WRONG_MASKS: Mapping[str, tuple[Any, str]] = {
    "array": (MASK, "found 48 rows of 64 values, a mask as an array, which has to be encoded"),
    "transposed": ([list(row) for row in zip(*MASK, strict=True)], "found 64 rows of 48 values, a mask as an array"),
    "truth-values": ([[bool(each) for each in row] for row in MASK], "found 48 rows of 64 values, a mask as an array"),
    "grey": ([[255 * each for each in row] for row in MASK], "found 48 rows of 64 values, a mask as an array"),
    "soft": ([[each * 0.7 for each in row] for row in MASK], "found 48 rows of 64 values, a mask as an array"),
    "small": ([[0, 1, 0], [1, 1, 1]], "found 2 rows of 3 values, a mask as an array"),
    "flat": (SQUARE, "found a list of 8 numbers, which belong into a list of their own"),
    "box": ([12, 10, 38, 30], "found a list of 4 numbers, left, top, width and height, as in 'bbox'"),
    "box-in-list": ([[12, 10, 38, 30]], "found that polygon 1 of 1 has 4 numbers; at least 6 are needed"),
    "short": ([SQUARE, [1, 2, 3, 4]], "found that polygon 2 of 2 has 4 numbers; at least 6 are needed"),
    "odd": ([SQUARE, SQUARE, SQUARE[:7]], "found that polygon 3 of 3 has 7 numbers, an odd number"),
    "pairs": ([[12, 10], [50, 10], [50, 40]], "found 3 points [x, y]"),
    "nested-pairs": ([[[12, 10], [50, 10], [50, 40]]], "found that polygon 1 of 1 is a list of points [x, y]"),
    "no-polygon": ([], "found an empty list"),
    "empty-polygon": ([[]], "found that polygon 1 of 1 has 0 numbers; at least 6 are needed"),
    "text": ([SQUARE, ["12", *SQUARE[1:]]], 'found that polygon 2 of 2 has "12", which is no number'),
    "far": ([[*SQUARE, 1, 1e9]], "found that polygon 1 of 1 has the coordinate 1000000000.0"),
    "no-counts": ({"size": [48, 64]}, "found that 'counts' is missing"),
    "no-size": ({"counts": [3072]}, "found that 'size' is missing"),
    "one-side": ({"size": [48], "counts": [3072]}, "found that 'size' is [48] instead of [height, width]"),
    "negative": ({"size": [48, 64], "counts": [-1, 3073]}, "found that 'counts' is [-1, 3073] instead of"),
    "nothing": (None, "found null"),
}  # fmt: skip


@pytest.mark.sampled
@WAYS
@pytest.mark.parametrize(("segmentation", "sentence"), WRONG_MASKS.values(), ids=WRONG_MASKS)
def test_what_is_no_segmentation_is_refused_with_what_was_found(
    segmentation: Any, sentence: str, more: dict[str, Any], tmp_path: Path
) -> None:
    drawn = {**TRUTH["annotations"][0], "segmentation": [SQUARE]}
    truth = TRUTH | {"images": [SMALL], "annotations": [drawn]}
    found = [{"image_id": 1, "category_id": 1, "score": 0.9, "segmentation": segmentation} | more]
    (tmp_path / "segmentations.json").write_bytes(as_bytes(found))

    report = validate(tmp_path, GroundTruth.from_coco(truth).description)
    with pytest.raises(SubmissionError) as results:
        evaluate_coco(found, truth, masks=True)
    with pytest.raises(SubmissionError) as annotated:
        read_instances(
            as_bytes(truth | {"annotations": [drawn | {"segmentation": segmentation}]}), masks=True
        )

    for said in (
        messages(results.value),
        messages(annotated.value),
        "".join(each.message for each in report.problems),
    ):
        assert sentence in said


@pytest.mark.parametrize(
    "segmentation",
    [[SQUARE], [SQUARE, SQUARE], [[0, 0, 1, 0, 1, 1, 0, 1]], [[0, 0, 9, 0, 9, 9], [0, 0, 9, 0, 9, 9]]],
    ids=["one", "two", "a-pixel", "two-numbers"],
)
def test_polygons_that_resemble_arrays_are_read(segmentation: Any) -> None:
    truth = TRUTH | {
        "images": [SMALL],
        "annotations": [{**TRUTH["annotations"][0], "segmentation": segmentation}],
    }

    masks = read_instances(as_bytes(truth), masks=True).masks

    assert masks is not None
    assert masks.area.item() > 0


def test_lvis_annotation_may_know_of_no_absent_class() -> None:
    truth = lvis(TRUTH)

    assert evaluate_coco(FOUND, truth, protocol="lvis").headline == pytest.approx(1)
    assert GroundTruth.from_coco(truth).lists.dataset == "LVIS"


@pytest.mark.parametrize("field", LVIS)
@pytest.mark.parametrize("count", [1, 2])
def test_lvis_annotation_has_both_lists_in_every_image(field: str, count: int) -> None:
    truth = json.loads(as_bytes(lvis(TRUTH)))
    for image in truth["images"][:count]:
        del image[field]

    if field == "neg_category_ids" and count == len(IMAGES):
        with pytest.raises(LookupError, match="does not say which classes are absent"):
            evaluate_coco(FOUND, truth, protocol="lvis")
    else:
        with pytest.raises(SubmissionError, match=f"'{field}' is missing"):
            evaluate_coco(FOUND, truth, protocol="lvis")


def test_crowds_of_lvis_annotation_are_crowds_by_the_rules_of_coco() -> None:
    truth = lvis(annotation({"iscrowd": 1}))

    assert evaluate_coco(FOUND, truth).headline is None
    assert evaluate_coco(FOUND, truth, protocol="lvis").headline == pytest.approx(1)
