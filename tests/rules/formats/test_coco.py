"""COCO's JSON as tools export it: folders with pictures, boxes without masks, other annotation beside it."""

import json
from pathlib import Path
from typing import Any

import pytest

from app.intake.drawing import draw, views_of
from app.intake.formats.reading import AnnotatedSet
from app.intake.inspecting import DRAWN, Wanted, inspect
from app.intake.reports import Report
from app.intake.unpacking import SentFile, SentPicture, Unpacked
from heldout_scoring import GroundTruth
from tests.pages.data_sets import coco, coco_file, jpeg, zipped
from tests.rules.formats.builders import LIMITS, read

SQUARE = [[1, 1, 11, 1, 11, 11, 1, 11]]
PICTURES = {"one.jpg": jpeg(50, 40), "two.jpg": jpeg(50, 40, shade=2)}


def annotations(*changes: dict[str, Any]) -> list[dict[str, Any]]:
    """The usual annotations, each with fields of its own."""
    return [each | change for each, change in zip(coco()["annotations"], changes, strict=True)]


def images(*names: str) -> list[dict[str, Any]]:
    return [each | {"file_name": name} for each, name in zip(coco()["images"], names, strict=True)]


def sets_of(report: Report) -> dict[str, tuple[int, int, int]]:
    """The images, objects and missing pictures of each set."""
    return {each.name: (each.images, each.objects, each.without_picture) for each in report.sets}


@pytest.mark.parametrize("name", ["images", "categories", "annotations"])
@pytest.mark.parametrize("role", ["public", "hidden"])
def test_a_list_that_stands_twice_is_a_problem_that_names_it(name: str, role: str, tmp_path: Path) -> None:
    twice = coco_file()[:-1] + f', "{name}": []}}'.encode()

    [said] = read(tmp_path, {"a.json": twice}, role=role).problems

    assert said == f"a.json: '{name}' stands twice; put all entries into one list"


@pytest.mark.parametrize("folder", ["annotations/", ""], ids=["CVAT", "Label Studio"])
def test_pictures_in_the_same_zip_are_taken(folder: str, tmp_path: Path) -> None:
    listed = coco_file(images=images("images\\one.jpg", "images/two.jpg"))
    files = {f"images/{name}": content for name, content in PICTURES.items()}

    found = read(tmp_path, {f"{folder}instances_default.json": listed, **files})

    assert (found.problems, found.report.images.count) == ([], 2)
    assert sets_of(found.report) == {"val": (2, 3, 0)}


def test_a_set_is_called_by_its_folder(tmp_path: Path) -> None:
    files = {f"{name}/_annotations.coco.json": coco_file() for name in ("train", "valid", "test")}

    found = read(tmp_path, files)

    assert found.problems == []
    assert {each.name: each.role for each in found.report.sets} == {
        "train": "public",
        "val": "public",
        "test": "hidden",
    }


def test_the_name_of_a_file_goes_before_that_of_its_folder(tmp_path: Path) -> None:
    found = read(tmp_path, {"annotations_trainval2017/annotations/instances_val2017.json": coco_file()})

    assert [each.name for each in found.report.sets] == ["val"]


def test_boxes_of_which_some_have_no_mask_are_read_for_detection_alone(tmp_path: Path) -> None:
    some = annotations({"segmentation": SQUARE}, {"segmentation": []}, {"segmentation": [[]]})

    found = read(tmp_path, {"a.json": coco_file(annotations=some)})

    [view] = found.report.sets
    assert (found.problems, view.objects, view.competitions) == ([], 3, (1,))
    assert (
        "a.json: annotations[1], id 2: 2 of 3 objects have no mask ('segmentation'), so no masks are read: "
        "there is detection by the boxes of all, and no segmentation until every object has a mask"
    ) in found.warnings


def test_masks_of_all_objects_are_read(tmp_path: Path) -> None:
    found = read(tmp_path, {"a.json": coco_file(annotations=annotations(*[{"segmentation": SQUARE}] * 3))})

    assert [each.competitions for each in found.report.sets] == [(1, 2)]
    assert "without-mask" not in found.codes


def test_a_mask_that_is_wrong_is_a_problem_and_none_that_is_missing(tmp_path: Path) -> None:
    wrong = annotations({"segmentation": [[1, 2]]}, {"segmentation": SQUARE}, {"segmentation": SQUARE})
    mixed = annotations({"segmentation": SQUARE, "bbox": [1]}, {}, {})

    [of_mask] = read(tmp_path, {"a.json": coco_file(annotations=wrong)}).problems
    (tmp_path / "work").rename(tmp_path / "first")
    [of_box] = read(tmp_path, {"a.json": coco_file(annotations=mixed)}).problems

    assert of_mask.startswith("a.json: annotations[0], id 1: expected polygons")
    assert of_box.startswith("a.json: annotations[0], id 1: expected four numbers")


