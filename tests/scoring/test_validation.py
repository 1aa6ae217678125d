import dataclasses
import json
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from heldout_scoring import Limits, Problem, SubmissionError, Validation, validate
from heldout_scoring.archives.results import competition_files
from heldout_scoring.data.description import Description
from heldout_scoring.errors import Problems
from heldout_scoring.parallel import use_threads
from tests.scoring.archives import (
    FOLDER,
    IMAGES,
    Zipped,
    description,
    detections,
    gz,
    lines,
    tar,
    written,
    zip_of,
    zipped,
)


def validated(
    folder: Path, files: Mapping[str, bytes], *asked: int, phase: Description | None = None
) -> Validation:
    path = written(folder, gz(tar(files)), "results.tar.gz")
    return validate(path, phase or description(), competitions=asked or None)


def unpacked(folder: Path, files: Mapping[str, bytes]) -> Path:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


def codes(problems: tuple[Problem, ...]) -> list[str]:
    return [problem.code for problem in problems]


def test_a_complete_result_is_valid_without_notes(tmp_path: Path) -> None:
    validation = validated(tmp_path, detections())

    [found] = validation.competitions
    assert validation.valid
    assert validation.notes == ()
    assert (found.number, found.task, found.files, found.lines) == (3, "detection", 3, 9)
    assert found.present == description().classes
    assert found.missing == ()
    assert found.is_complete
    assert (validation.members, validation.unpacked) == (3, 10240)


def test_both_competitions_of_a_task_may_be_entered_at_once(tmp_path: Path) -> None:
    validation = validated(tmp_path, detections(4) | detections(3))

    assert validation.valid
    assert [found.number for found in validation.competitions] == [3, 4]


def test_result_files_of_2006_need_no_task_folder(tmp_path: Path) -> None:
    validation = validated(tmp_path, detections(3, "results/VOC2006"), phase=description("VOC2006"))

    assert validation.valid
    assert validation.notes == ()


def test_an_unknown_challenge_follows_the_rules_of_2012(tmp_path: Path) -> None:
    validation = validated(tmp_path, detections(4, "results/sample/Main"), phase=description("sample"))

    assert validation.valid
    assert validation.notes == ()


def test_missing_classes_are_named(tmp_path: Path) -> None:
    validation = validated(tmp_path, detections(classes=["boat"]))

    assert validation.valid
    assert validation.competitions[0].missing == ("bird", "car")
    assert str(validation.notes[0]) == "comp3: 2 of 3 classes are missing and will not be scored: bird, car"


def test_the_list_of_missing_files_is_shortened(tmp_path: Path) -> None:
    many = dataclasses.replace(description(), classes=("boat", *(f"class{number}" for number in range(40))))

    validation = validated(tmp_path, detections(classes=["boat"]), phase=many)

    assert validation.notes[0].message.endswith("class29, …")


def test_a_class_without_detections_is_valid(tmp_path: Path) -> None:
    validation = validated(tmp_path, detections() | {f"{FOLDER}/comp3_det_test_car.txt": b"\n"})

    assert validation.valid
    assert str(validation.notes[0]) == "comp3_det_test_car.txt: no detection of 'car': the file is empty"


@pytest.mark.parametrize("wrong", [b"car at the left\n", "000001 0.5 1 1 9 9\n".encode("utf-16")])
def test_a_file_of_invalid_lines_is_not_reported_as_empty(tmp_path: Path, wrong: bytes) -> None:
    labels = f"{FOLDER}/comp1_cls_test_car.txt"

    validation = validated(
        tmp_path, detections() | {f"{FOLDER}/comp3_det_test_car.txt": wrong, labels: wrong}
    )

    assert {problem.file for problem in validation.problems} == {
        "comp1_cls_test_car.txt",
        "comp3_det_test_car.txt",
    }
    assert "empty-file" not in codes(validation.notes)


def test_an_archive_without_results_is_refused_with_an_example(tmp_path: Path) -> None:
    [problem] = validated(tmp_path, {"paper.txt": b""}).problems

    expected = "results/VOC2012/Main/comp1_cls_test_<class>.txt"
    assert (
        problem.message == f"no result file of any competition was found; expected files such as '{expected}'"
    )
    assert problem.expected == expected


