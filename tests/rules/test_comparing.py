"""What changes between two versions of annotation is counted as people would count it."""

import time
import tracemalloc
from dataclasses import fields, replace
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from app.intake.comparing import compare
from app.intake.reports import Renamed, VersionComparison
from heldout_scoring import GroundTruth
from heldout_scoring.data.annotations import ActionLabels, Parts

CLASSES = ("cat", "dog", "owl")
IMAGES = ("a", "b", "c", "d")


def truth(
    *objects: tuple[str, str, tuple[float, ...]],
    images: tuple[str, ...] = IMAGES,
    classes: tuple[str, ...] = CLASSES,
    **more: Any,
) -> GroundTruth:
    """Annotation of objects: image, class, box."""
    columns = zip(*objects, strict=True) if objects else ((), (), np.empty((0, 4)))
    image, label, boxes = columns
    return GroundTruth.from_arrays(
        list(image), list(label), np.array(boxes, float), convention="half-open", images=images, classes=classes,
        sizes=np.full((len(images), 2), 100), **more,
    )  # fmt: skip


def square(left: float, top: float = 0.0, side: float = 10.0) -> tuple[float, ...]:
    return (left, top, left + side, top + side)


SOME = (("a", "cat", square(0)), ("a", "dog", square(20)), ("b", "dog", square(0)), ("c", "owl", square(0)))


def changes(before: GroundTruth, after: GroundTruth) -> dict[str, Any]:
    """What differs from no change, besides how results name classes."""
    found, nothing = compare(before, after, "hidden-0", "test", 1), VersionComparison("hidden-0", "test", 1)
    return {
        each.name: getattr(found, each.name)
        for each in fields(VersionComparison)
        if each.name != "by_number" and getattr(found, each.name) != getattr(nothing, each.name)
    }


def test_the_same_annotation_in_any_order_changes_nothing() -> None:
    before = truth(*SOME)

    for order in permutations(SOME):
        assert changes(before, truth(*order)) == {}
    assert changes(before, truth(*SOME, images=IMAGES[::-1], classes=CLASSES[::-1])) == {}


def test_objects_are_moved_relabelled_added_and_removed() -> None:
    moved = ("a", "cat", square(1))
    relabelled = ("a", "owl", square(20))
    added = ("d", "owl", square(50))

    found = changes(truth(*SOME), truth(moved, relabelled, SOME[3], added))

    assert {name: found[name] for name in ("moved", "relabelled", "added", "removed")} == {
        "moved": 1, "relabelled": 1, "added": 1, "removed": 1,
    }  # fmt: skip


def test_of_several_objects_those_are_paired_that_overlap_most() -> None:
    before = truth(("a", "cat", square(0)), ("a", "cat", square(3)))

    assert changes(before, truth(("a", "cat", square(3.5)), ("a", "cat", square(0.5))))["moved"] == 2
    assert changes(before, truth(("a", "cat", square(3)))) == {"removed": 1}
    assert changes(before, truth(("a", "cat", square(0)), ("a", "cat", square(30)))) == {
        "added": 1, "removed": 1,
    }  # fmt: skip


def test_a_box_that_overlaps_by_less_than_half_is_another_object() -> None:
    one = truth(("a", "cat", (0, 0, 10, 10)))

    assert changes(one, truth(("a", "cat", (0, 0, 10, 5)))) == {"moved": 1}
    assert changes(one, truth(("a", "cat", (0, 0, 10, 4.9)))) == {"added": 1, "removed": 1}


def test_equal_objects_are_counted_as_often_as_they_stand_there() -> None:
    twice = (("a", "cat", square(0)), ("a", "cat", square(0)))

    assert changes(truth(*twice), truth(twice[0])) == {"removed": 1}
    assert changes(truth(twice[0]), truth(*twice)) == {"added": 1}


def test_images_that_are_gone_or_new_do_not_count_as_objects() -> None:
    found = changes(truth(*SOME), truth(*SOME[:3], images=("a", "b", "d", "e")))

    assert found == {"images_gone": 1, "images_new": 1}


def test_images_of_another_size_are_counted() -> None:
    before = truth(*SOME)
    other = replace(before.tables, sizes=before.tables.sizes + np.array([[1, 0]] + [[0, 0]] * 3, np.int32))

    assert changes(before, GroundTruth.of(before.lists, other)) == {"images_resized": 1}


