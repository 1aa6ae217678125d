import dataclasses
from collections.abc import Mapping
from pathlib import Path

import pytest

from heldout_scoring import Validation, validate
from heldout_scoring.errors import Problem
from heldout_scoring.tasks import labels_files
from tests.scoring.archives import CLASSES, FOLDER, IMAGES, description, gz, tar, written

ACTING = ((IMAGES[0], 1), (IMAGES[0], 2), ("2010_000009", 1))
PHASE = dataclasses.replace(description(), acting=ACTING)
CAR = f"{FOLDER}/comp1_cls_test_car.txt"
NOT_THERE = "it is not in the Action set of VOC2012 test"
RUNNING = "results/VOC2012/Action/comp9_action_test_running.txt"


def images(*lines: str) -> bytes:
    return "".join(f"{line}\n" for line in lines or [f"{image} 0.5" for image in IMAGES]).encode()


def classification() -> dict[str, bytes]:
    return {f"{FOLDER}/comp1_cls_test_{name}.txt": images() for name in CLASSES}


def action(number: int = 9) -> dict[str, bytes]:
    lines = "".join(f"{image} {person} 0.5\n" for image, person in ACTING).encode()
    names = (f"comp{number}_action_test_{name}.txt" for name in PHASE.actions)
    return {f"results/VOC2012/Action/{name}": lines for name in names}


def sent(folder: Path, files: Mapping[str, bytes]) -> Validation:
    return validate(written(folder, gz(tar(files)), "results.tar.gz"), PHASE)


def lying(folder: Path, files: Mapping[str, bytes]) -> Validation:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return validate(folder, PHASE)


def codes(problems: tuple[Problem, ...]) -> list[str]:
    return [problem.code for problem in problems]


def test_complete_results_are_valid_without_notes(tmp_path: Path) -> None:
    validation = sent(tmp_path, classification() | action())

    cls, act = validation.competitions
    assert validation.valid
    assert validation.notes == ()
    assert (cls.number, cls.task, cls.files, cls.lines) == (1, "classification", 3, 9)
    assert (act.number, act.task, act.files, act.lines) == (9, "action", 2, 6)
    assert act.present == PHASE.actions


def test_action_without_boxes_is_checked_the_same_way(tmp_path: Path) -> None:
    assert sent(tmp_path, action(11)).valid


def test_missing_images_are_one_note_that_explains_their_rank(tmp_path: Path) -> None:
    boat = f"{FOLDER}/comp1_cls_test_boat.txt"

    validation = sent(
        tmp_path,
        classification() | {CAR: images(f"{IMAGES[0]} 1"), boat: images(f"{IMAGES[0]} 1", f"{IMAGES[2]} 1")},
    )

    assert validation.valid
    [note] = validation.notes
    assert str(note) == (
        "comp1: images are missing, 3 in 2 of 3 files, of these 2 in comp1_cls_test_car.txt; a missing image ranks"
        " behind all others"
    )


def test_many_missing_persons_are_a_warning_too(tmp_path: Path) -> None:
    validation = sent(tmp_path, action() | {RUNNING: f"{IMAGES[0]} 2 1\n".encode()})

    assert validation.valid
    assert "comp9: persons are missing, 2 in 1 of 2 files" in validation.warnings[0].message


@pytest.mark.parametrize(("name", "kind"), [(CAR, "image"), (RUNNING, "person")])
def test_an_empty_file_is_noted(tmp_path: Path, name: str, kind: str) -> None:
    validation = sent(tmp_path, classification() | action() | {name: b"\n"})

    assert validation.valid
    assert codes(validation.notes) == ["empty-file"]
    assert f"no {kind} is ranked for" in validation.notes[0].message


def test_a_repeated_image_is_a_problem_in_an_archive(tmp_path: Path) -> None:
    lines = [f"{image} 0.5" for image in IMAGES]

    validation = sent(tmp_path, classification() | {CAR: images(*lines, "", f"{IMAGES[1]} 9")})

    [problem] = validation.problems
    assert str(problem) == "comp1_cls_test_car.txt:5: a duplicate: the image '000002' is already on line 2"
    assert validation.competitions[0].lines == 10


def test_a_repeated_image_is_the_same_problem_in_a_working_folder(tmp_path: Path) -> None:
    files = classification() | {CAR: images(*(f"{image} 0.5" for image in IMAGES), f"{IMAGES[1]} 9")}

    assert lying(tmp_path / "work", files).problems == sent(tmp_path, files).problems


def test_a_limited_number_of_repetitions_is_examined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labels_files, "MAX_FILE_PROBLEMS", 30)

    validation = sent(tmp_path, classification() | {CAR: images() * 20})

    assert codes(validation.problems) == ["repeated"] * 20
    assert validation.unlisted == {"repeated": 10}


def test_invalid_lines_of_both_tasks_are_reported(tmp_path: Path) -> None:
    validation = sent(
        tmp_path, classification() | action() | {CAR: b"000001 0.5 1 2 3 4\n", RUNNING: b"000001 3 0.5\n"}
    )

    assert sorted(str(problem).partition(";")[0] for problem in validation.problems) == [
        "comp1_cls_test_car.txt:1: expected 2 fields, found 6",
        f"comp9_action_test_running.txt:1: unknown object '3' of the image '000001': {NOT_THERE}",
    ]


def test_what_is_refused_is_not_missing_as_well(tmp_path: Path) -> None:
    wrong = action() | {RUNNING: f"{IMAGES[0]} 1 0.5\n{IMAGES[0]} 2 many\n2010_000009 1 0.5\n".encode()}

    validation = sent(tmp_path, wrong)

    assert codes(validation.problems) == ["not-a-number"]
    assert validation.notes == validation.warnings == ()


def test_a_few_missing_persons_stay_a_note(tmp_path: Path) -> None:
    several = tuple((IMAGES[0], number) for number in range(1, 9))
    phase = dataclasses.replace(PHASE, acting=several)
    lines = "".join(f"{image} {person} 0.5\n" for image, person in several[1:]).encode()

    validation = validate(written(tmp_path, gz(tar({RUNNING: lines})), "results.tar.gz"), phase)

    assert codes(validation.notes) == ["missing-predictions", "missing-files"]
