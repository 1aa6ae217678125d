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


def test_shapes_of_every_other_kind_are_told_with_their_count(tmp_path: Path) -> None:
    skeleton = (
        '<skeleton label="dog"><points label="1" points="1,1"/><points label="2" points="2,2"/></skeleton>'
    )
    others = (
        '<ellipse label="dog" cx="5" cy="5" rx="2" ry="2"/>',
        '<ring label="dog" points="1,1"/>',
        skeleton,
    )

    found = read(tmp_path, page(image(CAT, *others)))

    [said] = [each for each in found.warnings if "shapes" in each]
    assert said.endswith(
        "3 shapes are left out, because only boxes and polygons are read: ellipse, others, skeleton"
    )


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


UNSIZED = 'width="0" height="0"'


def unsized(*shapes: str, name: str = "a.jpg", subset: str = "") -> str:
    """An image without a size."""
    return image(*shapes, name=name, subset=subset).replace('width="50" height="40"', UNSIZED)


@pytest.mark.parametrize("zone", ["annotation", "images"])
def test_a_size_of_0_is_that_of_the_image(zone: str, tmp_path: Path) -> None:
    pictures = {"x/a.jpg": jpeg(50, 40), "b.jpg": jpeg(30, 60)}
    files = page(unsized(POLYGON, MASK), unsized(name="b.jpg"))

    found = read(tmp_path, files, images=pictures) if zone == "images" else read(tmp_path, files | pictures)

    assert found.problems == []
    assert [(each.width, each.height) for each in found.truth.description.images] == [(50, 40), (30, 60)]
    assert found.truth.tables.coco is not None
    assert found.truth.tables.coco.boxes.tolist() == [[48, 38, 2, 2], [10, 5, 20, 15]]


def test_sizes_of_0_come_from_the_images_of_the_same_subset(tmp_path: Path) -> None:
    files = page(unsized(CAT, subset="Train"), unsized(CAT, subset="Validation"))
    pictures = {"images/Train/a.jpg": jpeg(50, 40), "images/Validation/a.jpg": jpeg(60, 40)}

    found = read(tmp_path, files | pictures)

    assert found.problems == []
    assert [[each.width for each in truth.description.images] for truth in found.truths.values()] == [
        [50],
        [60],
    ]


@pytest.mark.parametrize("pictures", [[], ["b.jpg"], ["x/a.jpg", "y/a.jpg"]], ids=["none", "another", "two"])
def test_a_size_of_0_without_the_image_is_a_problem(pictures: list[str], tmp_path: Path) -> None:
    files = {name: jpeg(shade=number) for number, name in enumerate(pictures)}

    found = read(tmp_path, page(image(name="b.jpg"), unsized(CAT)) | files)

    assert (
        "annotations.xml:4: the image's size is 0, as tools write where they cannot open the image; send the image too, and its size is taken"
    ) in found.problems


def test_sizes_of_0_alone_are_not_told_as_a_lack_of_images(tmp_path: Path) -> None:
    [said] = read(tmp_path, page(unsized(CAT))).problems

    assert said.startswith("annotations.xml:3: the image's size is 0")


def test_one_side_of_0_is_a_problem(tmp_path: Path) -> None:
    files = page(unsized(CAT).replace(UNSIZED, 'width="50" height="0"')) | {"a.jpg": jpeg()}

    [said] = read(tmp_path, files).problems

    assert said.startswith("annotations.xml:3: expected 'width' and 'height' of an image in pixels")


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
