"""Image sets have the same names in every format, and two are never joined without a word."""

from pathlib import Path

import numpy as np
import pytest

from tests.pages.data_sets import Files, coco_file, jpeg
from tests.rules.formats import test_cvat as cvat
from tests.rules.formats import test_labelme as labelme
from tests.rules.formats.builders import png, read
from tests.scoring.builders import annotation, thing

CAT = annotation(thing("cat")).encode()


def of(tool: str, one: str, other: str) -> Files:
    """Two images, each in a set that is called by one of these words."""
    if tool == "CVAT":
        return cvat.page(cvat.image(cvat.CAT, subset=one), cvat.image(cvat.CAT, name="b.jpg", subset=other))
    if tool == "labelme":
        pages = [labelme.page(labelme.shape(), image=f"{name}.jpg") for name in "ab"]
        return {f"{one}/a.json": pages[0], f"{other}/b.json": pages[1]}
    if tool == "YOLO":
        label = b"0 0.5 0.5 0.1 0.1"
        pictures = {f"{one}/images/a.jpg": jpeg(), f"{other}/images/b.jpg": jpeg(shade=1)}
        names = {"data.yaml": b"names: [cat]"}
        return {**names, **pictures, f"{one}/labels/a.txt": label, f"{other}/labels/b.txt": label}
    lists = {f"ImageSets/Main/{one}.txt": b"a\n", f"ImageSets/Main/{other}.txt": b"b\n"}
    if tool == "kit with labels":
        labels = {f"ImageSets/Main/cat_{one}.txt": b"a 1\n", f"ImageSets/Main/cat_{other}.txt": b"b 1\n"}
        lists |= labels
    return {"Annotations/a.xml": CAT, "Annotations/b.xml": CAT, **lists}


TOOLS = ("CVAT", "labelme", "YOLO", "kit", "kit with labels")


@pytest.mark.parametrize("tool", TOOLS)
def test_other_words_for_a_set_are_its_name(tmp_path: Path, tool: str) -> None:
    found = read(tmp_path, of(tool, "Training", "valid"))

    assert found.problems == []
    assert sorted(each.name for each in found.report.sets) == ["train", "val"]


@pytest.mark.parametrize("tool", TOOLS)
def test_two_words_for_one_set_are_a_problem(tmp_path: Path, tool: str) -> None:
    [said] = read(tmp_path, of(tool, "train", "Training")).problems

    assert "would both be the image set train" in said


def test_a_file_of_cvat_is_of_the_set_of_its_folder(tmp_path: Path) -> None:
    files = {
        f"{name}/annotations.xml": cvat.page(cvat.image(cvat.CAT, name=f"{name}.jpg"))["annotations.xml"]
        for name in ("train", "valid")
    }

    assert [each.name for each in read(tmp_path, files).report.sets] == ["train", "val"]


@pytest.mark.parametrize("layout", ["COCO", "label images"])
def test_pictures_of_one_name_go_with_the_set_that_their_folder_is_called_by(
    tmp_path: Path, layout: str
) -> None:
    pictures = {f"images/{name}/one.jpg": jpeg(shade=len(name)) for name in ("Training", "valid")}
    image = [{"id": 1, "file_name": "one.jpg", "width": 50, "height": 40}]
    if layout == "COCO":
        thing = {"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 1, 9, 9], "area": 81, "iscrowd": 0}
        content = coco_file(images=image, annotations=[thing])
        files = {f"instances_{name}.json": content for name in ("train", "val")}
    else:
        mask = png(np.eye(40, 50))
        files = {f"masks/{name}/one.png": mask for name in ("train", "val")} | {"classes.txt": b"cat"}

    found = read(tmp_path, {**files, **pictures}).report

    assert found.problems == ()
    assert [each.without_picture for each in found.sets] == [0, 0]
    assert "same-picture" not in {each.code for each in found.warnings}


def test_an_image_of_two_sets_is_warned_of_without_its_picture(tmp_path: Path) -> None:
    lists = {"ImageSets/Main/train.txt": b"a\nb\n", "ImageSets/Main/test.txt": b"b\n"}
    kit = {"Annotations/a.xml": CAT, "Annotations/b.xml": CAT, **lists}

    warnings = read(tmp_path, kit).warnings

    words = "1 image has a file of one name in train (public) and in test (hidden), and no image file to compare: b"
    assert words in warnings
