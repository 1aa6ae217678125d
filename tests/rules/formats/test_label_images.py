"""Label images as tools write them: indexed, grey, in colours; what their values mean is never guessed."""

from pathlib import Path

import numpy as np
import pytest

from heldout_scoring import labels_to_png
from heldout_scoring.data.label_maps import LABEL_COLOURS
from tests.pages.data_sets import jpeg
from tests.rules.formats.builders import png, read

LABELS = np.array([[0, 1, 1], [2, 2, 255]], np.uint8)
INDEXED = labels_to_png(LABELS)
COLOURS = np.frombuffer(LABEL_COLOURS, np.uint8).reshape(-1, 3)
LABELMAP = b"# label:color_rgb:parts:actions\nbackground:0,0,0::\nroad:128,0,0::\ncar:0,128,0::\nignored:224,224,192::\n"


def labels_of(found: object, image: int = 0) -> list[list[int]]:
    return found.tables.masks[image].tolist()  # type: ignore[attr-defined, no-any-return]


@pytest.mark.parametrize(
    "files",
    [
        {"a.png": INDEXED, "classes.txt": b"road\ncar\n"},
        {"a.png": INDEXED, "classes.txt": b"background\nroad\ncar\n"},
        {"masks/a.png": png(LABELS), "masks/classes.txt": b"__ignore__\n_background_\nroad\ncar\n"},
        {"SegmentationClass/a.png": png(COLOURS[LABELS]), "labelmap.txt": LABELMAP},
        {"SegmentationClass/a.png": INDEXED, "labelmap.txt": LABELMAP, "classes.txt": b"road\ncar"},
        {"masks/a.png": png(COLOURS[LABELS]), "label_colors.txt": b"0 0 0\tVoid\n128 0 0\troad\n0 128 0\tcar\n224 224 192 ignore"},
        {"masks/a.png": png(COLOURS[LABELS]), "class_dict.csv": b"name,r,g,b\nbackground,0,0,0\nroad,128,0,0\ncar,0,128,0\n"},
    ],
    ids=["indexed", "background first", "labelme", "CVAT", "CVAT indexed", "CamVid", "class_dict"],
)  # fmt: skip
def test_label_images_of_every_tool_say_the_same(files: dict[str, bytes], tmp_path: Path) -> None:
    found = read(tmp_path, files)

    assert found.problems == []
    assert found.truth.lists.classes == ("road", "car")
    background = 255 if "label_colors.txt" in files else 0
    assert labels_of(found.truth) == [[background, 1, 1], [2, 2, 255]]
    assert ("background-first" in found.codes) == any(
        "background" in str(each[:30]) for each in files.values() if each[:1] in b"b_"
    )


def test_a_tree_without_annotations_has_its_sets_from_its_lists(tmp_path: Path) -> None:
    tree = {f"V/SegmentationClass/{name}.png": png(LABELS) for name in "abc"}
    lists = {
        "V/ImageSets/Segmentation/train.txt": b"a\n",
        "V/ImageSets/Segmentation/val.txt": b"b\nmissing\n",
    }
    beside = {"V/SegmentationClassVisualization/a.jpg": jpeg(), "V/SegmentationObject/a.png": INDEXED}
    pictures = {"V/JPEGImages/a.jpg": jpeg(3, 2)}

    found = read(
        tmp_path, {**tree, **lists, **beside, **pictures, "V/class_names.txt": b"_background_\nroad\ncar\n"}
    )

    assert {each.name: each.images for each in found.report.sets} == {"train": 1, "val": 1}
    assert found.problems == ["V/ImageSets/Segmentation/val.txt:2: there is no label image of missing"]
    assert {"beside-label-images", "not-listed", "background-first"} <= found.codes
    assert found.report.images.count == 1


def test_folders_called_like_sets_are_sets(tmp_path: Path) -> None:
    found = read(tmp_path, {"train/a.png": INDEXED, "test/a.png": INDEXED, "classes.txt": b"road\ncar"})

    assert sorted(each.name for each in found.report.sets) == ["test", "train"]


def test_a_palette_that_shows_other_labels_is_warned_of(tmp_path: Path) -> None:
    colours = LABEL_COLOURS[:3] + LABEL_COLOURS[21:24] + LABEL_COLOURS[45:48]
    classes = "".join(f"class {number}\n" for number in range(1, 21)).encode()

    found = read(tmp_path, {"a.png": png([[0, 1, 2]], "P", colours), "classes.txt": classes})

    [said] = [each for each in found.warnings if "palette" in each]
    assert "such as the colour of label 7 at the index 1; the indices count, not the colours" in said


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ({"masks/a.png": png([[0, 255]]), "classes.txt": b"lesion"}, "binary-masks"),
        ({"masks/a.png": png([[0, 128]])}, "no-class-names"),
        ({"masks/a.png": png(COLOURS[LABELS]), "images/a.jpg": jpeg()}, "mask"),
        ({"masks/a.png": png(COLOURS[[[7]]]), "labelmap.txt": LABELMAP}, "mask"),
        ({"a.png": INDEXED, "classes.txt": b"background\nroad"}, "mask-label"),
        ({"a.png": INDEXED, "classes.txt": b"car\nroad", "labelmap.txt": LABELMAP}, "other-classes"),
        ({"a.png": INDEXED, "classes.txt": b"road\nbackground\ncar"}, "background-class"),
        ({"a.png": INDEXED, "classes.txt": b"road\nroad"}, "class-name"),
        ({"a.png": INDEXED, "classes.txt": b""}, "class-name"),
        ({"a.png": INDEXED, "classes.txt": "cat\nbär".encode("cp1252")}, "encoding"),
        ({"a.png": INDEXED, "labelmap.txt": b"road:300,0,0::"}, "colour"),
        ({"a/x.png": INDEXED, "b/x.png": INDEXED, "classes.txt": b"road\ncar"}, "mask"),
        ({"a.png": INDEXED[:60], "classes.txt": b"road\ncar"}, "mask"),
    ],
    ids=["0 and 255", "grey", "colours", "other colour", "beyond", "two lists", "background", "twice", "none", "encoding", "300", "names", "cut"],
)  # fmt: skip
@pytest.mark.parametrize("role", ["public", "hidden"])
def test_what_cannot_be_meant_is_a_problem(
    files: dict[str, bytes], code: str, role: str, tmp_path: Path
) -> None:
    found = read(tmp_path, files, role=role)

    assert code in {each.code for each in found.report.problems}
    assert found.report.sets == () or code in (
        "binary-masks",
        "other-classes",
        "mask",
        "no-class-names",
        "encoding",
    )


