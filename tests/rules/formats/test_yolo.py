"""YOLO's labels in the layouts of Ultralytics, Roboflow, Label Studio and CVAT."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from app.core import plain_yaml
from app.intake.formats.yolo import names_of
from tests.pages.data_sets import jpeg
from tests.rules.formats.builders import Read, read

SETTINGS = b"train: ../train/images\nnc: 2\nnames: ['cat', 'traffic light']\n"
A = b"0 0.5 0.5 0.2 0.5\n1 0.1 0.1 0.2 0.2\n"
B, EMPTY = b"1 0.5 0.5 0.1 0.1", b""
ONE, TWO = jpeg(50, 40), jpeg(50, 40, shade=9)

EXPORTS: dict[str, tuple[dict[str, bytes], list[str]]] = {
    "Ultralytics": (
        {
            "dataset/data.yaml": b"path: .\nnames:\n  0: cat\n  1: traffic light\n",
            "dataset/images/train/a.jpg": ONE, "dataset/labels/train/a.txt": A,
            "dataset/images/val/b.jpg": TWO, "dataset/labels/val/b.txt": B,
            "dataset/labels/train.cache": b"\x80",
        },
        ["train", "val"],
    ),
    "Roboflow": (
        {
            "data.yaml": SETTINGS, "README.roboflow.txt": b"Exported by a tool",
            "train/images/a.jpg": ONE, "train/labels/a.txt": A, "valid/images/b.jpg": TWO, "valid/labels/b.txt": B,
        },
        ["train", "val"],
    ),
    "Label Studio": (
        {
            "classes.txt": b"cat\ntraffic light\n", "notes.json": b'{"categories": []}',
            "images/a.jpg": ONE, "labels/a.txt": A, "images/b.jpg": TWO, "labels/b.txt": EMPTY,
        },
        ["val"],
    ),
    "CVAT": (
        {
            "obj.names": b"cat\r\ntraffic light\r\n", "obj.data": b"classes = 2\nnames = data/obj.names\n",
            "train.txt": b"data/obj_train_data/a.jpg\ndata/obj_train_data/b.jpg\n",
            "obj_train_data/a.jpg": ONE, "obj_train_data/a.txt": A, "obj_train_data/b.jpg": TWO, "obj_train_data/b.txt": EMPTY,
        },
        ["train"],
    ),
    "LabelImg": ({"classes.txt": b"cat\ntraffic light", "a.jpg": ONE, "a.txt": A, "b.jpg": TWO, "b.txt": EMPTY}, ["val"]),
}  # fmt: skip


def one(folder: Path, label: bytes, settings: bytes = SETTINGS, **more: bytes) -> Read:
    """A picture with these labels."""
    files: Mapping[str, bytes] = {"data.yaml": settings, "images/a.jpg": ONE, "labels/a.txt": label}
    return read(folder, {**files, **more})


@pytest.mark.parametrize("tool", EXPORTS)
def test_every_layout_is_read(tool: str, tmp_path: Path) -> None:
    files, names = EXPORTS[tool]

    found = read(tmp_path, files)

    assert found.problems == []
    assert [each.name for each in found.report.sets] == names
    assert sum(each.images for each in found.report.sets) == 2
    assert [each.without_picture for each in found.report.sets] == [0] * len(names)
    truth = found.truths["public-0"]
    assert truth.lists.classes == ("cat", "traffic light")
    assert truth.tables.objects.boxes.tolist() == [[20, 10, 30, 30], [0, 0, 10, 8]]


def test_sizes_come_from_the_zone_for_images(tmp_path: Path) -> None:
    found = read(tmp_path, {"data.yaml": SETTINGS, "labels/a.txt": A}, images={"a.jpg": ONE})

    assert found.problems == []
    assert found.truth.tables.objects.boxes.tolist() == [[20, 10, 30, 30], [0, 0, 10, 8]]


def test_labels_without_a_picture_are_a_problem_that_names_the_way_out(tmp_path: Path) -> None:
    found = read(tmp_path, {"data.yaml": SETTINGS, "labels/a.txt": A, "labels/b.txt": A})

    assert found.problems == [
        (
            "labels/a.txt: 2 files like this one are of no image that was sent; boxes are shares of its width and height, so send the "
            "image here or in the zone for images"
        )
    ]


def test_pictures_without_labels_are_images_without_objects_and_told(tmp_path: Path) -> None:
    found = one(tmp_path, A, **{"images/b.jpg": TWO})

    assert (found.problems, found.truth.lists.images) == ([], ("a", "b"))
    assert any("1 image has no label file, such as images/b.jpg" in each for each in found.warnings)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b"2 0.5 0.5 0.1 0.1", "expected a number of one of the 2 classes, counted from 0, found 2"),
        (b"cat 0.5 0.5 0.1 0.1", "expected a whole number of a class first, found cat"),
        (b"0 0.5 x 0.1 0.1", "expected shares of the image's width and height from 0 to 1, found x"),
        (b"0 250 100 30 20", "expected shares of the image's width and height from 0 to 1, found 250"),
        (b"0 0.5 0.5 nan 0.1", "expected shares of the image's width and height from 0 to 1, found nan"),
        (b"0 0.5 0.5 0.1 0.1 0.9", "a sixth field seems to be a confidence, which predictions have"),
        (b"0 0.5 0.5", "found 3 fields"),
    ],
)
def test_a_line_that_is_wrong_is_told_with_its_number(line: bytes, told: str, tmp_path: Path) -> None:
    [problem] = one(tmp_path, b"0 0.5 0.5 0.1 0.1\n\n" + line).problems

    assert problem.startswith("labels/a.txt:3: ")
    assert problem.endswith(told)


def test_polygons_are_read_as_boxes_with_a_warning(tmp_path: Path) -> None:
    found = one(tmp_path, b"0 0.1 0.25 0.5 0.25 0.5 0.75\n" + A)

    assert found.problems == []
    assert found.truth.tables.objects.boxes[0].tolist() == [5, 10, 25, 30]
    assert any("1 of 3 objects of val are polygons" in each for each in found.warnings)


def test_nothing_but_four_points_is_refused(tmp_path: Path) -> None:
    [problem] = one(tmp_path, b"0 0.1 0.1 0.5 0.2 0.4 0.6 0.1 0.5\n").problems

    assert problem.startswith(
        "labels/a.txt: every line has four points: rotated boxes (OBB), which are not scored"
    )


def test_settings_that_are_no_plain_yaml_are_a_problem_that_names_the_line(tmp_path: Path) -> None:
    settings = b'path: "C:\\data"\nnames: [cat, traffic light]\n'

    [problem] = one(tmp_path, A, settings).problems

    assert problem.startswith("data.yaml:1: these settings cannot be read: this is not YAML: ")


def test_another_number_of_classes_than_the_settings_say_is_told(tmp_path: Path) -> None:
    found = one(tmp_path, A, SETTINGS.replace(b"nc: 2", b"nc: 3"))

    assert found.problems == []
    assert any("'nc' says 3, but there are 2 names" in each for each in found.warnings)


def test_poses_are_refused(tmp_path: Path) -> None:
    [problem] = one(tmp_path, A, SETTINGS + b"kpt_shape: [17, 3]\n").problems

    assert (
        problem == "data.yaml: 'kpt_shape' says that the labels are poses, which are not scored; send boxes"
    )


def test_two_lists_of_classes_that_differ_are_a_problem(tmp_path: Path) -> None:
    [problem] = one(tmp_path, A, **{"labels/classes.txt": b"dog\ncat\n"}).problems

    assert problem == "data.yaml: this file and labels/classes.txt name other classes; send one of them"


def test_an_image_that_cannot_be_read_is_a_problem_without_its_label_file(tmp_path: Path) -> None:
    found = one(tmp_path, A, **{"images/b.jpg": b"0 0.5 0.5 0.1 0.1"})

    assert found.codes >= {"bad-picture", "no-label-file"}
    assert found.report.sets == ()


def test_another_encoding_of_names_is_a_problem_that_names_the_line(tmp_path: Path) -> None:
    files = {"images/a.jpg": ONE, "labels/a.txt": A, "classes.txt": "cat\nbär\n".encode("cp1252")}

    assert read(tmp_path, files).problems == [
        "classes.txt:2: this line is not UTF-8; save the file as text in UTF-8, or choose the encoding that it has: windows-1252, gb18030, shift_jis"
    ]


def test_label_files_that_are_empty_or_perhaps_cut_off_are_told_with_their_count(tmp_path: Path) -> None:
    found = one(
        tmp_path,
        A,
        **{
            "images/b.jpg": TWO,
            "labels/b.txt": A.strip(),
            "images/c.jpg": jpeg(shade=3),
            "labels/c.txt": b"",
        },
    )

    assert {
        "1 label file is empty, such as labels/c.txt: val has their images without objects",
        "1 of 2 label files of val end within a line, such as labels/b.txt; send them again if they were cut off",
    } <= {*found.warnings}


def test_classes_without_names_are_called_by_their_numbers(tmp_path: Path) -> None:
    found = read(tmp_path, {"images/a.jpg": ONE, "labels/a.txt": A})

    assert found.truth.lists.classes == ("class0", "class1")
    assert "no-class-names" in found.codes


def test_a_class_number_of_thousands_of_digits_is_a_problem_where_classes_have_no_names(
    tmp_path: Path,
) -> None:
    line = b"9" * 5000 + b" 0.5 0.5 0.1 0.1"

    [problem] = read(tmp_path, {"images/a.jpg": ONE, "labels/a.txt": b"0 0.5 0.5 0.1 0.1\n" + line}).problems

    assert problem.startswith("labels/a.txt:2: expected a whole number of a class first, found 999")


def test_of_hidden_labels_nothing_is_quoted(tmp_path: Path) -> None:
    files = {"data.yaml": SETTINGS, "labels/a.txt": b"0 0.1 0.1 0.1 0.1\nsecret 1 2 3 4\n0 7 0.1 0.1 0.1"}

    found = read(tmp_path, files, role="hidden", images={"a.jpg": ONE})

    assert [each.message for each in found.report.problems] == [
        "expected a whole number of a class first, found …",
        "expected shares of the image's width and height from 0 to 1, found …",
    ]


@pytest.mark.parametrize(
    "text",
    ["names:\n- 'it''s'\n- b", 'names: [ "it\'s",\n b, ]', "names:\n  '0': it's # x\n\n  1: b\nnc: 2", "names: {0: it's, 1: b}"],
)  # fmt: skip
def test_names_are_read_in_every_way_that_tools_write_them(text: str) -> None:
    assert names_of(plain_yaml.read(text.encode(), 100).value) == ("it's", "b")


@pytest.mark.parametrize(
    "text",
    ["", "names: 3", "names:\n  1: a\n  2: b", "names: [[a], [b]]", "names: {00: a, 1: b}", "names: []"],
)
def test_names_that_are_written_in_another_way_are_none(text: str) -> None:
    assert names_of(plain_yaml.read(text.encode(), 100).value) == ()


def test_folders_may_be_called_by_their_set_and_what_is_in_them(tmp_path: Path) -> None:
    files = {"classes.txt": b"cat\ndog\n"}
    for number, name in enumerate(("train", "val")):
        files |= {f"{name}_images/a.jpg": jpeg(shade=number), f"{name}_labels/a.txt": b"0 .5 .5 .2 .2\n"}

    found = read(tmp_path, files)

    assert found.problems == []
    assert {each.name: (each.images, each.objects) for each in found.report.sets} == {
        "train": (1, 1),
        "val": (1, 1),
    }


def test_two_pictures_of_one_label_file_are_a_problem(tmp_path: Path) -> None:
    pictures = {"images/a.jpg": jpeg(), "images/a.jpeg": jpeg(shade=1)}

    found = read(tmp_path, {**pictures, "labels/a.txt": b"0 .5 .5 .2 .2\n", "classes.txt": b"cat\n"})

    assert {each.code for each in found.report.problems} == {"two-pictures"}


@pytest.mark.parametrize("folder", ["masks", "train_masks", "SegmentationClass"])
def test_label_images_beside_labels_are_no_images_without_objects(folder: str, tmp_path: Path) -> None:
    [said] = one(tmp_path, A, **{f"{folder}/a.png": jpeg(), f"{folder}/b.png": jpeg()}).problems

    words = "2 files like this one are in a folder of label images, but annotation was recognised as YOLO's labels"
    assert said.startswith(f"{folder}/a.png: {words}")


def test_a_set_comes_from_the_folder_of_its_labels(tmp_path: Path) -> None:
    found = read(tmp_path, EXPORTS["Roboflow"][0])

    assert [each.source for each in found.report.sets] == ["train/labels", "valid/labels"]


def test_labels_in_one_folder_belong_to_the_sets_of_their_images(tmp_path: Path) -> None:
    files = {"data.yaml": SETTINGS, "labels/a.txt": A, "labels/b.txt": B}

    found = read(tmp_path, {**files, "images/train/a.jpg": ONE, "images/test/b.jpg": TWO})

    assert found.problems == []
    assert {each.name: each.objects for each in found.report.sets} == {"test": 1, "train": 2}


def test_labels_of_images_in_two_sets_are_not_guessed(tmp_path: Path) -> None:
    files = {"data.yaml": SETTINGS, "labels/a.txt": A}

    found = read(tmp_path, {**files, "images/train/a.jpg": ONE, "images/test/a.jpg": TWO})

    assert {"two-pictures", "no-picture"} == {each.code for each in found.report.problems}


IN_OTHER_CASE: dict[str, tuple[dict[str, bytes], str]] = {
    "folders": ({"data.yaml": SETTINGS, "images/A.JPG": ONE, "labels/a.txt": A}, "val"),
    "folders in other case": ({"data.yaml": SETTINGS, "images/Cam/a.jpg": ONE, "labels/cam/A.TXT": A}, "val"),
    "beside each other": ({"A.JPG": ONE, "a.txt": A}, "val"),
    "in a set": ({"data.yaml": SETTINGS, "train/images/A.JPG": ONE, "train/labels/a.txt": A}, "train"),
    "images in sets": (
        {"data.yaml": SETTINGS, "images/train/A.JPG": ONE, "images/test/b.jpg": TWO, "labels/a.txt": A, "labels/B.txt": B},
        "train",
    ),
    "in a list": ({"data.yaml": SETTINGS, "train.txt": b"images/A.JPG\n", "images/A.JPG": ONE, "labels/a.txt": A}, "train"),
    "otherwise in a list": ({"data.yaml": SETTINGS, "train.txt": b"images/a.jpg\n", "images/A.JPG": ONE, "labels/a.txt": A}, "train"),
}  # fmt: skip


@pytest.mark.parametrize("layout", IN_OTHER_CASE)
def test_label_files_are_found_in_upper_or_lower_case(layout: str, tmp_path: Path) -> None:
    files, name = IN_OTHER_CASE[layout]

    found = read(tmp_path, files)

    assert found.problems == []
    [view] = [each for each in found.report.sets if each.name == name]
    assert (view.images, view.without_picture) == (1, 0)
    truth = found.truths[view.key]
    assert [each.casefold() for each in truth.lists.images] in (["a"], ["cam_a"])
    assert truth.tables.objects.boxes.tolist() == [[20, 10, 30, 30], [0, 0, 10, 8]]


def test_the_name_as_it_is_written_goes_before_upper_or_lower_case(tmp_path: Path) -> None:
    files = {
        "data.yaml": SETTINGS,
        "labels/a.txt": A,
        "labels/b.txt": B,
        "images/test/b.jpg": jpeg(50, 40, shade=5),
    }

    found = read(tmp_path, {**files, "images/train/a.jpg": ONE, "images/test/A.jpg": TWO})

    assert found.problems == []
    assert {each.name: each.objects for each in found.report.sets} == {"train": 2, "test": 1}


@pytest.mark.parametrize("role", ["public", "hidden"])
@pytest.mark.parametrize(
    ("pictures", "labels", "words"),
    [
        (["Ab.jpg", "images/aB.jpg"], ["labels/ab.txt"], "aB.jpg: this image and {} would have the same label file; "),
        (["images/AB.jpg"], ["Ab.txt", "labels/aB.txt"], "aB.txt: this label file and {} would be of the same image; "),
        (["images/ab.jpg"], ["AB.txt", "labels/ab.txt"], "ab.txt: this label file and {} would be of the same image; "),
        (["a.jpg"], ["a.txt", "labels/a.txt"], "a.txt: this label file and {} would be of the same image; "),
    ],
    ids=["two images", "two label files", "one as written", "both as written"],
)  # fmt: skip
def test_what_fits_two_in_upper_or_lower_case_is_a_problem_that_names_both(
    pictures: list[str], labels: list[str], words: str, role: str, tmp_path: Path
) -> None:
    files = {name: jpeg(shade=number) for number, name in enumerate(pictures)} | dict.fromkeys(labels, A)

    found = read(tmp_path, {"data.yaml": SETTINGS, **files}, role=role)

    other = (pictures if len(pictures) > 1 else labels)[0]
    told = words.format(other if role == "public" else "…")
    assert any(told in each for each in found.problems), found.problems


def test_label_files_of_two_images_of_one_name_in_sets_are_not_guessed(tmp_path: Path) -> None:
    files = {"data.yaml": SETTINGS, "labels/ab.txt": A}

    found = read(tmp_path, {**files, "images/train/Ab.jpg": ONE, "images/test/aB.jpg": TWO})

    assert "no-picture" in {each.code for each in found.report.problems}


def test_labels_in_utf_16_are_read(tmp_path: Path) -> None:
    found = one(tmp_path, A.decode().encode("utf-16"))

    assert (found.problems, found.truth.tables.objects.name.tolist()) == ([], [0, 1])


@pytest.mark.parametrize("folders", ["", "xy"])
def test_an_image_in_lists_of_two_sets_is_a_problem(folders: str, tmp_path: Path) -> None:
    x, y = (f"{each}/" for each in folders) if folders else ("", "")
    files = {f"images/{each}a.jpg": ONE if each == x else TWO for each in (x, y)}
    files |= {f"labels/{each}a.txt": A for each in (x, y)}
    lists = {"train.txt": f"images/{x}a.jpg\n".encode(), "val.txt": f"images/{y}a.jpg\n".encode()}

    found = read(tmp_path, {"data.yaml": SETTINGS, **files, **lists})

    [said] = found.problems
    assert said.startswith("val.txt: 1 image is in lists of two sets by name, such as a; list each once")


def test_a_folder_that_contradicts_a_list_is_a_problem_and_one_that_agrees_tells_names_apart(
    tmp_path: Path,
) -> None:
    files = {f"images/{each}/a.jpg": picture for each, picture in (("train", ONE), ("test", TWO))}
    files |= {f"labels/{each}/a.txt": A for each in ("train", "test")} | {"data.yaml": SETTINGS}
    (tmp_path / "agree").mkdir()
    (tmp_path / "contradict").mkdir()
    agreeing = {f"{each}.txt": f"images/{each}/a.jpg\n".encode() for each in ("train", "test")}

    found = read(tmp_path / "agree", {**files, **agreeing})
    [said] = read(tmp_path / "contradict", {**files, "test.txt": b"images/train/a.jpg\n"}).problems

    assert (found.problems, {each.name: each.images for each in found.report.sets}) == (
        [],
        {"train": 1, "test": 1},
    )
    assert said == (
        "test.txt: 1 image is in a folder that is called like another image set than the list with their names, such as …; "
        "let both say the same"
    )


def settled(settings: str, *folders: str) -> dict[str, bytes]:
    """Settings, and in each folder below `images` and `labels` an image with an object."""
    files = {"data.yaml": f"{settings}\nnames: [cat]\n".encode()}
    for name, folder in zip("abc", folders, strict=False):
        files |= {
            f"images/{folder}{name}.jpg": jpeg(shade=ord(name)),
            f"labels/{folder}{name}.txt": b"0 0.5 0.5 0.1 0.1\n",
        }
    return files


@pytest.mark.parametrize(
    ("settings", "folders", "sets", "told"),
    [
        ("path: ../x\ntrain: images/one\nval:\n- images/two\ntest: /x/images/three", ("one/", "two/", "three/"), {"train": 1, "val": 1, "test": 1}, ""),
        ("train:\n- images/one\n- images/two\nval: images/val", ("one/", "two/", "val/"), {"train": 2, "val": 1}, ""),
        ("train: images/train\nval: images/train", ("train/", "train/"), {"train": 2}, ""),
        ("train: images", ("",), {"train": 1}, ""),
        ("train: ../train/images\nval: ../valid/images", ("", ""), {"val": 2}, "warning: train and val have other folders here than those that were sent"),
        ("train: images\nval: images", ("",), {"val": 1}, "problem: the folder labels is given to train and val here; give each image set a folder"),
        ("val: images/test", ("test/",), {"test": 1}, "warning: the folder … is given to val here, but it is called like test, which counts"),
        ("test: images/train", ("train/",), {"train": 1}, "problem: the folder labels/train is given to test here, but it is called like train; call both"),
    ],
)  # fmt: skip
def test_sets_are_those_that_settings_name(
    settings: str, folders: tuple[str, ...], sets: dict[str, int], told: str, tmp_path: Path
) -> None:
    found = read(tmp_path, settled(settings, *folders))

    assert {each.name: each.objects for each in found.report.sets} == sets
    said = [
        f"{kind}: {words.removeprefix('data.yaml: ')}"
        for kind, some in (("problem", found.problems), ("warning", found.warnings))
        for words in some
    ]
    assert [each for each in said if "here" in each and each.startswith(told)] == [
        each for each in said if "here" in each
    ]
    assert any(each.startswith(told) for each in said) if told else found.problems == []


def test_images_in_no_list_where_others_are_in_some_are_a_problem(tmp_path: Path) -> None:
    lists = {
        f"autosplit_{name}.txt": f"./images/{image}.jpg\n".encode()
        for name, image in (("train", "a"), ("val", "b"))
    }

    found = read(tmp_path, {**settled("train: autosplit_train.txt", "", "", ""), **lists})

    assert found.problems == [
        "images/c.jpg: 2 files like this one are in no list of an image set, though others are in train and val; list them, too"
    ]
    assert {each.name: each.images for each in found.report.sets} == {"train": 1, "val": 1}


def test_numbers_of_classes_that_seem_to_begin_with_1_are_told(tmp_path: Path) -> None:
    def labels(*numbers: int) -> bytes:
        return b"".join(
            b"%d 0.5 0.5 0.1 0.%d\n" % (number, place) for number in numbers for place in (1, 2, 3)
        )

    files = {"images/a.jpg": jpeg(), "images/b.jpg": jpeg(shade=1), "data.yaml": b"names: [cat, dog, cow]"}
    for number, (one, other, is_told) in enumerate([(1, 2, True), (0, 2, False), (1, 1, False)]):
        (tmp_path / str(number)).mkdir()
        found = read(
            tmp_path / str(number), {**files, "labels/a.txt": labels(one), "labels/b.txt": labels(other)}
        )

        assert [each.code for each in found.report.warnings].count("labels-from-1") == is_told
