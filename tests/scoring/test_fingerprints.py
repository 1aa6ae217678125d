"""Which archives contain the same predictions, and which lists contain hardly any."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from heldout_scoring import Description, FoundCompetition, labels_to_png, validate
from heldout_scoring.data.description import Image as Entry
from tests.scoring.archives import gz, tar, written
from tests.scoring.pngs import saved

PHASE = Description(
    "VOC2012", "test", ("car", "cat"), ("running",), tuple(Entry(name, 50, 40) for name in ("a", "b", "c")),
    segmentation=("a", "b"), persons=(("a", 1), ("b", 1)), acting=(("a", 1), ("b", 1)),
)  # fmt: skip
MAIN = "results/VOC2012/Main"


def found(folder: Path, files: Mapping[str, bytes], phase: Description = PHASE) -> FoundCompetition:
    folder.mkdir(exist_ok=True)
    report = validate(written(folder, gz(tar(files)), "r.tar.gz"), phase)
    assert report.valid, report.problems
    [competition] = report.competitions
    return competition


def lists(pattern: str, **texts: str) -> dict[str, bytes]:
    return {f"{MAIN}/{pattern.format(name)}": text.encode() for name, text in texts.items()}


RANKED = {"car": "a 0.5\nb 0.25\nc 0.25\n", "cat": "a 1\nb 2\nc 3\n"}
BOXES = {"car": "a 0.5 1 1 9 9\nb 0.5 2 2 9 9\nc 0.25 3 3 9 9\n", "cat": "a 1 1 1 9 9\n"}


@pytest.mark.parametrize(
    ("changed", "is_same"),
    [
        ({}, True),
        ({"car": "c 0.25\nb 2.5e-1\na 0.50\n"}, True),  # any order: the images decide ties
        ({"car": "a 0.5\r\nb 0.25\r\n\r\nc\t0.25"}, True),
        ({"car": "a 0.5\nb 0.25\nc 0.3\n"}, False),
        ({"car": "a 0.5\nb 0.25\n"}, False),
        ({"car": RANKED["cat"], "cat": RANKED["car"]}, False),
    ],
)
def test_a_ranking_has_the_same_fingerprint_however_it_is_written(
    tmp_path: Path, changed: dict[str, str], *, is_same: bool
) -> None:
    one = found(tmp_path / "one", lists("comp1_cls_test_{}.txt", **RANKED))
    other = found(
        tmp_path / "two", lists("comp1_cls_test_{}.txt", **dict(reversed((RANKED | changed).items())))
    )

    assert (one.fingerprint == other.fingerprint) is is_same
    assert len(one.fingerprint) == 64


@pytest.mark.parametrize(
    ("changed", "is_same"),
    [
        ({"car": "c 0.25 3 3 9 9\na 0.5 1 1 9 9\nb 0.5 2 2 9 9\n"}, True),
        ({"car": "a 0.50 1.0 1 9 9e0\nb 0.5 2 2 9 9\nc 0.25 3 3 9 9\n"}, True),
        (
            {"car": "b 0.5 2 2 9 9\na 0.5 1 1 9 9\nc 0.25 3 3 9 9\n"},
            False,
        ),  # equal confidences in another order
        ({"car": "a 0.5 1 1 9 9.5\nb 0.5 2 2 9 9\nc 0.25 3 3 9 9\n"}, False),
    ],
)
def test_detections_of_equal_ranks_have_one_fingerprint_in_any_order(
    tmp_path: Path, changed: dict[str, str], *, is_same: bool
) -> None:
    one = found(tmp_path / "one", lists("comp3_det_test_{}.txt", **BOXES))
    other = found(tmp_path / "two", lists("comp4_det_test_{}.txt", **(BOXES | changed)))

    assert (one.fingerprint == other.fingerprint) is is_same


def test_an_empty_file_and_a_missing_one_have_different_fingerprints(tmp_path: Path) -> None:
    one = found(tmp_path / "one", lists("comp3_det_test_{}.txt", car=BOXES["car"], cat=""))
    other = found(tmp_path / "two", lists("comp3_det_test_{}.txt", car=BOXES["car"]))

    assert one.fingerprint != other.fingerprint


def test_label_images_have_one_fingerprint_whatever_their_palette(tmp_path: Path) -> None:
    labels = np.zeros((40, 50), np.uint8)
    labels[:5] = 1
    folder = "results/VOC2012/Segmentation/comp5_test_cls"
    indexed = {f"{folder}/{name}.png": labels_to_png(labels) for name in "ab"}
    grey = {f"{folder}/{name}.png": saved(Image.fromarray(labels)) for name in "ab"}
    other = indexed | {f"{folder}/b.png": labels_to_png(labels[::-1].copy())}

    prints = [
        found(tmp_path / name, files).fingerprint
        for name, files in {"one": indexed, "two": grey, "three": other}.items()
    ]

    assert prints[0] == prints[1] != prints[2]


def test_layouts_have_one_fingerprint_in_any_order_of_elements(tmp_path: Path) -> None:
    box = "<xmin>1</xmin><ymin>1</ymin><xmax>9</xmax><ymax>9</ymax>"
    swapped = "<ymax>9.0</ymax><xmax>9</xmax><ymin>1</ymin><xmin>1</xmin>"
    layout = (
        "<results><layout><image>a</image><object>1</object><confidence>{}</confidence>"
        "<part><class>head</class><bndbox>{}</bndbox></part></layout></results>"
    )
    texts = [layout.format("0.5", box), layout.format("0.50", swapped), layout.format("0.6", box)]

    prints = [
        found(tmp_path / str(n), {f"{MAIN[:-5]}/Layout/comp7_layout_test.xml": text.encode()}).fingerprint
        for n, text in enumerate(texts)
    ]

    assert prints[0] == prints[1] != prints[2]


@pytest.mark.parametrize(
    ("entries", "is_same"),
    [
        (("[1, 2, 3, 4]", 0.5, 3), True),
        (("[1, 2, 3, 5]", 0.5, 3), False),
        (("[1, 2, 3, 4]", 0.5, 4), False),
    ],
)
def test_coco_detections_have_one_fingerprint_in_any_order(
    tmp_path: Path, entries: tuple[str, float, int], *, is_same: bool
) -> None:
    phase = Description("COCO", "val", ("cat",), (), (Entry("3", 9, 9), Entry("4", 9, 9)), class_numbers=(7,))
    form = '{{"image_id": {2}, "category_id": 7, "bbox": {0}, "score": {1}}}'
    first, last = form.format("[1, 2, 3, 4]", 0.5, 3), form.format("[0, 0, 1, 1]", 0.7, 4)

    one = found(tmp_path / "one", {"detections.json": f"[{first}, {last}]".encode()}, phase)
    other = found(
        tmp_path / "two",
        {"detections.json": f"[{last},\n{form.format(*entries)}]".encode()},
        phase,
    )

    assert (one.fingerprint == other.fingerprint) is is_same


@pytest.mark.parametrize(
    ("pattern", "texts", "constant", "partial"),
    [
        ("comp1_cls_test_{}.txt", {"car": "a 1\nb 1\nc 1\n", "cat": "a 1\nb 2\nc 3\n"}, ("car",), ()),
        ("comp1_cls_test_{}.txt", {"car": "a 1\nb 1\n", "cat": "a 1\n"}, ("car",), ("car", "cat")),
        ("comp3_det_test_{}.txt", BOXES, (), ("cat",)),
        ("comp3_det_test_{}.txt", {"car": 3 * "a 0.5 1 1 9 9\n", "cat": ""}, ("car",), ("cat",)),
        ("comp9_action_test_{}.txt", {"running": "a 1 0.5\n"}, (), ("running",)),
    ],
)
def test_probing_lists_are_reported(
    tmp_path: Path, pattern: str, texts: dict[str, str], constant: tuple[str, ...], partial: tuple[str, ...]
) -> None:
    folder = MAIN if "action" not in pattern else MAIN.replace("Main", "Action")
    competition = found(tmp_path, {f"{folder}/{pattern.format(key)}": t.encode() for key, t in texts.items()})

    assert (competition.constant, competition.partial) == (constant, partial)


def test_a_class_painted_in_one_of_several_images_is_partial(tmp_path: Path) -> None:
    empty, cars = np.zeros((40, 50), np.uint8), np.zeros((40, 50), np.uint8)
    cars[0, 0] = 1
    folder = "results/VOC2012/Segmentation/comp5_test_cls"
    once = {f"{folder}/a.png": labels_to_png(cars), f"{folder}/b.png": labels_to_png(empty)}

    assert found(tmp_path / "once", once).partial == ("car",)
    assert found(tmp_path / "twice", {name: labels_to_png(cars) for name in once}).partial == ()


def test_probing_coco_lists_are_reported(tmp_path: Path) -> None:
    phase = Description(
        "COCO", "val", ("cat", "dog", "cow"), (), (Entry("3", 9, 9),), class_numbers=(7, 8, 9)
    )
    form = '{{"image_id": 3, "category_id": {}, "bbox": [1, 2, 3, {}], "score": 0.5}}'
    entries = ", ".join(form.format(*each) for each in ((7, 1), (7, 2), (8, 1)))

    competition = found(tmp_path, {"detections.json": f"[{entries}]".encode()}, phase)

    assert (competition.constant, competition.partial) == (("cat",), ("dog",))
