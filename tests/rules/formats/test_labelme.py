"""labelme's JSON: a file for each image, with rectangles, polygons and other shapes."""

import json
from pathlib import Path
from typing import Any

from tests.pages.data_sets import jpeg
from tests.rules.formats.builders import read


def shape(kind: str = "rectangle", label: str = "cat", **more: Any) -> dict[str, Any]:
    points = [[30, 20], [10.5, 5]] if kind != "polygon" else [[10, 5], [30, 5], [30, 20]]
    return {"label": label, "points": points, "group_id": None, "shape_type": kind, "flags": {}, **more}


def page(*shapes: object, image: str = "a.jpg", **more: Any) -> bytes:
    fields = {"version": "5.0", "flags": {}, "shapes": shapes, "imagePath": image, "imageData": "x" * 70_000}
    return json.dumps({**fields, "imageHeight": 40, "imageWidth": 50, **more}).encode()


def test_rectangles_are_boxes_of_pictures_in_folders_of_windows(tmp_path: Path) -> None:
    files = {"train/a.json": page(shape(), image="..\\imgs\\a.jpg"), "train/b.json": page(image="b.jpg")}

    found = read(tmp_path, {**files, "train/a.jpg": jpeg(), "train/b.jpg": jpeg(shade=9)})

    assert (found.problems, found.warnings) == ([], [])
    assert found.truth.tables.objects.boxes.tolist() == [[10.5, 5, 30, 20]]
    assert found.truth.lists.images == ("a", "b")
    assert [(each.name, each.without_picture) for each in found.report.sets] == [("train", 0)]


def test_polygons_are_masks_and_those_of_a_group_are_one_object(tmp_path: Path) -> None:
    alone, grouped = shape("polygon"), [shape("polygon", group_id=3)] * 2

    found = read(tmp_path, {"a.json": page(alone, *grouped)})

    assert found.problems == []
    assert found.truth.tables.coco is not None
    assert found.truth.tables.coco.has_masks
    assert found.truth.tables.coco.boxes.tolist() == [[10, 5, 20, 15]] * 2


def test_other_shapes_are_told_with_their_count(tmp_path: Path) -> None:
    found = read(tmp_path, {"a.json": page(shape("circle"), shape("line"), shape(), shape("polygon"))})

    assert found.problems == []
    assert any(
        "2 shapes are left out, because only boxes and polygons are read: circle, line" in each
        for each in found.warnings
    )
    assert "without-mask" in found.codes


def test_flags_without_shapes_are_for_classification(tmp_path: Path) -> None:
    flags = {"cat": True, "dog": False}

    found = read(
        tmp_path, {"a.json": page(flags=flags), "b.json": page(image="b.jpg", flags={**flags, "dog": True})}
    )

    assert found.problems == []
    assert found.truth.tables.labels.tolist() == [[1, 1], [-1, 1]]


def test_what_is_wrong_is_told_with_its_place(tmp_path: Path) -> None:
    bad = [shape(label=""), shape(points=[[1, "x"], [2, 2]]), "no shape"]

    found = read(
        tmp_path, {"a.json": page(*bad), "b.json": page(shape()), "c.json": b'{"shapes": {}, "imagePath": 1}'}
    )

    assert found.problems == [
        "a.json: shapes[0]: expected the name of a class as 'label'",
        "a.json: shapes[1]: expected at least 2 points [x, y] as 'points' of a rectangle",
        "a.json: shapes[2]: expected an object with 'label' and 'points'",
        "b.json: another file annotates the same image, a.jpg",
        "c.json: expected JSON of labelme with a list called 'shapes'",
    ]


def test_a_field_that_stands_twice_is_a_problem(tmp_path: Path) -> None:
    twice = page(shape()).replace(b'"points":', b'"points": [[2, 2], [5, 5]], "points":', 1)

    assert read(tmp_path, {"a.json": twice}).problems == [
        "a.json: an object has the field 'points' twice; leave one out"
    ]
