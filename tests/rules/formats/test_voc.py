"""VOC's XML as tools and people arrange it: development kits, LabelImg, Roboflow, Kaggle, CVAT, roLabelImg."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from heldout_scoring import labels_to_png
from tests.pages.data_sets import jpeg, kit
from tests.rules.formats.builders import png, read
from tests.scoring.builders import annotation, thing

BOX = (5, 5, 20, 20)
CAT, DOG = annotation(thing("cat", BOX)).encode(), annotation(thing("dog", BOX)).encode()
ROTATED = b"<object><type>robndbox</type><name>cat</name><robndbox><cx>5</cx><cy>5</cy><w>4</w><h>4</h><angle>1</angle></robndbox></object>"
Files = Mapping[str, bytes]


@pytest.mark.parametrize(
    ("files", "sets"),
    [
        ({"images/a.jpg": jpeg(), "images/a.xml": CAT}, {"val": ["a"]}),
        ({"annotations/a.xml": CAT, "images/a.png": jpeg()}, {"val": ["a"]}),
        ({"a.XML": CAT, "sub/b.xml": DOG}, {"val": ["a", "b"]}),
        (
            {f"{name}/{name}_jpg.rf.1.{end}": CAT if end == "xml" else jpeg() for name in ("train", "test") for end in ("xml", "jpg")},
            {"test": ["test_jpg.rf.1"], "train": ["train_jpg.rf.1"]},
        ),
        ({"train/Annotations/a.xml": CAT, "test/Annotations/b.xml": CAT}, {"test": ["b"], "train": ["a"]}),
        ({"V/annotations/sub/a.xml": CAT, "V/jpegimages/sub/a.jpg": jpeg(), "V/imagesets/main/val.txt": b"sub/a\n"}, {"val": ["a"]}),
        ({"V/Annotations/a.xml": CAT, "V/ImageSets/Main/default.txt": b"# CVAT\n\na.jpg\n"}, {"default": ["a"]}),
        (
            {"V/Annotations/a.xml": CAT, "V/Annotations/b.xml": CAT,
             "V/ImageSets/Main/day_test.txt": b"a\n", "V/ImageSets/Main/test.txt": b"a\nb\n"},
            {"day_test": ["a"], "test": ["a", "b"]},
        ),
        (kit("val"), {"val": ["a", "b", "c"]}),
    ],
    ids=["LabelImg", "Kaggle", "XML alone", "Roboflow", "kits in sets", "sub folders", "comments", "sets, no labels", "kit"],
)  # fmt: skip
def test_xml_is_read_wherever_it_is(files: Files, sets: Mapping[str, list[str]], tmp_path: Path) -> None:
    found = read(tmp_path, files)

    of_hidden = {"small-class", "same-picture"}  # as sets that are called test are
    assert (found.problems, found.codes - {"annotation-without-picture", *of_hidden}) == ([], set())
    assert {each.name: [*found.truths[each.key].lists.images] for each in found.report.sets} == sets
    assert found.report.images.count == sum(name.lower().endswith(("jpg", "png")) for name in files)


def test_a_set_of_two_words_has_label_files_or_is_one_itself(tmp_path: Path) -> None:
    lists = {
        "test": b"a\nb\n",
        "day_test": b"a\n",
        "cat_test": b"a 1\nb -1\n",
        "dog_test": b"a -1\nb 1\n",
        "cat_day_test": b"a 1\n",
        "dog_day_test": b"a -1\n",
    }
    files = {f"ImageSets/Main/{name}.txt": content for name, content in lists.items()}

    found = read(tmp_path, {**files, "Annotations/a.xml": CAT, "Annotations/b.xml": DOG}, role="hidden")

    assert found.problems == []
    assert {each.name: found.truths[each.key].lists.images for each in found.report.sets} == {
        "day_test": ("a",),
        "test": ("a", "b"),
    }
    assert found.truths["hidden-1"].lists.classes == ("cat", "dog")


def test_a_list_with_labels_is_of_a_class_whatever_it_is_called(tmp_path: Path) -> None:
    lists = {"test": b"a\nb\n", "cat_test": b"a 1\nb -1\n", "day_test": b"a -1\nb 0\n"}
    files = {f"ImageSets/Main/{name}.txt": content for name, content in lists.items()}

    found = read(tmp_path, {**files, "Annotations/a.xml": CAT, "Annotations/b.xml": annotation().encode()})

    assert found.problems == []
    assert [each.name for each in found.report.sets] == ["test"]
    assert found.truth.lists.classes == ("cat", "day")


def test_files_that_no_list_names_and_drawings_are_left_out_with_their_count(tmp_path: Path) -> None:
    files = {f"Annotations/{name}.xml": CAT for name in "abc"} | {"ImageSets/Main/val.txt": b"a\n"}
    beside = {"SegmentationObject/a.png": jpeg(), "AnnotationsVisualization/a.jpg": jpeg()}
    beside |= {"JPEGImages/a.jpg": jpeg()}

    found = read(tmp_path, {**files, **beside})

    assert found.problems == []
    assert found.warnings[:2] == [
        "2 files are left out, such as AnnotationsVisualization/a.jpg: drawings and masks of objects are not read",
        "2 files are left out, such as Annotations/b.xml: no list in ImageSets names them",
    ]


def test_a_list_that_names_a_missing_file_is_told_with_the_line(tmp_path: Path) -> None:
    files = {"Annotations/a.xml": CAT, "ImageSets/Main/val.txt": b"# first\na\nnone\n"}

    found = read(tmp_path, files)

    assert found.problems == ["ImageSets/Main/val.txt:3: there is no annotation file of the image 'none'"]


def test_two_annotation_files_of_one_image_are_both_named(tmp_path: Path) -> None:
    found = read(tmp_path, {"x/a.xml": CAT, "y/a.xml": DOG})

    assert found.problems == ["y/a.xml: two annotation files are of one image; the other one is x/a.xml"]


@pytest.mark.parametrize("name", ["a b (1)", "图1"])
@pytest.mark.parametrize("lists", [True, False], ids=["listed", "unlisted"])
def test_an_image_of_any_name_is_read_for_neutral_names_alone(
    name: str, tmp_path: Path, *, lists: bool
) -> None:
    files = {f"V/Annotations/{name}.xml": CAT, f"V/JPEGImages/{name}.jpg": jpeg()}
    files |= {"V/ImageSets/Main/test.txt": f'"{name}"\n'.encode()} if lists else {}
    refused, neutral = (tmp_path / each for each in ("refused", "neutral"))
    refused.mkdir()
    neutral.mkdir()

    [problem] = read(refused, files, role="hidden").problems
    found = read(neutral, files, role="hidden", secret=b"secret")

    assert (
        f"1 of the images of test have names that cannot stand in the lines of results, such as {name};"
        in problem
    )
    assert found.problems == []
    assert found.truth.lists.images[0].isdigit()
    assert found.report.sets[0].without_picture == 0


@pytest.mark.parametrize(
    ("encoding", "declared"),
    [("gbk", "gb2312"), ("shift_jis", "Shift_JIS"), ("utf-16", "utf-16"), ("utf-8", "utf-16"), ("utf-8-sig", "")],
)  # fmt: skip
def test_a_declared_encoding_is_read(encoding: str, declared: str, tmp_path: Path) -> None:
    head = f'<?xml version="1.0" encoding="{declared}"?>\n' if declared else ""

    found = read(tmp_path, {"a.xml": (head + CAT.decode().replace("cat", "犬")).encode(encoding)})

    assert found.problems == []
    assert found.truth.lists.classes == ("犬",)


def test_an_encoding_that_is_not_declared_is_told_with_the_line(tmp_path: Path) -> None:
    page = CAT.replace(b"<object>", b"\n\n<object>").decode().replace("cat", "狗").encode("gbk")

    found = read(tmp_path, {"a.xml": page, "b.xml": b'<?xml version="1.0" encoding="unicode_escape"?>' + CAT})

    encoding, unknown = found.problems
    assert encoding.startswith(
        "a.xml:3: this line is not in the encoding of the file, UTF-8: declare it in the first line, or save the file as UTF-8, or choose the "
    )
    assert (
        unknown
        == "b.xml:1: the encoding unicode_escape that this file declares is not read; save it as UTF-8"
    )


def test_the_size_of_the_picture_takes_the_place_of_0(tmp_path: Path) -> None:
    zero = annotation(thing("cat", BOX), width=0, height=0).encode()
    (tmp_path / "alone").mkdir()

    found = read(tmp_path, {"a.xml": zero}, images={"a.jpg": jpeg()})
    alone = read(tmp_path / "alone", {"a.xml": zero})

    assert found.problems == []
    assert found.truth.tables.sizes.tolist() == [[50, 40]]
    [problem] = alone.problems
    assert problem.startswith("a.xml:1: the image's size is 0")


@pytest.mark.parametrize(
    ("shape", "words"),
    [(ROTATED, "rotated boxes (robndbox) of roLabelImg are not read"), (ROTATED.replace(b"robndbox", b"polygon"), "polygons are not read")],
    ids=["robndbox", "polygon"],
)  # fmt: skip
@pytest.mark.parametrize("role", ["public", "hidden"])
def test_other_shapes_are_told_in_one_sentence(shape: bytes, words: str, role: str, tmp_path: Path) -> None:
    page = CAT.replace(b"</annotation>", shape * 2 + b"</annotation>")

    found = read(tmp_path, {"Annotations/a.xml": page, "Annotations/b.xml": page}, role=role)

    [problem] = found.problems
    assert problem.startswith(f"Annotations/a.xml: 4 objects of 2 files: {words}")


def test_flags_in_words_are_told_once_with_their_count(tmp_path: Path) -> None:
    page = annotation(*[thing("cat", BOX, said="difficult").replace("<difficult>1", "<difficult>True")] * 2)

    found = read(tmp_path, {"a.xml": page.encode(), "b.xml": page.encode()})

    [warning] = [each for each in found.warnings if "difficult" in each]
    assert warning == (
        "a.xml: <difficult> of object 1 is 'True', which is not 1 and so counts as 0, as in the development kit; "
        "the same goes for 3 other flags, in 2 files in all"
    )


def test_widths_and_heights_in_place_of_corners_are_told_with_their_count(tmp_path: Path) -> None:
    found = read(
        tmp_path, {"a.xml": annotation(thing("cat", (20, 20, 5, 5)), thing("cat", (30, 5, 9, 9))).encode()}
    )

    assert len(found.problems) == 2
    assert any(
        "2 boxes have right < left or bottom < top: <xmax> and <ymax> may hold width and height" in each
        for each in found.warnings
    )


@pytest.mark.parametrize(("role", "example"), [("public", "0.25 0.5 0.75 1"), ("hidden", "…")])
def test_shares_of_the_sides_are_told_with_an_example(role: str, example: str, tmp_path: Path) -> None:
    shares = thing("cat", (0.25, 0.5, 0.75, 1))

    found = read(tmp_path, {"a.xml": annotation(shares).encode()}, role=role)

    assert found.problems == []
    [told] = [each for each in found.warnings if "shares of width and height" in each]
    assert told.endswith(f"the first is object 1 of a, {example}")


@pytest.mark.parametrize(
    ("classes", "mask"),
    [
        ({"V/labelmap.txt": b"background:0,0,0::\nroad:128,0,0::\ncat:0,128,0::\n"}, png([[[0, 0, 0], [128, 0, 0], [0, 128, 0]]])),
        ({"V/class_names.txt": b"_background_\nroad\ncat\n"}, png([[0, 1, 2]])),
    ],
    ids=["CVAT", "list"],
)  # fmt: skip
def test_label_images_of_a_kit_have_the_classes_that_a_file_names(
    classes: Files, mask: bytes, tmp_path: Path
) -> None:
    page = annotation(thing("cat", (1, 1, 1, 1)), thing("emu", (2, 1, 2, 1)), width=3, height=1).encode()
    lists = {"V/ImageSets/Main/val.txt": b"a\n", "V/ImageSets/Segmentation/val.txt": b"a\n"}

    found = read(
        tmp_path, {"V/Annotations/a.xml": page, "V/SegmentationClass/a.png": mask, **lists, **classes}
    )

    assert found.problems == []
    truth = found.truth
    assert truth.lists.classes == ("road", "cat", "emu")
    assert truth.tables.masks[0].tolist() == [[0, 1, 2]]
    assert truth.tables.objects.name.tolist() == [1, 2]
    assert truth.tables.labels.tolist() == [[-1], [1], [1]]


def test_the_order_of_classes_that_no_file_names_is_told(tmp_path: Path) -> None:
    page = annotation(thing("cat", (1, 1, 1, 1)), width=2, height=1).encode()

    found = read(
        tmp_path,
        {
            "V/Annotations/a.xml": page,
            "V/SegmentationClass/a.png": labels_to_png(np.array([[0, 1]], np.uint8)),
        },
    )

    assert found.problems == []
    assert found.truth.lists.segmentation == ("a",)
    assert "label-order" in found.codes


def test_annotation_that_names_the_file_of_another_image_is_told(tmp_path: Path) -> None:
    named = {name: CAT.replace(b"<annotation>", f"<annotation><filename>{file}</filename>".encode()) for name, file in
             {"a.xml": "A.jpg", "b.xml": "images/a.jpg", "c.xml": "c"}.items()}  # fmt: skip
    named |= {
        name: CAT.replace(b"<annotation>", f"<annotation><path>C:\\x\\{file}</path>".encode())
        for name, file in (("d.xml", "a.jpg"), ("e.xml", "e.jpg"))
    }

    found = read(tmp_path, named)

    assert found.problems == []
    [warning] = [each for each in found.warnings if "<filename> or <path>" in each]
    assert warning.startswith("b.xml")
    assert "names the file of another image, as 2 files do; the name of the XML file is read" in warning


@pytest.mark.parametrize(("labels", "count"), [(b"a 1\nb -1\n", 0), (b"a 1\nb 0\n", 0), (b"a -1\nb 1\n", 2)])
def test_lists_that_contradict_objects_are_told_with_their_count(
    labels: bytes, count: int, tmp_path: Path
) -> None:
    lists = {"ImageSets/Main/val.txt": b"a\nb\n", "ImageSets/Main/cat_val.txt": labels}

    found = read(tmp_path, {"Annotations/a.xml": CAT, "Annotations/b.xml": annotation().encode(), **lists})

    assert found.problems == []
    told = [each for each in found.warnings if "the lists of classes say 1 where there is no object" in each]
    assert [f"in {count} of 2 pairs of a class and an image of val" in each for each in told] == [
        True
    ] * bool(count)
