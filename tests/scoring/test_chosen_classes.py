"""Ground truth with chosen classes is what one would read if its annotation had been written with these classes."""

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heldout_scoring import GroundTruth, evaluate, read_tree
from heldout_scoring.data.predictions import Detections
from heldout_scoring.evaluation import missing_truth
from tests.scoring.builders import Kit, annotation, part, thing
from tests.scoring.lvis_sets import draw_lvis_set

CHOSEN = {"owl": "bird", "cat": "cat"}  # of cat, dog and owl


def coco(classes: dict[int, str]) -> dict[str, Any]:
    """COCO's JSON with the objects of these classes, by category id, of which 3, 7 and 9 are cat, dog and owl."""
    square = [[1, 1, 9, 1, 9, 9, 1, 9]]
    objects = [(1, 9), (1, 7), (1, 3), (2, 7), (2, 3), (3, 9), (3, 7)]
    return {
        "images": [{"id": id_, "width": 40, "height": 30} for id_ in (1, 2, 3)],
        "categories": [{"id": id_, "name": name} for id_, name in classes.items()],
        "annotations": [
            {
                "id": number, "image_id": image, "category_id": category, "bbox": [number, 1, 8, 8], "area": 64 + number,
                "iscrowd": 0, "segmentation": square,
            }
            for number, (image, category) in enumerate(objects, 1)
            if category in classes
        ],
    }  # fmt: skip


def test_objects_masks_and_category_ids_follow_their_class() -> None:
    truth = GroundTruth.from_coco(coco({3: "cat", 7: "dog", 9: "owl"}))

    chosen = truth.choose_classes({"cat": "cat", "owl": "bird"})

    assert chosen.content == GroundTruth.from_coco(coco({3: "cat", 9: "bird"})).content


@pytest.mark.parametrize("seed", range(3))
def test_what_lvis_says_of_classes_follows_them(seed: int) -> None:
    annotation, _ = draw_lvis_set(seed, masks=True)
    for each in annotation["categories"]:
        each["name"] = f"class {each['id']}"
    left_out, *kept = [each["id"] for each in annotation["categories"]]
    without = copy.deepcopy(annotation)
    without["categories"] = [each for each in without["categories"] if each["id"] != left_out]
    without["annotations"] = [each for each in without["annotations"] if each["category_id"] != left_out]
    for image in without["images"]:
        for name in ("neg_category_ids", "not_exhaustive_category_ids"):
            image[name] = [each for each in image[name] if each != left_out]

    chosen = GroundTruth.from_coco(annotation).choose_classes(
        {f"class {each}": f"class {each}" for each in kept}
    )

    assert chosen.lists.dataset == "LVIS"
    assert chosen.content == GroundTruth.from_coco(without).content


def test_results_in_coco_json_find_classes_in_any_order_by_their_ids() -> None:
    annotation = coco({3: "cat", 7: "dog", 9: "owl"})
    chosen = GroundTruth.from_coco(annotation).choose_classes(CHOSEN)
    found = [{**each, "score": 0.5} for each in annotation["annotations"] if each["category_id"] != 7]

    result = evaluate(Detections.from_coco(json.dumps(found), chosen), chosen, protocol="coco")

    assert chosen.lists.class_numbers == (9, 3)
    assert [(each.name, each.value) for each in result.classes] == [("bird", 1.0), ("cat", 1.0)]


def test_pixels_of_other_classes_are_void() -> None:
    labels = [np.array([[0, 1, 2, 2], [3, 2, 255, 1]], np.uint8), np.array([[2, 2]], np.uint8)]
    truth = GroundTruth.from_label_maps(labels, classes=["cat", "dog", "owl"], images=["a", "b"])

    chosen = truth.choose_classes(CHOSEN)

    void = [np.array([[0, 2, 255, 255], [1, 255, 255, 2]], np.uint8), np.array([[255, 255]], np.uint8)]
    assert (
        chosen.content
        == GroundTruth.from_label_maps(void, classes=["bird", "cat"], images=["a", "b"]).content
    )


def test_objects_of_other_classes_are_left_out_and_their_images_stay() -> None:
    image, label, boxes = ["a", "a", "b"], ["dog", "cat", "dog"], [[1, 1, 9, 9], [2, 2, 8, 8], [3, 3, 7, 7]]
    of_all: dict[str, Any] = {"convention": "inclusive", "images": ["a", "b"]}
    truth = GroundTruth.from_arrays(image, label, boxes, classes=["cat", "dog", "owl"], **of_all)

    chosen = truth.choose_classes(CHOSEN)

    assert (
        chosen.content
        == GroundTruth.from_arrays(["a"], ["cat"], boxes[1:2], classes=["bird", "cat"], **of_all).content
    )


@pytest.mark.parametrize("names", [{"cat": "cat", "dog": "dog"}, {"cat": "cat", "dog": "dog", "cow": "cow"}])
def test_the_same_classes_are_the_same_annotation(names: dict[str, str]) -> None:
    truth = GroundTruth.from_labels([[1, 0], [0, 1]], classes=["cat", "dog"])

    assert truth.choose_classes(names) is truth


def test_persons_stay_unless_a_class_is_left_out(persons: GroundTruth) -> None:
    renamed = persons.choose_classes({"person": "person", "cat": "tiger"})
    fewer = persons.choose_classes({"person": "person"})

    assert renamed.lists.persons == persons.lists.persons == (("b", 2),)
    assert renamed.tables.parts.owner.tolist() == persons.tables.parts.owner.tolist()
    assert renamed.lists.classes == ("person", "tiger")
    assert (fewer.lists.persons, fewer.lists.images, len(fewer.tables.parts.owner)) == ((), ("a",), 0)
    assert set(missing_truth(fewer)) > set(missing_truth(persons))


@pytest.fixture
def persons(tmp_path: Path) -> GroundTruth:
    """A kit whose second image is listed for person layout alone; its second object is a person with a head."""
    kit = (
        Kit(tmp_path / "VOC2012", "val")
        .write("ImageSets/Main/val.txt", "a\n")
        .write("ImageSets/Layout/val.txt", "b 2\n")
    )
    kit.write("Annotations/a.xml", annotation(thing("cat"), thing("person")))
    kit.write("Annotations/b.xml", annotation(thing("cat"), thing("person", parts=part("head"))))
    return read_tree(kit.root, kit.image_set)