@pytest.mark.parametrize("folder", ["masks/", ""])
def test_masks_outside_their_folder_are_told_where_they_belong(tmp_path: Path, folder: str) -> None:
    validation = validated(tmp_path, {f"{folder}{image}.png": b"" for image in IMAGES})

    [problem] = validation.problems
    assert problem.expected == "results/VOC2012/Segmentation/comp5_test_cls/<image>.png"
    assert [note.message for note in validation.notes] == [
        f"not a result file; ignored. A mask of this image is expected as 'comp5_test_cls/{image}.png'"
        for image in IMAGES
    ]


def test_an_archive_of_xml_gets_an_example_of_layouts(tmp_path: Path) -> None:
    [problem] = validated(tmp_path, {"a.xml": b"", "b.xml": b"", "read.me": b""}).problems

    assert problem.expected == "results/VOC2012/Layout/comp7_layout_test.xml"


def test_a_single_prediction_file_is_checked_as_the_server_packs_it(tmp_path: Path) -> None:
    [(name, content)] = detections(classes=["car"]).items()
    alone = written(tmp_path, content, "comp3_det_test_car.txt")

    found, packed = validate(alone, description()), validated(tmp_path, {name: content})

    assert (found.valid, found.notes, found.competitions) == (True, packed.notes, packed.competitions)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        (
            "car.txt",
            lines(),
            "car.txt is not the name of a prediction file; expected an archive, or one of comp1_",
        ),
        ("comp3_det_val_car.txt", lines(), "is not the name of a prediction file"),
        ("found.json", b"[]", "is not the name of a prediction file"),
        ("000001.png", b"\x89PNG\r\n\x1a\n", "a PNG image, not an archive of result files"),
        ("found.npy", b"\x93NUMPY", "a NumPy array, not an archive of result files"),
    ],
)
def test_a_single_file_of_another_kind_is_explained(
    tmp_path: Path, name: str, content: bytes, words: str
) -> None:
    [problem] = validate(written(tmp_path, content, name), description()).problems

    assert words in problem.message


def test_boxes_outside_their_images_are_one_note(tmp_path: Path) -> None:
    files = detections() | {f"{FOLDER}/comp3_det_test_car.txt": b"000001 0.5 -5 1 520 20\n"}

    validation = validated(tmp_path, files)

    assert validation.valid
    assert codes(validation.notes) == ["box-outside"]
    assert "1 of 7 boxes extend beyond their image" in validation.notes[0].message


@pytest.mark.parametrize(
    ("folder", "words"),
    [
        ("", "in no folder"),
        ("Main", "'Main'"),
        ("mymethod/results/VOC2012/Main", "'mymethod/results/VOC2012/Main'"),
        ("results_of_mine/Main", "'results/VOC2012/Main'"),
        ("Results/voc2012/main", "'results/VOC2012/Main'"),
    ],
)
def test_files_in_another_folder_are_accepted_with_one_note(tmp_path: Path, folder: str, words: str) -> None:
    validation = validated(tmp_path, detections(folder=folder))

    assert validation.valid
    [note] = validation.notes
    assert note.code == "folder"
    assert words in note.message


def test_files_in_a_deeper_folder_are_one_problem(tmp_path: Path) -> None:
    validation = validated(tmp_path, detections(folder="home/me/results/VOC2012/Main"))

    assert codes(validation.problems) == ["folder-depth", "no-results"]


@pytest.mark.parametrize("name", ["__MACOSX/a.txt", "._comp3_det_test_car.txt", f"{FOLDER}/.DS_Store"])
def test_files_added_by_macos_are_ignored_with_a_note(tmp_path: Path, name: str) -> None:
    validation = validated(tmp_path, {name: b"\0", **detections()})

    assert validation.valid
    assert [(note.code, note.file) for note in validation.notes] == [("macos-file", name)]


