"""CVAT for images 1.1: boxes, polygons, masks and tags in one XML file."""

from pathlib import Path

import pytest

from tests.pages.data_sets import jpeg
from tests.rules.formats.builders import read

CAT = '<box label="traffic light" occluded="0" xtl="10.00" ytl="5.00" xbr="30.50" ybr="20.00" z_order="0"><attribute name="a">b</attribute></box>'
POLYGON = '<polygon label="dog" points="10,5;30,5;30,20;10,20"/>'
MASK = '<mask label="dog" rle="1, 2, 1" left="48" top="38" width="2" height="2"/>'
TAG = '<tag label="dog"/>'


def page(*images: str) -> dict[str, bytes]:
    text = f"<annotations><version>1.1</version><meta><task><name>x</name></task></meta>{''.join(images)}</annotations>"
    return {"annotations.xml": f'<?xml version="1.0" encoding="utf-8"?>\n{text}'.encode()}


def image(*shapes: str, name: str = "a.jpg", subset: str = "") -> str:
    of = f' subset="{subset}"' if subset else ""
    return f'\n<image id="0" name="{name}"{of} width="50" height="40">{"".join(shapes)}</image>'


def test_boxes_are_edges_counted_from_0(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        {
            **page(image(CAT), image(name="sub/b.jpg")),
            "images/a.jpg": jpeg(),
            "images/sub/b.jpg": jpeg(shade=9),
        },
    )

    assert (found.problems, found.warnings) == ([], [])
    assert found.report.sets[0].without_picture == 0
    assert found.truth.lists.images == ("a", "b")
    assert found.truth.lists.classes == ("traffic light",)
    assert found.truth.tables.objects.boxes.tolist() == [[10, 5, 30.5, 20]]
    assert found.truth.tables.convention == "half-open"


def test_subsets_are_image_sets(tmp_path: Path) -> None:
    found = read(tmp_path, page(image(CAT, subset="Train"), image(CAT, name="b.jpg", subset="Validation")))

    assert {each.name: each.images for each in found.report.sets} == {"train": 1, "val": 1}


def test_polygons_and_masks_of_all_objects_are_masks(tmp_path: Path) -> None:
    grouped = POLYGON.replace("points", 'group_id="3" points') + POLYGON.replace(
        'points="10,5;30,5;30,20;10,20"', 'group_id="3" points="40,5;45,5;45,8"'
    )

    found = read(
        tmp_path,
        {**page(image(POLYGON, MASK), image(grouped, name="b.jpg")), "a.jpg": jpeg(), "b.jpg": jpeg(shade=1)},
    )

    assert found.problems == []
    assert found.truth.tables.coco is not None
    assert found.truth.tables.coco.has_masks
    assert found.truth.tables.coco.boxes.tolist() == [[48, 38, 2, 2], [10, 5, 20, 15], [10, 5, 35, 15]]
    assert found.report.sets[0].without_picture == 0


def test_boxes_are_read_where_one_object_has_no_mask(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        page(
            image(
                POLYGON,
                CAT,
                '<points label="dog" points="1,2"/>',
                CAT.replace("occluded", 'rotation="45" occluded'),
            )
        ),
    )

    assert found.problems == []
    assert len(found.truth.tables.objects.boxes) == 3
    assert found.codes >= {"without-mask", "other-shape", "rotated-box"}


def test_tags_alone_are_for_classification(tmp_path: Path) -> None:
    found = read(tmp_path, page(image(TAG), image(name="b.jpg")))

    assert found.problems == []
    assert found.truth.tables.labels.tolist() == [[1, -1]]


@pytest.mark.parametrize("role", ["public", "hidden"])
@pytest.mark.parametrize(
    ("files", "words"),
    [
        (page('<track id="0" label="dog"><box frame="0"/></track>'), "1 tracks: CVAT for video (tracks) is not read; export as CVAT for images 1.1"),
        (page(image(CAT.replace("30.50", "wide"))), "annotations.xml:3: expected a number as 'xbr', found"),
        (page(image(POLYGON.replace("30,20;10,20", "x"))), "annotations.xml:3: expected at least 3 points"),
        (page(image(MASK.replace("1, 2", "1, 3"))), "annotations.xml:3: expected run lengths as 'rle' that cover a box within the image"),
        ({"annotations.xml": b"<annotations><image>"}, "annotations.xml:1: this is not well-formed XML"),
        ({"annotations.xml": b"<!DOCTYPE a [<!ENTITY b 'c'>]><annotations/>"}, "it has a document type or entities"),
    ],
    ids=["video", "number", "points", "mask", "cut off", "entities"],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_line(
    files: dict[str, bytes], words: str, role: str, tmp_path: Path
) -> None:
    found = read(tmp_path, files, role=role)

    assert any(words in each for each in found.problems), found.problems
    assert (role == "public") or not any("wide" in each for each in found.problems)
