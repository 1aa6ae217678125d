"""What tools and people write otherwise than it is read is told, each by a small export of its own."""

from pathlib import Path
from typing import Any, Final
from unicodedata import normalize

import numpy as np
import pytest

from app.intake.reports import TableChoice
from tests.pages.data_sets import Files, coco, coco_file, jpeg
from tests.rules.formats import test_labelme as labelme
from tests.rules.formats.builders import png, read
from tests.scoring.builders import annotation, thing

CAT = annotation(thing("cat"))
ANGLE = "<attributes><attribute><name>rotation</name><value>{}</value></attribute></attributes>"
MASK = np.eye(40, 50)
BOXES = "image,class,left,top,right,bottom\n"
PALETTE = bytes((0, 0, 0, 10, 20, 30, 200, 10, 10))


def images(**more: Any) -> list[dict[str, Any]]:
    return [each | more for each in coco()["images"]]


def masks(*lines: str, palettes: tuple[bytes, ...] = ()) -> Files:
    found = {f"masks/{place}.png": png(MASK, "P", palette) for place, palette in enumerate(palettes)}
    return {"classes.txt": "\n".join(lines).encode(), **(found or {"masks/a.png": png(MASK)})}


def drawn(*labels: str) -> Files:
    return {"a.json": labelme.page(*(labelme.shape(label=each) for each in labels))}


TOLD: Final[dict[str, tuple[Files, str]]] = {
    "images of other sets than their file": (
        {"all.json": coco_file(images=images(split="testing"))},
        "all.json: images are of other image sets than val, as 'split' says: 2 of test",
    ),
    "a file whose head says another set": (
        {"all.json": coco_file(info={"subset": "holdout"})},
        "as 'subset' says: 1 of holdout",
    ),
    "label images in place of images": (
        {"all.json": coco_file(), "SegmentationClass/one.png": png(MASK)},
        "this file is in a folder of label images, and would be the images of val",
    ),
    "an angle of CVAT": (
        {"a.xml": CAT.replace("<object>", f"<object>{ANGLE.format('45.0')}").encode()},
        "a.xml: 1 box has an angle ('rotation' in <attributes>), which is left out: they are upright",
    ),
    "numbers of objects": (
        drawn("cat-1", "cat-2", "dog"),
        "2 classes differ in a number at the end alone, such as cat-1 and cat-2",
    ),
    "masks of labelme": (
        {"a.json": labelme.page(labelme.shape("mask", mask="iVBO"))},
        "1 mask of pixels is read as the box around it",
    ),
    "two words for one set in a table": (
        {"all.csv": b"image,label,split\na.jpg,cat,train\nb.jpg,cat,Training\n"},
        "all.csv:3: 'Training' and 'train' in an earlier line would both be the image set train",
    ),
    "signs between thousands": (
        {"a.csv": f"{BOXES.replace(',', ';')}a.jpg;cat;1.024;5;2.048;99\n".encode()},
        "every number with a point or a comma has three digits behind it",
    ),
    "long numbers of a spreadsheet": (
        {"a.csv": b"image,label\n1.23457E+11,cat\n"},
        "a.csv:2: 1.23457E+11 is what a spreadsheet makes of a long number",
    ),
    "errors of a spreadsheet": (
        {"a.csv": b"image,label\na.jpg,#REF!\nb.jpg,cat\n"},
        "1 class has a name of what is no class, such as #REF!",
    ),
    "labels with blanks between them": (
        {"a.csv": b"image,label\na.jpg,cat dog\nb.jpg,cat\nc.jpg,dog\n"},
        "the name of 1 class seems to be a list of classes, such as cat dog",
    ),
    "numbers before names": (masks("0 background", "1 cat"), "classes.txt: each line has a number, 0 in the first"),
    "numbers behind names": (masks("dog,2", "cat,1"), "classes.txt: each line has a number, 2 in the first"),
    "numbers in a list of YOLO": (
        {"classes.txt": b"1: cat\n0: dog\n", "a.jpg": jpeg(), "a.txt": b"0 0.5 0.5 0.1 0.1\n"},
        "classes.txt: each line has a number, 1 in the first; write names alone, those of class 0, 1, …",
    ),
    "a blank line in a list": (masks("cat", "", "dog"), "expected a different name of a class in each line"),
    "a comment in a list": (masks("# my classes", "cat"), "such as # my classes"),
    "a palette of each image": (
        masks("cat", "dog", palettes=(PALETTE, PALETTE[:3] + PALETTE[6:] + PALETTE[3:6])),
        "in 1 of 2 label images of val the palette has another colour for an index than in those before",
    ),
}  # fmt: skip
UNTOLD: Final[dict[str, Files]] = {
    "an angle of 0": {"a.xml": CAT.replace("<object>", f"<object>{ANGLE.format('0.0')}").encode(), "a.jpg": jpeg()},
    "images of the set of their file": {"train.json": coco_file(images=images(split="Training"))},
    "names that end in numbers": {"a.csv": f"{BOXES}a.jpg,class 1,1,1,9,9\na.jpg,class 1,9,9,19,19\na.jpg,class 2,1,1,9,9\n".encode()},
    "names that begin with numbers": masks("1 euro", "5 cent", "10 cent"),
    "decimals of any length": {"a.csv": f"{BOXES}a.jpg,cat,1.024,5,20.5,30\n".encode()},
    "one palette": masks("cat", "dog", palettes=(PALETTE, PALETTE)),
    "letters that are composed otherwise": {
        "a.json": coco_file(images=[{"id": 1, "file_name": normalize("NFD", "bär.jpg"), "width": 50, "height": 40}], annotations=[]),
        "bär.jpg": jpeg(),
    },
}  # fmt: skip
KINDS = {"annotation-without-picture", "no-competition", "labels-from-0", "no-areas"}


