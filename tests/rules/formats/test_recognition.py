"""A format is recognised by what shows it alone, and of what arrived nothing is left out without a word."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from app.intake.formats.recognition import EXPECTED
from tests.pages.data_sets import CLASS_FOLDERS, TABLE, coco_file, jpeg, kit
from tests.rules.formats.builders import png, read

NOT_RECOGNISED = f"no annotation was recognised; {EXPECTED}"
NO_CLASSES: dict[str, Mapping[str, bytes]] = {
    "xml beside pictures": {"images/a.jpg": jpeg(), "images/a.xml": b"<x/>", "more/b.jpg": jpeg(), "more/b.xml": b"<x/>"},
    "sets": {"train/a.jpg": jpeg(), "valid/b.jpg": jpeg(), "Testing/c.jpg": jpeg()},
    "one name below all": {f"train/n0{n}/images/{n}.JPEG": jpeg() for n in range(3)},
    "one folder": {"masks/a.png": b"", "masks/b.png": b""},
    "layout": {"set/Images/a.jpg": jpeg(), "set/cat/b.jpg": jpeg(), "set/TestDepth/a.jpg": jpeg()},
    "annotation elsewhere": {"photos_a/a.jpg": jpeg(), "photos_b/b.jpg": jpeg(), "ann/a.jpg.xml": b"<x/>"},
}  # fmt: skip


@pytest.mark.parametrize("role", ["public", "hidden"])
@pytest.mark.parametrize("what", NO_CLASSES)
def test_folders_of_other_layouts_are_no_classes(tmp_path: Path, what: str, role: str) -> None:
    found = read(tmp_path, NO_CLASSES[what], role=role)

    assert found.report.sets == ()
    assert found.problems[-1] == NOT_RECOGNISED
    named = {"a.jpg.xml"} if what == "annotation elsewhere" else set()
    assert {Path(str(each.file)).name for each in found.report.problems[:-1]} == named


def test_masks_in_a_folder_beside_their_pictures_are_no_class(tmp_path: Path) -> None:
    sent = {"skin/a.jpg": jpeg(50, 40), "lesions/a.png": png(np.zeros((40, 50))), "lesions/b.png": png([[0]])}

    assert read(tmp_path, sent).problems == [NOT_RECOGNISED]


def test_two_formats_are_named_both(tmp_path: Path) -> None:
    [said] = read(tmp_path, {**kit(folder=""), "boxes.csv": TABLE}).problems

    assert (
        said
        == "annotation was recognised as development kit (VOC) (Annotations) and table (CSV) (boxes.csv); send it in one format"
    )


@pytest.mark.parametrize(("role", "name"), [("public", "more/a.xml"), ("hidden", "more/a.xml")])
def test_annotation_of_another_format_is_a_problem_with_count_and_example(
    tmp_path: Path, role: str, name: str
) -> None:
    found = read(tmp_path, {"f.json": coco_file(), "more/a.xml": b"", "more/b.xml": b""}, role=role)

    [said] = found.problems
    assert said.startswith(
        f"{name}: 2 files like this one are not read: annotation was recognised as COCO JSON"
    )


def test_an_empty_file_is_named(tmp_path: Path) -> None:
    assert read(tmp_path, {"val.json": b""}).problems == ["val.json: this file is empty", NOT_RECOGNISED]


def test_sets_of_one_name_are_told(tmp_path: Path) -> None:
    found = read(tmp_path, {"a/val.json": coco_file(), "b/val.json": coco_file()})

    assert (
        "2 image sets are called val, of a/val.json and b/val.json; choose one, or rename their files or folders"
        in found.warnings
    )


def test_other_files_are_left_out_with_a_warning(tmp_path: Path) -> None:
    others = dict.fromkeys(("README.roboflow.txt", "data.yaml", "LICENSE", "paper.pdf"), b"x")

    found = read(tmp_path, {"f.json": coco_file(), **others})

    assert found.problems == []
    assert "2 files are left out, called LICENSE or README: neither annotation nor images" in found.warnings
    assert "2 files are left out, such as data.yaml: neither annotation nor images" in found.warnings


def test_a_class_of_folders_that_annotation_stands_beside_is_read_with_a_problem(tmp_path: Path) -> None:
    found = read(tmp_path, {**CLASS_FOLDERS, "class_indices.txt": b"cat 0"}, role="hidden")

    [said] = found.problems
    assert "annotation was recognised as a folder for each class" in said