def test_other_files_are_ignored_with_a_note(tmp_path: Path) -> None:
    files = {"README.txt": b"my method", "results/VOC2012/Segmentation/comp5_test_inst/000001.png": b"png"}

    validation = validated(tmp_path, detections() | files)

    assert validation.valid
    assert codes(validation.notes) == ["ignored-file", "ignored-file"]


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        (f"{FOLDER}/comp3_det_test_unicorn.txt", "unknown-class", "'unicorn' is none of bird, boat, car"),
        (f"{FOLDER}/comp3_det_test_Bird.txt", "unknown-class", "did you mean 'bird'?"),
        (f"{FOLDER}/comp3_det_val_bird.txt", "wrong-image-set", "'val'; expected 'test'"),
        (f"{FOLDER}/comp99_det_test_bird.txt", "unknown-competition", "comp99"),
        (f"{FOLDER}/comp3_cls_test_bird.txt", "file-name", "'comp3_det_test_<class>.txt'"),
        (f"{FOLDER}/COMP3_det_test_bird.txt", "file-name", "'comp3_det_test_<class>.txt'"),
        (f"{FOLDER}/comp3_det_test_bird.csv", "file-name", "'comp3_det_test_<class>.txt'"),
        ("results/VOC2012/Segmentation/comp5_test_cls/000001.jpg", "file-name", "comp5_test_cls/<image>.png"),
        (
            "results/VOC2012/Segmentation/comp5_test_cls/000009.png",
            "unknown-class",
            "'000009' is none of 000001, ",
        ),
        ("results/VOC2007/Main/comp3_det_test_bird.txt", "other-challenge", "another year, VOC2007"),
        ("copy/comp3_det_test_boat.txt", "duplicate", "more than once"),
        ("inner.tar.gz", "nested-archive", "nested archive"),
    ],
)
def test_a_file_that_is_not_a_result_is_explained(tmp_path: Path, name: str, code: str, words: str) -> None:
    validation = validated(tmp_path, detections(classes=["boat"]) | {name: lines()})

    assert codes(validation.problems) == [code]
    assert words in validation.problems[0].message


def test_a_working_folder_may_contain_other_results(tmp_path: Path) -> None:
    others = {
        f"{FOLDER}/comp3_det_val_bird.txt": b"not looked at",
        f"{FOLDER}/comp4_det_test_bird.txt": b"000001 0.5 100 100 10 10\nnot even read",
        "results/VOC2007/Main/comp3_det_test_bird.txt": b"not looked at",
        "old.zip": b"not looked at",
    }

    validation = validate(unpacked(tmp_path, detections() | others), description(), competitions=(3,))

    assert validation.valid
    assert [found.number for found in validation.competitions] == [3]
    assert sorted(codes(validation.notes)) == [
        "nested-archive",
        "other-challenge",
        "other-competition",
        "wrong-image-set",
    ]


def test_results_of_another_competition_than_requested_are_a_problem(tmp_path: Path) -> None:
    validation = validated(tmp_path, detections(3), 4)

    assert codes(validation.problems) == ["no-results", "other-competition"]
    assert validation.competitions == ()
    assert "comp3" in validation.problems[1].message


def test_further_competitions_than_the_requested_one_are_a_problem(tmp_path: Path) -> None:
    validation = validated(tmp_path, detections(3) | detections(4), 4)

    assert codes(validation.problems) == ["other-competition"]
    assert [found.number for found in validation.competitions] == [4]


def test_an_unknown_competition_is_reported(tmp_path: Path) -> None:
    validation = validated(tmp_path, detections(3, "results/VOC2006"), 9, phase=description("VOC2006"))

    assert codes(validation.problems) == ["unknown-competition"]


def test_a_result_split_over_two_competitions_is_detected(tmp_path: Path) -> None:
    validation = validated(tmp_path, detections(3, classes=["bird"]) | detections(4, classes=["boat", "car"]))

    assert codes(validation.problems) == ["torn-result"]
    assert "comp3 and comp4" in validation.problems[0].message


def test_incomplete_results_with_a_class_in_common_are_not_one_torn_result(tmp_path: Path) -> None:
    validation = validated(tmp_path, detections(3, classes=["bird"]) | detections(4, classes=["bird", "car"]))

    assert validation.valid


def test_an_archive_without_results_is_refused_with_what_was_expected(tmp_path: Path) -> None:
    validation = validated(tmp_path, {"README.txt": b"nothing else"}, 3)

    assert str(validation.problems[0]) == (
        "no result file of comp3 was found; expected files such as 'results/VOC2012/Main/comp3_det_test_<class>.txt'"
    )


def test_problems_found_before_a_damaged_place_are_reported(tmp_path: Path) -> None:
    whole = tar(detections())
    path = written(tmp_path, whole[:2600], "results.tar")

    validation = validate(path, description())

    assert codes(validation.problems) == ["truncated"]
    assert validation.competitions[0].present == ("bird", "boat")


def test_the_given_limits_apply(tmp_path: Path) -> None:
    path = written(tmp_path, zip_of(detections()), "results.zip")

    assert codes(validate(path, description(), limits=Limits(max_files=2)).problems) == ["too-many-members"]
    assert codes(validate(path, description(), name="results.tar").problems) == ["wrong-extension"]