@pytest.mark.parametrize("kind", TOLD)
def test_what_may_not_be_meant_is_told(kind: str, tmp_path: Path) -> None:
    files, words = TOLD[kind]

    found = read(tmp_path, files)

    assert [words in each for each in (*found.problems, *found.warnings)].count(True) == 1


@pytest.mark.parametrize("kind", UNTOLD)
def test_what_is_meant_is_not_told(kind: str, tmp_path: Path) -> None:
    assert read(tmp_path, UNTOLD[kind]).codes <= KINDS


def test_a_number_in_a_name_decides_only_if_every_image_has_one(tmp_path: Path) -> None:
    listed = [{**each, "id": number} for number, each in enumerate(images(), 1)]
    for each in listed:
        del each["file_name"]
    pictures = {f"frame_{number}.jpg": jpeg(shade=number) for number in range(2)}  # from 0

    found = read(tmp_path, {"a.json": coco_file(images=listed), **pictures})

    assert [each.without_picture for each in found.report.sets] == [2]


def test_the_address_of_an_image_names_its_file(tmp_path: Path) -> None:
    listed = [{**each, "coco_url": f"https://host/val2017/{each.pop('file_name')}"} for each in images()]

    found = read(tmp_path, {"a.json": coco_file(images=listed), "one.jpg": jpeg(), "two.jpg": jpeg(shade=1)})

    assert [each.without_picture for each in found.report.sets] == [0]


def test_the_end_of_a_long_path_of_a_hidden_set_is_not_shown(tmp_path: Path) -> None:
    files = {f"{'/'.join([name] * 30)}/a.jpg": jpeg() for name in ("secret", "other")} | {
        "cat/b.jpg": jpeg(),
        "dog/c.jpg": jpeg(shade=1),
    }

    found = read(tmp_path, files, role="hidden")

    assert ("path-too-deep" in found.codes, [each for each in found.problems if "secret" in each]) == (
        True,
        [],
    )


@pytest.mark.parametrize("kind", ["YOLO", "masks", "folders"])
def test_a_list_of_classes_is_read_in_the_encoding_that_was_chosen(kind: str, tmp_path: Path) -> None:
    names = "bär\nlöwe\n".encode("cp1252")
    files: Files = {**masks(), "classes.txt": names}
    if kind == "YOLO":
        files = {"classes.txt": names, "a.jpg": jpeg(), "a.txt": b"0 0.5 0.5 0.1 0.1\n"}
    elif kind == "folders":
        files = {"classes.txt": names, "bär/a.jpg": jpeg(), "löwe/b.jpg": jpeg(shade=1)}
    for folder in ("1", "2"):
        (tmp_path / folder).mkdir()

    asked = read(tmp_path / "1", files)
    found = read(tmp_path / "2", files, tables=TableChoice(encoding="windows-1252"))

    assert asked.problems[0].startswith(
        "classes.txt:1: this line is not UTF-8; save the file as text in UTF-8, or choose"
    )
    assert (found.problems, found.truth.lists.classes) == ([], ("bär", "löwe"))
