import pytest

from heldout_scoring.competitions import (
    CHALLENGES,
    competition_of,
    competitions,
    expected_files,
    file_name_as_regex,
)
from tests.scoring.archives import ACTIONS, CLASSES, IMAGES, description


@pytest.mark.parametrize("dataset", CHALLENGES)
def test_competitions_are_numbered_from_one(dataset: str) -> None:
    assert [info.number for info in competitions(dataset)] == list(range(1, len(competitions(dataset)) + 1))


def test_competition_numbers_mean_what_they_meant_in_their_year() -> None:
    tasks = {dataset: {info.number: info.task for info in infos} for dataset, infos in CHALLENGES.items()}

    assert set(tasks["VOC2006"].values()) == {"classification", "detection"}
    assert tasks["VOC2007"][6] == tasks["VOC2008"][7] == "layout"
    assert tasks["VOC2009"][6] == "segmentation"
    assert max(tasks["VOC2009"]) == 8
    assert tasks["VOC2010"][10] == tasks["VOC2012"][12] == "action"


def test_an_unknown_dataset_has_the_ten_competitions() -> None:
    assert competitions("sample") == competitions("VOC2010")
    assert len(competitions("sample")) == 10


def test_an_unknown_competition_number_is_an_error() -> None:
    with pytest.raises(LookupError, match="VOC2006 has no competition 5; it has 1, 2, 3, 4"):
        competition_of("VOC2006", 5)


def test_a_competition_has_a_rule_for_training_data() -> None:
    assert "only" in competition_of("VOC2012", 3).own_data_rule
    assert "any data" in competition_of("VOC2012", 4).own_data_rule


@pytest.mark.parametrize(
    ("dataset", "number", "folder", "first", "about", "subjects"),
    [
        ("VOC2006", 3, "", "comp3_det_test_bird.txt", CLASSES[0], "classes"),
        ("VOC2012", 4, "Main", "comp4_det_test_bird.txt", CLASSES[0], "classes"),
        ("VOC2012", 1, "Main", "comp1_cls_test_bird.txt", CLASSES[0], "classes"),
        ("VOC2012", 5, "Segmentation", "comp5_test_cls/000001.png", IMAGES[0], "images"),
        ("VOC2007", 7, "Layout", "comp7_layout_test_person.xml", "person", "files"),
        ("VOC2012", 7, "Layout", "comp7_layout_test.xml", "person", "files"),
        ("COCO", 1, "", "detections.json", "detections", "files"),
        ("LVIS", 1, "", "detections.json", "detections", "files"),
        ("COCO", 2, "", "segmentations.json", "segmentations", "files"),
        ("VOC2012", 9, "Action", "comp9_action_test_reading.txt", ACTIONS[0], "actions"),
    ],
)
def test_file_names_match_those_of_the_kits(
    dataset: str, number: int, folder: str, first: str, about: str, subjects: str
) -> None:
    info = competition_of(dataset, number)

    names = list(expected_files(info, description(dataset)))

    assert names[0] == (first, about)
    assert info.folder == folder
    assert info.subjects == subjects
    assert file_name_as_regex(info).fullmatch(first)


def test_file_name_patterns_are_shown_with_placeholders() -> None:
    assert competition_of("VOC2012", 5).file_pattern_of("val") == "Segmentation/comp5_val_cls/<image>.png"


def test_a_file_name_of_another_image_set_is_recognised() -> None:
    found = file_name_as_regex(competition_of("VOC2012", 3)).fullmatch("comp3_det_val_car.txt")

    assert found
    assert (found["set"], found["key"]) == ("val", "car")
