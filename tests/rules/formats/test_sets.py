"""Image sets have the same names in every format, and two are never joined without a word."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.pages.data_sets import Files, coco_file, jpeg
from tests.rules.formats import test_cvat as cvat
from tests.rules.formats import test_labelme as labelme
from tests.rules.formats.builders import png, read, read_archives, saved
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


def exported(tool: str, shade: int) -> Files:
    """One image as a tool exports it without a word of its image set."""
    picture = jpeg(shade=shade)
    if tool == "COCO":
        image = [{"id": 1, "file_name": "a.jpg", "width": 50, "height": 40}]
        thing = {"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 1, 9, 9], "area": 81, "iscrowd": 0}
        return {
            "annotations/instances_default.json": coco_file(images=image, annotations=[thing]),
            "images/a.jpg": picture,
        }
    if tool == "CVAT":
        return {**cvat.page(cvat.image(cvat.CAT)), "images/a.jpg": picture}
    if tool == "YOLO":
        return {"data.yaml": b"names: [cat]", "images/a.jpg": picture, "labels/a.txt": b"0 0.5 0.5 0.1 0.1\n"}
    if tool == "kit":
        return {"Annotations/a.xml": CAT, "ImageSets/Main/default.txt": b"a\n", "JPEGImages/a.jpg": picture}
    if tool == "masks":
        colours = np.zeros((40, 50, 3), np.uint8)
        colours[:9] = 128
        mask = saved(Image.fromarray(colours), "PNG")
        lists = {
            "ImageSets/Segmentation/default.txt": f"a{shade}\n".encode(),
            "labelmap.txt": b"background:0,0,0::\ncat:128,128,128::",
        }
        return {**lists, f"SegmentationClass/a{shade}.png": mask, f"JPEGImages/a{shade}.jpg": picture}
    return {f"{name}/{name}.jpg": jpeg(shade=shade + number) for number, name in enumerate(("cat", "dog"))}


@pytest.mark.parametrize("tool", ["COCO", "CVAT", "YOLO", "kit", "masks", "folders"])
def test_archives_that_are_called_like_sets_are_these(tool: str, tmp_path: Path) -> None:
    names = ("task_train-2026_05_06_07_08_09.zip", "birds valid.zip", "test.zip")

    found = read_archives(
        tmp_path, *(("public", name, exported(tool, 9 * number)) for number, name in enumerate(names))
    )

    assert found.problems == []
    assert {each.name: (each.role, each.without_picture) for each in found.report.sets} == {
        "train": ("public", 0),
        "val": ("public", 0),
        "test": ("hidden", 0),
    }


def test_archives_of_one_name_say_what_to_call_them(tmp_path: Path) -> None:
    found = read_archives(
        tmp_path, *(("public", f"{name}.zip", exported("CVAT", 1)) for name in ("one", "two"))
    )

    assert found.problems[0] == (
        "annotations.xml: this file was sent twice; if two archives have a file of this name, call each after its image set, such as "
        "train.zip and val.zip, or put its content into a folder of its own"
    )


@pytest.mark.parametrize(
    ("archive", "inside", "said"),
    [
        ("test.zip", "train", "this is the image set train, but the folder or archive that it is in is called like the image set test"),
        ("train.zip", "test", "this is the image set test, but the folder or archive that it is in is called like the image set train"),
        ("birds testing.zip", "val", "this is the image set val, but the folder or archive that it is in is called like the image set test"),
        ("train_val_test.zip", "val", ""),
        ("train.zip", "val", ""),
        ("birds.zip", "train", ""),
    ],
)  # fmt: skip
@pytest.mark.parametrize("place", ["in a list", "in a folder", "in a file"])
def test_an_archive_that_contradicts_what_is_in_it_is_a_problem(
    archive: str, inside: str, said: str, place: str, tmp_path: Path
) -> None:
    files: Files = {f"{inside}/{name}": content for name, content in exported("COCO", 1).items()}
    if place == "in a list":
        files = {"Annotations/a.xml": CAT, f"ImageSets/Main/{inside}.txt": b"a\n"}
    elif place == "in a file":
        files = {f"{inside}.csv": b"image,label\na.jpg,cat\n"}

    found = read_archives(tmp_path, ("public", archive, files))

    assert [said in each and said != "" for each in found.problems] == [True] * (said != "")


@pytest.mark.parametrize(
    ("archive", "names"),
    [("test.zip", ("train", "val", "test")), ("road testing 2.zip", ("train", "val"))],
)
def test_an_archive_with_several_sets_may_be_called_like_one(
    archive: str, names: tuple[str, ...], tmp_path: Path
) -> None:
    files = {f"{name}/_annotations.csv": f"image,label\n{name}.jpg,cat\n".encode() for name in names}

    found = read_archives(tmp_path, ("public", archive, files))

    assert (found.problems, {each.name for each in found.report.sets}) == ([], {*names})


@pytest.mark.parametrize("folder", ["train/", ""])
def test_a_file_that_a_list_of_a_hidden_set_names_is_never_quoted(folder: str, tmp_path: Path) -> None:
    wrong = CAT.replace(b"<xmin>1<", b"<xmin>secret<")
    lists = {f"{folder}ImageSets/Main/{name}.txt": b"a\n" for name in ("train", "test")}

    found = read(tmp_path, {f"{folder}Annotations/a.xml": wrong, **lists})

    assert [each for each in found.problems if "secret" in each] == []
    assert any("expected a number in <xmin>" in each for each in found.problems)


@pytest.mark.parametrize(
    ("one", "other", "is_told"),
    [("train", "test", True), ("train", "trainval", False), ("test", "test", False)],
)
@pytest.mark.parametrize("kind", ["Annotations", "SegmentationClass"])
def test_a_folder_of_files_that_contradicts_their_list_is_a_problem(
    kind: str, one: str, other: str, *, is_told: bool, tmp_path: Path
) -> None:
    files: Files = {f"V/{kind}/{one}/a.xml": CAT, f"V/ImageSets/Main/{other}.txt": b"a\n"}
    if kind == "SegmentationClass":
        mask = {f"V/{kind}/{one}/a.png": png(np.eye(40, 50)), "classes.txt": b"cat"}
        files = {**mask, f"V/ImageSets/Segmentation/{other}.txt": b"a\n"}

    problems = read(tmp_path, files).problems

    assert ["whose list names it; let both say the same" in each for each in problems] == [True] * is_told


@pytest.mark.parametrize(
    ("word", "name", "role"),
    [
        ("my test data", "test", "hidden"),
        ("val-test", "val-test", "hidden"),
        ("valtest", "val-test", "hidden"),
        ("testdata", "test", "hidden"),
        ("testA", "test", "hidden"),
        ("hold_out", "holdout", "hidden"),
        ("evaluation 2026", "eval", "hidden"),
        ("COCO test-dev2017", "test-dev", "hidden"),
        ("dev", "dev", "public"),
        ("birds trainval", "trainval", "public"),
        ("contest", "val", "public"),
    ],
)
@pytest.mark.parametrize("place", ["archive", "folder", "file", "folder above those of classes"])
def test_a_set_is_called_alike_by_archives_folders_and_files(
    word: str, name: str, role: str, place: str, tmp_path: Path
) -> None:
    archive, above, file = "birds.zip", "", "instances"
    if place == "archive":
        archive = f"{word}.zip"
    elif place == "file":
        file = word
    else:
        above = f"{word}/"
    files: Files = {f"{above}{file}.json": coco_file()}
    if place == "folder above those of classes":
        files = {f"{above}{each}": content for each, content in exported("folders", 1).items()}

    found = read_archives(tmp_path, ("public", archive, files))

    assert [(each.name, each.role) for each in found.report.sets] == [(name, role)]


def test_a_folder_of_pictures_whose_name_has_other_words_is_a_class(tmp_path: Path) -> None:
    files = {f"{name}/{name[:2]}.jpg": jpeg(shade=len(name)) for name in ("test tube", "flask", "dev board")}

    found = read(tmp_path, files)

    assert (found.problems, found.truth.lists.classes) == ([], ("dev board", "flask", "test tube"))