def test_the_limits_of_the_description_are_the_default(tmp_path: Path) -> None:
    path = written(tmp_path, zip_of(detections()), "results.zip")
    narrow = dataclasses.replace(description(), limits=Limits(max_files=2))

    assert codes(validate(path, narrow).problems) == ["too-many-members"]
    assert validate(path, dataclasses.replace(description(), limits=Limits(max_files=3))).valid
    assert validate(path, narrow, limits=Limits()).valid


def test_files_of_a_competition_are_read_within_the_descriptions_limits(tmp_path: Path) -> None:
    path = written(tmp_path, zip_of(detections()), "results.zip")
    narrow = dataclasses.replace(description(), limits=Limits(max_files=2))

    with pytest.raises(SubmissionError, match="at most 2 files and folders"):
        list(competition_files(path, narrow, 3, problems=Problems()))
    assert len(list(competition_files(path, narrow, 3, problems=Problems(), limits=Limits()))) == 3


def test_invalid_lines_of_all_files_are_reported_together(tmp_path: Path) -> None:
    files = {name: lines() + b"000001 0.5 1 2 3\n" * 25 for name in detections()}

    validation = validated(tmp_path, files)

    assert codes(validation.problems) == ["field-count"] * 60
    assert {problem.file for problem in validation.problems} == {Path(name).name for name in files}
    assert str(validation.problems[0]) == "comp3_det_test_bird.txt:4: expected 6 fields, found 5"
    assert validation.unlisted == {"field-count": 15}


def test_reading_stops_after_too_many_problems_in_an_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("heldout_scoring.validation.MAX_ARCHIVE_PROBLEMS", 30)
    monkeypatch.setattr("heldout_scoring.archives.results._BATCH_FILES", 1)
    files = dict.fromkeys(detections(4) | detections(3), b"wrong\n" * 25)

    with use_threads(1):
        validation = validated(tmp_path, files)

    assert validation.problems[-1] == Problem(
        "archive-not-read-on",
        "stopped after 50 problems in this archive; 4 more files were not read",
        found="4",
    )
    assert all(not found.missing for found in validation.competitions)


@pytest.mark.sampled
def test_an_invalid_line_in_every_block_takes_little_extra_time(tmp_path: Path) -> None:
    block = b"000001 0.5 10 20 110 220\n" * 10_000
    times = dict[bytes, float]()
    for wrong in (b"", b"000001 x 10 20 110 220\n"):
        path = written(tmp_path, gz(tar(dict.fromkeys(detections(), (block + wrong) * 40))), "results.tar.gz")
        start = time.process_time()
        validate(path, description(), limits=Limits(max_ratio=10**6))
        times[wrong] = time.process_time() - start

    assert max(times.values()) < 4 * times[b""]


def test_a_validation_is_reproducible_and_survives_json(tmp_path: Path) -> None:
    files = detections(classes=["boat"]) | {
        "README": b"",
        "a\u202e": b"",
        f"{FOLDER}/comp3_det_test_car.txt": b"x",
    }
    path = written(tmp_path, zipped(Zipped(name, data, flags=0x800) for name, data in files.items()))

    texts = {json.dumps(validate(path, description()).as_json()) for _ in range(3)}

    [text] = texts
    validation = Validation.from_json(json.loads(text))
    assert validation == validate(path, description())
    assert json.loads(text)["valid"] is False
    assert text.isascii()
    assert str(tmp_path) not in text


def test_the_files_of_a_competition_are_read_one_by_one(tmp_path: Path) -> None:
    path = written(tmp_path, gz(tar(detections(4) | detections(3) | {"../a": b""})))
    problems = Problems()

    files = [
        (file.key, file.name, file.read())
        for file in competition_files(path, description(), 3, problems=problems)
    ]

    assert files[0] == ("bird", "comp3_det_test_bird.txt", lines())
    assert [about for about, _, _ in files] == ["bird", "boat", "car"]
    assert codes(problems.listed) == ["unsafe-path"]


def test_reading_the_files_of_a_damaged_archive_raises(tmp_path: Path) -> None:
    path = written(tmp_path, b"no archive")

    with pytest.raises(SubmissionError, match="not an archive"):
        list(competition_files(path, description(), 3, problems=Problems(), limits=Limits()))


def test_a_missing_path_raises_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="nowhere"):
        validate(tmp_path / "nowhere.zip", description())