def test_a_class_under_another_name_is_renamed_and_its_objects_stay() -> None:
    names = {"cat": "grey cat"}
    renamed = [(image, names.get(name, name), box) for image, name, box in SOME]

    found = changes(truth(*SOME), truth(*renamed, classes=("dog", "grey cat", "owl")))

    assert found == {"classes_renamed": (Renamed("cat", "grey cat"),)}


def test_a_class_with_other_objects_is_gone_and_another_is_new() -> None:
    other = [each for each in SOME if each[1] != "cat"]

    found = changes(truth(*SOME), truth(*other, ("a", "fox", square(60)), classes=("dog", "owl", "fox")))

    assert found == {"classes_gone": ("cat",), "classes_new": ("fox",), "added": 1, "removed": 1}


def test_difficult_objects_are_marked_and_not_moved() -> None:
    found = changes(truth(*SOME), truth(*SOME, difficult=[1, 0, 0, 0]))

    assert found["marked"] == 1
    assert "moved" not in found


@pytest.mark.parametrize("change", ["area", "crowd"])
def test_what_coco_says_beside_boxes_is_compared(change: str) -> None:
    before = GroundTruth.from_coco(coco())
    after = coco()
    after["annotations"][0] |= {"area": 7} if change == "area" else {"iscrowd": 1}

    assert changes(before, GroundTruth.from_coco(after))["marked"] == 1


def coco(**first: Any) -> dict[str, Any]:
    """COCO's lists of two images with an object of each of two classes; first: of the first object."""
    return {
        "images": [{"id": image, "file_name": f"{image}.jpg", "width": 50, "height": 40} for image in (1, 2)],
        "categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}],
        "annotations": [
            {"id": 10 * image + category, "image_id": image, "category_id": category, "iscrowd": 0, "area": 50,
             "bbox": [5 * category, 5, 10, 10], **(first if (image, category) == (1, 1) else {})}
            for image in (1, 2)
            for category in (1, 2)
        ],
    }  # fmt: skip


def polygon(*corners: float) -> list[list[float]]:
    return [list(corners)]


def test_a_mask_that_is_drawn_anew_within_its_box_is_counted() -> None:
    def drawn(first: list[list[float]]) -> GroundTruth:
        lists = coco()
        for each in lists["annotations"]:
            left, top, width, height = each["bbox"]
            each["segmentation"] = polygon(left, top, left + width, top, left + width, top + height)
        lists["annotations"][0]["segmentation"] = first
        return GroundTruth.from_coco(lists)

    one, other = polygon(5, 5, 15, 5, 15, 15), polygon(5, 5, 15, 5, 5, 15)

    assert changes(drawn(one), drawn(one)) == {}
    assert changes(drawn(one), drawn(other)) == {"redrawn": 1}


def test_a_class_with_another_category_id_is_renumbered() -> None:
    shifted = coco()
    for each in shifted["categories"]:
        each["id"] += 1
    for each in shifted["annotations"]:
        each["category_id"] += 1

    assert changes(GroundTruth.from_coco(coco()), GroundTruth.from_coco(shifted)) == {
        "classes_renumbered": ("cat", "dog")
    }


def test_a_class_of_cocos_files_keeps_its_category_id_when_it_is_renamed() -> None:
    renamed = coco()
    renamed["categories"][0]["name"] = "grey cat"

    assert changes(GroundTruth.from_coco(coco()), GroundTruth.from_coco(renamed)) == {
        "classes_renamed": (Renamed("cat", "grey cat"),)
    }


def test_labels_of_images_are_compared_by_names() -> None:
    names = ["a", "b", "c"]
    before = GroundTruth.from_labels([[1, 0], [0, 1], [1, 1]], classes=["cat", "dog"], images=names)
    after = GroundTruth.from_labels([[0, 1], [1, 0], [1, 0]], classes=["dog", "cat"], images=names)
    renamed = GroundTruth.from_labels([[1, 0], [0, 1], [1, 1]], classes=["fox", "dog"], images=names)

    assert changes(before, after) == {"labels": 1}
    assert changes(before, renamed) == {"classes_renamed": (Renamed("cat", "fox"),)}


