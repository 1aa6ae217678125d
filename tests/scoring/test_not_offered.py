"""Files of competitions that a phase does not offer, and files with wrong names."""

from dataclasses import replace
from pathlib import Path

from heldout_scoring import GroundTruth, validate
from heldout_scoring.archives.results import explain
from heldout_scoring.data.annotations import Annotation
from heldout_scoring.data.truth import truth_of_boxes
from heldout_scoring.evaluation import missing_truth
from tests.scoring.archives import FOLDER, description, detections, gz, tar, written


def test_all_files_of_a_competition_not_offered_are_one_problem(tmp_path: Path) -> None:
    phase = replace(description(), not_offered=(4,))
    path = written(tmp_path, gz(tar(detections(3) | detections(4))), "results.tar.gz")

    validation = validate(path, phase)

    assert [problem.code for problem in validation.problems] == ["not-offered"]
    assert "comp4 is not offered for VOC2012 test; leave out its files" in validation.problems[0].message
    assert [found.number for found in validation.competitions] == [3]


def test_without_suggestions_a_wrong_name_is_explained_by_its_pattern() -> None:
    name = f"{FOLDER}/comp3_det_test_bird.csv"

    brief, long = (explain(name, description(), suggest=suggest) for suggest in (False, True))

    assert (brief.code, long.code) == ("file-name", "file-name")
    assert long.message.startswith(brief.message)
    assert "did you mean" in long.message
    assert "did you mean" not in brief.message


def empty_truth() -> GroundTruth:
    return truth_of_boxes({}, dataset="VOC2012", image_set="val", classes=["cat"])


def test_ground_truth_without_images_cannot_score_any_competition() -> None:
    missing = missing_truth(empty_truth())

    assert set(missing) >= {1, 3, 5, 7, 9}
    assert missing[1] == missing[3] == "the Main set lists no image"


def test_ground_truth_without_objects_cannot_score_classes_or_boxes() -> None:
    truth = truth_of_boxes({"a": Annotation(9, 9, ())}, dataset="VOC2012", image_set="val", classes=["cat"])

    assert missing_truth(truth)[1] == missing_truth(truth)[3] != missing_truth(empty_truth())[3]


def test_listed_persons_without_parts_or_actions_cannot_be_scored() -> None:
    plain = truth_of_boxes({"a": Annotation(9, 9, ())}, dataset="VOC2012", image_set="val", classes=["cat"])
    listed = replace(plain.lists, persons=(("a", 1),), acting=(("a", 1),))

    missing = missing_truth(GroundTruth.of(listed, plain.tables))

    assert missing[7] == "no head, hand or foot is annotated"
    assert missing[9] == "no person of the Action set is annotated with an action"