def test_captions_and_keypoints_beside_objects_are_left_out_with_a_warning(tmp_path: Path) -> None:
    captions = coco_file(annotations=[{"id": 1, "image_id": 1, "caption": "a cat"}])
    keypoints = coco_file(annotations=annotations(*[{"keypoints": [1, 2, 2], "num_keypoints": 1}] * 3))
    files = {"captions_val.json": captions, "person_keypoints_val.json": keypoints}
    files["image_info_test.json"] = json.dumps({"images": [], "categories": []}).encode()

    found = read(tmp_path, {"instances_val.json": coco_file(), **files})

    assert (found.problems, list(sets_of(found.report))) == ([], ["val"])
    assert [each for each in found.warnings if "left out" in each] == [
        "1 file is left out, such as image_info_test.json: a list of images, beside files with objects",
        "1 file is left out, such as captions_val.json: captions, beside files with objects",
        "1 file is left out, such as person_keypoints_val.json: keypoints, beside files with objects",
    ]


def test_rotated_boxes_are_told_with_their_count(tmp_path: Path) -> None:
    turned = {"attributes": {"rotation": 30.0, "occluded": False}}

    found = read(
        tmp_path,
        {"a.json": coco_file(annotations=annotations({"attributes": {"rotation": 0.0}}, turned, turned))},
    )

    assert [each for each in found.warnings if "angle" in each] == [
        "a.json: annotations[1], id 2: 2 of 3 boxes have an angle ('rotation'), which is left out: they are upright"
    ]


def test_a_class_that_only_stands_above_others_is_told(tmp_path: Path) -> None:
    above = [{"id": 0, "name": "pets", "supercategory": "none"}]
    below = [each | {"supercategory": "pets"} for each in coco()["categories"]]

    found = read(tmp_path, {"a.json": coco_file(categories=above + below)})

    assert found.problems == []
    assert any(
        "categories[0], id 0: pets is no class of its own, it seems" in each for each in found.warnings
    )


def test_pictures_of_other_kinds_are_left_out_with_the_way_out(tmp_path: Path) -> None:
    found = read(tmp_path, {"a.json": coco_file(), "one.webp": b"RIFF", "two.webp": b"RIFF"})

    assert (
        "2 files are left out, such as one.webp: images have to be JPEG or PNG; convert them without changing their names or sizes"
        in found.warnings
    )


def test_images_that_are_numbers_are_called_by_their_files(tmp_path: Path) -> None:
    outside = annotations({"image_id": 2, "id": 70}, {"id": 80}, {"bbox": [0, 0, 90, 90], "id": 90})
    files = {
        "val.json": coco_file(annotations=outside),
        "one.jpg": jpeg(50, 40),
        "two.jpg": jpeg(50, 40, shade=9),
    }

    found = read(tmp_path, files)

    [said] = [each for each in found.warnings if "reaches beyond" in each]
    assert ": images two.jpg; the first is annotations[2] (id 90), 0 0 90 90" in said


@pytest.mark.parametrize("role", ["public", "hidden"])
def test_the_image_of_a_box_outside_is_drawn_whichever_it_is(tmp_path: Path, role: str) -> None:
    names = [f"{number:02}.jpg" for number in range(40)]
    images = [{"id": n, "file_name": name, "width": 50, "height": 40} for n, name in enumerate(names, 1)]
    boxes = [[1, 1, 9, 9] if n != 38 else [1, 1, 90, 9] for n in range(1, 41)]
    things = [
        {"id": n, "image_id": n, "category_id": 1, "bbox": box, "area": 81, "iscrowd": 0}
        for n, box in enumerate(boxes, 1)
    ]
    pictures = {name: jpeg(50, 40, shade=n) for n, name in enumerate(names)}

    files = {"a.json": coco_file(images=images, annotations=things), **pictures}
    sent = tmp_path / "a.zip"
    sent.write_bytes(zipped(files))
    (tmp_path / "work").mkdir()

    inspect(tmp_path / "work", (SentFile(role, "a.zip", sent),), "birds", LIMITS, Wanted(drawn=role))

    pack = (tmp_path / "work" / DRAWN).read_bytes()
    assert (b'"image": "37.jpg"' in pack, pack.count(b'"image":')) == (True, 12)


def test_drawn_images_are_called_by_their_files(tmp_path: Path) -> None:
    unpacked = Unpacked(tmp_path, "birds")
    picture = tmp_path / "one.jpg"
    picture.write_bytes(jpeg(50, 40))
    sent = SentPicture(picture, (50, 40), b"", 1, role="public", folder=".")
    unpacked.pictures[sent.key] = sent
    truth = GroundTruth.from_coco(coco())
    found = AnnotatedSet(
        "val", "COCO JSON", "val.json", truth, {"1": "x/one.jpg", "2": "x/two.jpg"}, role="public"
    )

    pack = draw(unpacked, [found], views_of(unpacked, [found]))

    assert b'"image": "one.jpg"' in pack