def test_thousands_of_classes_are_compared_in_seconds_and_without_a_table_of_all_pairs() -> None:
    names = [f"class{number}" for number in range(1500)]
    images = [f"image{number}" for number in range(1500)]
    others = [f"other{number}" for number in range(1500)]
    labels, boxes = np.eye(1500, dtype=np.int8), np.tile([0.0, 0, 10, 10], (1500, 1))

    def labelled(classes: list[str]) -> GroundTruth:
        return GroundTruth.from_labels(labels, images=images, classes=classes)

    def boxed(classes: list[str]) -> GroundTruth:
        return GroundTruth.from_arrays(
            images, classes, boxes, convention="half-open", images=images, classes=classes,
            sizes=np.full((1500, 2), 100),
        )  # fmt: skip

    began = time.process_time()
    assert len(changes(boxed(names), boxed(others))["classes_renamed"]) == 1500
    assert time.process_time() - began < 20
    before, after = labelled(names), labelled([*names[1:], "fox"])
    tracemalloc.start()
    found = changes(before, after)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found["classes_gone"] == ("class0",)
    assert peak < 100 << 20


def test_label_images_are_compared_whatever_the_numbers_of_their_classes() -> None:
    one, other = np.array([[0, 1], [2, 255]], np.uint8), np.array([[1, 1], [0, 0]], np.uint8)
    swapped = np.array([0, 2, 1, *range(3, 256)], np.uint8)
    before = GroundTruth.from_label_maps([one, other], classes=["cat", "dog"])
    same = GroundTruth.from_label_maps([swapped[one], swapped[other]], classes=["dog", "cat"])
    changed = GroundTruth.from_label_maps([one, other * 2], classes=["cat", "dog"])

    assert changes(before, same) == {}
    assert changes(before, changed)["label_images"] == 1


def test_persons_their_parts_and_their_actions_are_compared() -> None:
    plain = truth(*((image, "cat", square(0)) for image in IMAGES))
    parts = Parts(
        np.array([0, 0, 1], np.int32), np.array([0, 1, 0], np.int8), np.array([square(0, side=2)] * 3, float)
    )
    acts = ActionLabels(np.array([0, 0], np.int8), np.array([0, 1], np.int32), np.array([1, -1], np.int8))
    lists = replace(
        plain.lists, actions=("running",), persons=(("a", 1), ("b", 1)), acting=(("a", 1), ("b", 1))
    )
    before = GroundTruth.of(lists, replace(plain.tables, parts=parts, acts=acts))
    moved = replace(parts, boxes=parts.boxes + np.array([[0.0], [1.0], [0.0]]))
    after = GroundTruth.of(
        replace(lists, persons=(("a", 1),)),
        replace(plain.tables, parts=moved, acts=replace(acts, label=np.array([1, 1], np.int8))),
    )

    assert changes(before, before) == {}
    assert changes(before, after) == {"persons_gone": 1, "parts": 1, "actions": 1}


def test_what_published_results_suffer_from_is_said_apart_from_the_rest() -> None:
    found = VersionComparison(
        "hidden-0", "test", 2, images_gone=1, images_new=2, classes_gone=("owl",), classes_renamed=(Renamed("cat", "grey cat"),),
        moved=20, relabelled=1, labels=1,
    )  # fmt: skip

    assert found.consequences == (
        "1 image is gone: results that have it will be refused",
        "class owl is gone: its column will be blank",
        "class cat (now grey cat) is renamed: results that have the old name will be blank there",
    )
    assert found.changes == (
        "2 images new",
        "objects: 20 moved, 1 changed the class",
        "1 label of an image changed",
    )
    assert VersionComparison("hidden-0", "test", 2, moved=20).consequences == ()


def test_where_results_name_classes_by_category_id_another_name_does_them_no_harm() -> None:
    found = VersionComparison(
        "hidden-0", "test", 2, classes_renamed=(Renamed("cat", "grey cat"),), by_number=True
    )
    gone = replace(found, classes_gone=("dog", "owl"))

    assert found.consequences == ()
    assert found.changes == ("classes renamed, which results name by category id: cat (now grey cat)",)
    assert gone.consequences == (
        "classes dog, owl are gone: results that have such a category id will be refused",
    )
    assert replace(gone, by_number=False).consequences == (
        "classes dog, owl are gone: their columns will be blank",
        "class cat (now grey cat) is renamed: results that have the old name will be blank there",
    )
