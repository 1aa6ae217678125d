"""COCO's two competitions: one JSON file in an archive, checked without the ground truth and scored with it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heldout_scoring import (
    Annotation,
    DataError,
    Detections,
    GroundTruth,
    Result,
    ScoreTable,
    evaluate,
    truth_of_boxes,
    validate,
)
from heldout_scoring.data.description import Description, Limits
from heldout_scoring.errors import SubmissionError
from heldout_scoring.evaluation import evaluate_coco, missing_truth
from heldout_scoring.metrics.coco import COCO_RULES
from heldout_scoring.protocols import COCO
from heldout_scoring.tasks.coco import COCO_DETECTION
from heldout_scoring.tasks.task import TaskRules
from tests.scoring.archives import gz, tar, written
from tests.scoring.coco_masks import draw_mask_set
from tests.scoring.coco_sets import Plain, draw_coco_set

CLOSE = 1e-12
SEEDS = range(300, 312)
FIGURES_TABLE = 1


def as_json(value: Any) -> bytes:
    return json.dumps(value).encode()


def truth_of(instances: Plain) -> GroundTruth:
    return GroundTruth.from_coco(instances, image_set="val")


def sent(folder: Path, content: Any, name: str = "detections.json") -> Path:
    data = content if isinstance(content, bytes) else as_json(content)
    return written(folder, gz(tar({f"results/COCO/{name}": data})), "results.tar.gz")


def figures(result: Result) -> dict[str, float | None]:
    table = result.exhibits[FIGURES_TABLE]
    assert isinstance(table, ScoreTable)
    return dict(table.rows)


def ap_of_101_points(curve: Any) -> float:
    points = curve.points()
    reached = [points.precision[points.recall >= level] for level in np.linspace(0, 1, 101)]
    return float(np.mean([np.nanmax(each, initial=0.0) for each in reached]))


def small() -> tuple[Plain, list[Plain]]:
    """Two images with two classes and a crowd, and a detection of each."""
    box = [10.25, 20.5, 30.7, 40.1]
    truth = {
        "images": [{"id": 7, "width": 100, "height": 80}, {"id": 3, "width": 100, "height": 80}],
        "categories": [{"id": 18, "name": "dog"}, {"id": 5, "name": "cat"}],
        "annotations": [
            {"id": 1, "image_id": 7, "category_id": 18, "bbox": box, "area": 900.5},
            {"id": 2, "image_id": 3, "category_id": 5, "bbox": box, "area": 900.5, "iscrowd": 1},
            {"id": 3, "image_id": 3, "category_id": 5, "bbox": [1, 1, 5, 5], "area": 25},
        ],
    }
    found = [
        {"image_id": 7, "category_id": 18, "bbox": box, "score": 0.9},
        {"image_id": 3, "category_id": 5, "bbox": [1, 1, 5, 4], "score": 0.8},
    ]
    return truth, found


@pytest.mark.parametrize("seed", SEEDS)
def test_an_archive_scores_what_the_two_files_score(tmp_path: Path, seed: int) -> None:
    instances, found = draw_coco_set(seed)
    expected = evaluate_coco(as_json(found), as_json(instances))

    result = evaluate(sent(tmp_path, found), truth_of(instances), protocol="coco", competition=1)

    assert (result.task, result.headline) == ("coco-detection", expected.headline)
    assert figures(result) == expected.figures
    assert [(each.name, each.value, each.positives, each.predictions) for each in result.classes] == [
        (each.name, each.value, each.positives, each.predictions) for each in expected.classes
    ]


@pytest.mark.parametrize("seed", range(6))
def test_masks_in_an_archive_score_what_the_two_files_score(tmp_path: Path, seed: int) -> None:
    instances, found = draw_mask_set(seed)
    expected = evaluate_coco(as_json(found), as_json(instances), masks=True)

    path = sent(tmp_path, found, "segmentations.json")
    result = evaluate(path, truth_of(instances), protocol="coco", competition=2)

    assert result.headline == expected.headline
    assert figures(result) == expected.figures


@pytest.mark.parametrize("seed", SEEDS)
def test_the_curve_at_iou_one_half_has_the_ap50_of_its_class(tmp_path: Path, seed: int) -> None:
    instances, found = draw_coco_set(seed)
    expected = evaluate_coco(as_json(found), as_json(instances))

    result = evaluate(sent(tmp_path, found), truth_of(instances), protocol="coco", competition=1)

    for each in expected.classes:
        curve = result[each.name].curve
        assert curve is not None
        if each.value is not None:
            assert ap_of_101_points(curve) == pytest.approx(expected[each.name].figures["AP50"], abs=CLOSE)


def test_a_subset_of_classes_has_its_own_mean(tmp_path: Path) -> None:
    instances, found = small()
    truth, path = truth_of(instances), sent(tmp_path, found)

    whole = evaluate(path, truth, protocol="coco", competition=1)
    one = evaluate(path, truth, protocol="coco", competition=1, classes=["cat"])

    assert [each.name for each in one.classes] == ["cat"]
    assert one.headline == whole["cat"].value != whole.headline
    assert one.receipt != whole.receipt


def test_ground_truth_survives_being_stored(tmp_path: Path) -> None:
    truth = truth_of(draw_mask_set(1)[0])
    truth.save(tmp_path / "truth")

    again = GroundTruth.open(tmp_path / "truth")

    assert again.fingerprint == truth.fingerprint
    assert again.tables.coco is not None
    assert truth.tables.coco is not None
    assert np.array_equal(again.tables.coco.boxes, truth.tables.coco.boxes)
    assert again.description == truth.description
    assert Description.from_json(truth.description.to_json()) == truth.description


def test_the_public_description_has_class_numbers_and_no_annotation() -> None:
    phase = truth_of(small()[0]).description

    assert [image.id for image in phase.images] == ["3", "7"]
    assert (phase.classes, phase.class_numbers) == (("cat", "dog"), (5, 18))
    assert "900.5" not in phase.to_json()


def test_the_check_finds_every_problem_without_the_ground_truth(tmp_path: Path) -> None:
    instances, found = small()
    broken = [
        *found,
        found[0] | {"image_id": 8},
        found[0] | {"category_id": 1},
        found[0] | {"score": "high"},
        found[0] | {"bbox": [1, 2, 3]},
        {"image_id": 7},
        7,
    ]

    validation = validate(sent(tmp_path, broken), truth_of(instances).description)

    problems = {
        (each.code, each.message.partition("]")[0] + "]", each.expected) for each in validation.problems
    }
    assert {
        ("unknown-image", "[2]", "one of the 2 images"),
        ("unknown-category", "[3]", "one of the 2 categories"),
        ("bad-score", "[4]", "a number"),
        ("bad-entry", "[7]", "an object"),
        ("missing-field", "[6]", "a whole number"),
        ("missing-field", "[6]", "a number"),
    } <= problems
    assert "[5]" in {place for _, place, _ in problems}
    assert {each.file for each in validation.problems} == {"detections.json"}


def test_boxes_outside_their_image_are_noted_in_a_valid_file(tmp_path: Path) -> None:
    instances, found = small()
    found[0]["bbox"] = [90, 10, 20, 20]

    validation = validate(sent(tmp_path, found), truth_of(instances).description)

    assert validation.valid
    assert [(each.number, each.lines, each.present) for each in validation.competitions] == [
        (1, 2, ("detections",))
    ]
    assert [note.code for note in validation.notes] == ["box-outside"]


def test_an_empty_list_is_valid_with_a_note_and_scores_0(tmp_path: Path) -> None:
    instances, _ = small()
    path = sent(tmp_path, [])

    validation = validate(path, truth_of(instances).description)
    result = evaluate(path, truth_of(instances), protocol="coco", competition=1)

    assert validation.valid
    assert [note.code for note in validation.notes] == ["empty-file"]
    assert result.headline == 0


def test_an_empty_list_is_valid_where_classes_have_no_numbers(tmp_path: Path) -> None:
    truth = truth_of_boxes({"1": Annotation(9, 9, ())}, dataset="COCO", image_set="val", classes=["cat"])

    assert validate(sent(tmp_path, []), truth.description).problems == ()


@pytest.mark.parametrize("content", [b"", b"[", b"{}", b"7", b"[" * 100_000, b"\xff\xfe", b'[{"a": NaN}]'])
def test_a_file_that_is_not_a_list_is_one_problem(tmp_path: Path, content: bytes) -> None:
    validation = validate(sent(tmp_path, content), truth_of(small()[0]).description)

    assert {each.code for each in validation.problems} <= {"bad-json", "ratio"}
    assert not validation.valid


def test_a_file_is_read_only_up_to_its_limit(tmp_path: Path) -> None:
    instances, found = small()

    validation = validate(
        sent(tmp_path, found * 5), truth_of(instances).description, limits=Limits(max_lines=9)
    )

    assert [(each.code, each.expected) for each in validation.problems] == [("too-many-detections", "9")]


def test_after_a_thousand_problems_nothing_more_is_read(tmp_path: Path) -> None:
    instances, found = small()
    wrong = found[0] | {"image_id": -1, "note": "x" * 500}

    validation = validate(sent(tmp_path, [wrong | {"score": "1"}] * 5000), truth_of(instances).description)
    foreign = validate(sent(tmp_path, [wrong] * 5000), truth_of(instances).description)

    stopped = [each for each in validation.problems if each.code == "file-not-read-on"]
    assert len(stopped) == 1
    for problems in (validation.problems, foreign.problems):
        first = next(each for each in problems if each.code == "other-images")
        assert int(first.message.partition(" ")[0].replace(",", "")) < 4900
    assert len(foreign.problems) == 1


def test_reading_stops_at_an_entry_that_does_not_end(tmp_path: Path) -> None:
    content = b'[{"image_id": "' + b"x" * (34 << 20) + b'"}]'
    found = validate(written(tmp_path, content, "detections.json").parent, truth_of(small()[0]).description)

    assert [each.code for each in found.problems] == ["bad-json"]
    assert "entry 0" in found.problems[0].message


def test_a_block_of_invalid_entries_gives_a_thousand_problems(tmp_path: Path) -> None:
    content = b"[" + b"1," * 5000 + b"1]"

    validation = validate(sent(tmp_path, content), truth_of(small()[0]).description)

    assert {each.code for each in validation.problems} == {"bad-entry", "file-not-read-on"}
    assert validation.unlisted["bad-entry"] == 1000 - 20


def test_masks_are_checked_against_the_size_of_their_image(tmp_path: Path) -> None:
    instances, found = draw_mask_set(1)
    phase = truth_of(instances).description
    found[0]["segmentation"] = {"size": [3, 4], "counts": [12]}

    validation = validate(sent(tmp_path, found, "segmentations.json"), phase)

    assert [each.code for each in validation.problems] == ["bad-size"]
    assert validate(sent(tmp_path, found[1:], "segmentations.json"), phase).valid


def test_competitions_the_annotation_cannot_score_are_not_offered() -> None:
    boxes, masks = truth_of(small()[0]), truth_of(draw_mask_set(1)[0])
    nothing = truth_of(small()[0] | {"annotations": []})

    assert missing_truth(boxes) == {2: "no object has a segmentation"}
    assert missing_truth(masks) == {}
    assert missing_truth(nothing)[1] == "no object is annotated"
    assert set(missing_truth(truth_of_boxes({}, dataset="COCO", image_set="val")).values()) == {
        "the annotation does not come from COCO's JSON"
    }


def test_scoring_masks_against_ground_truth_without_masks_is_refused(tmp_path: Path) -> None:
    instances, found = small()

    with pytest.raises(LookupError, match="the ground truth has no masks"):
        evaluate(
            sent(tmp_path, found, "segmentations.json"), truth_of(instances), protocol="coco", competition=2
        )


def test_an_archive_without_the_file_is_refused(tmp_path: Path) -> None:
    for instances, number in ((small()[0], 1), (draw_mask_set(1)[0], 2)):
        with pytest.raises(SubmissionError, match="no result"):
            evaluate(
                sent(tmp_path, [], "other.txt"), truth_of(instances), protocol="coco", competition=number
            )


def test_arrays_are_scored_by_the_same_rules() -> None:
    edges = [[10.0, 20, 40, 60], [0, 0, 10, 10]]
    truth = GroundTruth.from_arrays(
        ["a", "b"], ["cat", "cat"], edges, convention="half-open", crowd=[False, True]
    )
    found = Detections.from_arrays(["a", "b"], ["cat", "cat"], [0.5, 0.9], edges)

    result = evaluate(found, truth, protocol="coco")

    assert result.headline == pytest.approx(1, abs=CLOSE)
    assert result["cat"].score.positives == 1
    assert figures(result)["APs"] is None


@pytest.mark.sampled
@pytest.mark.parametrize("seed", SEEDS)
def test_the_same_json_as_arrays_scores_the_same_to_the_bit(tmp_path: Path, seed: int) -> None:
    instances, found = draw_coco_set(seed)
    truth, path = truth_of(instances), tmp_path / "found.json"
    path.write_bytes(as_json(found))

    sent_in = evaluate(sent(tmp_path, found), truth, protocol="coco", competition=1)

    for source in (found, as_json(found), json.dumps(found), path, str(path)):
        result = evaluate(Detections.from_coco(source, truth), truth, protocol="coco")
        assert (result.headline, result.classes) == (sent_in.headline, sent_in.classes)


def test_all_problems_of_json_in_memory_are_reported() -> None:
    instances, found = small()
    truth = truth_of(instances)

    with pytest.raises(SubmissionError) as refused:
        Detections.from_coco([found[0] | {"image_id": 1}, found[1] | {"score": None}], truth)
    assert {each.code for each in refused.value.problems} == {"unknown-image", "bad-score"}
    with pytest.raises(SubmissionError, match="expected a list called 'annotations'"):
        GroundTruth.from_coco({"images": [], "categories": []})
    plain = GroundTruth.from_arrays(["a"], ["cat"], [[1, 1, 2, 2]], convention="half-open")
    with pytest.raises(DataError, match="ground truth from COCO's JSON"):
        Detections.from_coco(found, plain)


def test_a_protocol_may_have_its_own_range_of_iou_thresholds() -> None:
    instances, found = small()
    truth = truth_of(instances)
    rules = replace(COCO_RULES, iou_thresholds=np.array([0.3, 0.75]))
    row = COCO.with_rules("own", "Our challenge", TaskRules(COCO_DETECTION, rules))

    result = evaluate(Detections.from_coco(found, truth), truth, protocol=row)

    assert result.measure == "Average precision of boxes, IoU 0.30:0.75"
    assert {"AP", "AP75"} < set(figures(result))
    assert "AP50" not in figures(result)
    assert [each.title for each in result.exhibits if isinstance(each, ScoreTable)][1:] == [
        "All figures; the curves are those at an IoU of 0.3",
        "AP75",
    ]


def test_inclusive_pixels_are_converted() -> None:
    truth = GroundTruth.from_arrays(["a"], ["cat"], [[1, 1, 10, 10]], convention="inclusive")
    half = Detections.from_arrays(["a"], ["cat"], [0.5], [[0, 0, 10, 5]], convention="half-open")

    assert evaluate(half, truth, protocol="coco").headline == pytest.approx(0.1)


def test_classes_without_objects_have_no_value_and_alone_give_no_headline() -> None:
    nothing = GroundTruth.from_arrays(
        [], [], [], convention="half-open", images=["a"], classes=["cat", "dog"]
    )

    result = evaluate(Detections.from_arrays(["a"], ["cat"], [0.5], [[0, 0, 1, 1]]), nothing, protocol="coco")

    assert (result.headline, result.headline_reason) == (None, "no class has an object that counts")
    assert {each.reason for each in result.classes} == {"no object of the class counts"}