def test_photographs_in_a_folder_called_mask_are_no_label_images(tmp_path: Path) -> None:
    face = png(np.full((4, 4, 3), 99))

    found = read(tmp_path, {"mask/a.png": face, "no mask/b.png": face})

    assert "mask" not in found.codes


def test_a_missing_list_of_classes_is_counted_as_a_problem(tmp_path: Path) -> None:
    found = read(tmp_path, {"a.png": png(LABELS)})

    assert found.report.total == len(found.problems) == 1


def test_lists_may_name_folders_of_label_images(tmp_path: Path) -> None:
    masks = {f"SegmentationClass/{name}.png": png(COLOURS[LABELS]) for name in ("cam1/a", "cam2/a", "cam2/b")}
    listed = {"ImageSets/Segmentation/default.txt": b"cam1/a\ncam2/a\ncam2/b\n", "labelmap.txt": LABELMAP}
    pictures = {
        f"JPEGImages/{name}.jpg": jpeg(3, 2, shade=len(name)) for name in ("cam2/b", "cam2/a", "cam1/a")
    }

    found = read(tmp_path, {**masks, **listed, **pictures})

    assert (found.problems, [each.without_picture for each in found.report.sets]) == ([], [0])
    assert found.truth.lists.segmentation == ("cam1_a", "cam2_a", "b")
    assert "named-by-path" in found.codes


TABLE = b"64 128 64\tAnimal\n0 0 0\tVoid\n128 128 128\tSky\n"
OF_TABLE = np.array([[64, 128, 64], [0, 0, 0], [128, 128, 128]], np.uint8)
PHOTOGRAPH = png(np.full((2, 3, 3), 99))


@pytest.mark.parametrize(
    ("pictures", "masks", "images"),
    [
        ("CamVid/train/a", "CamVid/train_labels/a_L", {"train"}),
        ("CamVid/train/a", "CamVid/train_labels/a", {"train"}),
        ("CamVid/val/a", "CamVid/valannot/a", {"val"}),
        ("701_StillsRaw_full/a", "LabeledApproved_full/a_L", {"val"}),
        ("a", "masks/a_mask", {"val"}),
        ("images/a", "labels/a-gt", {"val"}),
    ],
    ids=["CamVid", "alike", "SegNet", "original", "mask", "gt"],
)
@pytest.mark.parametrize("zone", ["public", "images"])
def test_label_images_go_with_the_pictures_beside_them(
    pictures: str, masks: str, images: set[str], zone: str, tmp_path: Path
) -> None:
    sent = {f"{masks}.png": png(OF_TABLE[[[0, 1, 2], [2, 2, 2]]]), "label_colors.txt": TABLE}
    photographs = {f"{pictures}.png": PHOTOGRAPH}

    if zone == "public":
        found = read(tmp_path, {**sent, **photographs})
    else:
        found = read(tmp_path, sent, images=photographs)

    assert found.problems == []
    assert ({each.name for each in found.report.sets}, found.truth.lists.segmentation) == (images, ("a",))
    assert [each.without_picture for each in found.report.sets] == [0]
    assert labels_of(found.truth) == [[1, 255, 2], [2, 2, 2]]


def test_names_of_label_images_stay_where_pictures_have_them(tmp_path: Path) -> None:
    found = read(
        tmp_path, {"masks/a_L.png": INDEXED, "classes.txt": b"road\ncar", "images/a_L.jpg": jpeg(3, 2)}
    )

    assert (found.problems, found.truth.lists.segmentation) == ([], ("a_L",))


@pytest.mark.parametrize("classes", [b"sky\nroad\ncar", b"background\nsky\nroad\ncar"])
def test_a_list_that_begins_with_label_0_is_warned_of(classes: bytes, tmp_path: Path) -> None:
    masks = {f"masks/{name}.png": INDEXED for name in "abc"}

    found = read(tmp_path, {**masks, "classes.txt": classes})

    assert ("labels-from-0" in found.codes) == classes.startswith(b"sky")


def test_of_few_label_images_the_last_class_may_be_missing_by_chance(tmp_path: Path) -> None:
    found = read(tmp_path, {"masks/a.png": INDEXED, "masks/b.png": INDEXED, "classes.txt": b"sky\nroad\ncar"})

    assert "labels-from-0" not in found.codes


def test_label_images_that_are_no_png_are_refused_with_the_reason(tmp_path: Path) -> None:
    files = {"classes.txt": b"cat", "images/a.jpg": jpeg(), "masks/a.jpg": jpeg(shade=1)}

    assert (
        read(tmp_path, files)
        .problems[0]
        .startswith("masks/a.jpg: this file is in a folder of label images, which are PNG")
    )
