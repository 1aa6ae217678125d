"""What is annotated in images is recognised however it was written, and any other label makes a difference."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.challenges.label_digests import LabelDigests, label_digests
from heldout_scoring import BoxConvention, GroundTruth, read_tree
from heldout_scoring.data.annotations import AnnotatedObject, Annotation, Box
from heldout_scoring.data.truth import truth_of_boxes
from tests.scoring.builders import Kit, annotation, part, thing
from tests.scoring.lvis_sets import draw_lvis_set

CAT, DOG = AnnotatedObject("cat", Box(2, 2, 11, 11)), AnnotatedObject("dog", Box(21, 6, 40, 30))
IMAGES = {"a": Annotation(50, 40, (CAT, DOG)), "b": Annotation(50, 40, (DOG,)), "c": Annotation(50, 40, ())}


def boxes(images: Mapping[str, Annotation] = IMAGES, **options: Any) -> GroundTruth:
    return truth_of_boxes(
        images, **{"dataset": "own", "image_set": "val", "classes": ["cat", "dog"], **options}
    )


def full_kit(root: Path) -> Kit:
    """A kit that annotates parts, actions and pixels, too."""
    person = thing("person", (5, 5, 30, 30), parts=part("head"))
    pages = {"a": annotation(thing("cat"), person), "b": annotation(person)}
    kit = Kit(root / "VOC2012", "val").main(pages, {"cat": "1 -1", "person": "1 1"})
    kit.write("ImageSets/Layout/val.txt", "a 2\nb 1\n")
    kit.write("ImageSets/Action/reading_val.txt", "a 2 1\nb 1 -1\n")
    kit.write("ImageSets/Segmentation/val.txt", "a\nb\n")
    kit.mask("a", np.full((40, 50), 2, np.uint8)).mask("b", np.zeros((40, 50), np.uint8))
    return kit


def test_names_of_sets_and_the_order_of_images_classes_and_objects_make_no_difference() -> None:
    turned = {
        "c": IMAGES["c"],
        "b": IMAGES["b"],
        "a": Annotation(50, 40, (DOG, CAT)),
    }

    other = boxes(turned, dataset="another", image_set="final", classes=["dog", "cow", "cat"])

    assert label_digests(other) == label_digests(boxes())
    assert [len(each) for each in (label_digests(other).images, label_digests(other).annotated)] == [3, 2]


def test_the_same_boxes_in_another_convention_and_format_make_no_difference() -> None:
    corners = np.array([[1, 1, 11, 11], [20, 5, 40, 30], [20, 5, 40, 30]], np.float64)
    edges = GroundTruth.from_arrays(
        image=["a", "a", "b"], label=["cat", "dog", "dog"], boxes=corners + 1e-9, images=["a", "b", "c"],
        classes=["cat", "dog"], convention=BoxConvention.HALF_OPEN, sizes=[[50, 40]] * 3,
    )  # fmt: skip

    assert label_digests(edges) == label_digests(boxes())


@pytest.mark.parametrize(
    "changed",
    [
        replace(CAT, name="dog"),
        replace(CAT, box=Box(2, 2, 11, 12)),
        replace(CAT, difficult=True),
        replace(CAT, truncated=True),
    ],
    ids=["class", "box", "difficult", "truncated"],
)
def test_one_other_object_changes_its_image_alone(changed: AnnotatedObject) -> None:
    before = label_digests(boxes())

    after = label_digests(boxes({**IMAGES, "a": Annotation(50, 40, (changed, DOG))}))

    assert len({*before.images} & {*after.images}) == 2
    assert len({*before.annotated} & {*after.annotated}) == 1


def test_another_name_changes_an_image_and_another_size_only_what_is_compared_image_by_image() -> None:
    before = label_digests(boxes())

    renamed = label_digests(boxes({"z": IMAGES["a"], "b": IMAGES["b"], "c": IMAGES["c"]}))
    resized = label_digests(boxes({**IMAGES, "a": Annotation(60, 40, (CAT, DOG))}))

    assert len({*before.images} & {*renamed.images}) == 2
    assert resized.images == before.images
    assert len({*before.annotated} & {*resized.annotated}) == 1


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("Annotations/a.xml", annotation(thing("cat"), thing("person", (5, 5, 30, 30), parts=part("foot")))),
        ("ImageSets/Action/reading_val.txt", "a 2 -1\nb 1 -1\n"),
        ("ImageSets/Main/cat_val.txt", "a 0\nb -1\n"),
    ],
    ids=["part", "action", "label"],
)
def test_parts_actions_and_labels_count(tmp_path: Path, path: str, content: str) -> None:
    kit = full_kit(tmp_path)
    before = label_digests(read_tree(kit.root, "val"))

    after = label_digests(read_tree(kit.write(path, content).root, "val"))

    assert len({*before.images} & {*after.images}) == 1


def test_pixels_count_and_a_label_image_of_background_is_none(tmp_path: Path) -> None:
    kit = full_kit(tmp_path)
    before = label_digests(read_tree(kit.root, "val"))

    after = label_digests(read_tree(kit.mask("a", np.full((40, 50), 255, np.uint8)).root, "val"))
    kit.write("ImageSets/Segmentation/val.txt", "a\n")
    without = label_digests(read_tree(kit.root, "val"))

    assert len({*before.images} & {*after.images}) == 1
    assert without == after


def test_masks_count_however_their_polygons_are_written() -> None:
    one = {"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 1, 8, 8], "area": 30, "iscrowd": 0}
    known = {"images": [{"id": 1, "width": 20, "height": 20}], "categories": [{"id": 1, "name": "cat"}]}

    def digests(*corners: int) -> LabelDigests:
        drawn = [{**one, "segmentation": [list(corners)]}]
        return label_digests(GroundTruth.from_coco({**known, "annotations": drawn}))

    assert digests(1, 1, 9, 1, 9, 9, 1, 9) == digests(9, 1, 9, 9, 1, 9, 1, 1)
    assert digests(1, 1, 9, 1, 9, 9, 1, 9) != digests(1, 1, 9, 1, 9, 9, 2, 9, 1, 5)


@pytest.mark.parametrize("known", ["neg_category_ids", "not_exhaustive_category_ids"])
def test_classes_that_are_said_to_be_absent_or_not_all_annotated_count(known: str) -> None:
    instances, _ = draw_lvis_set(3)
    before = label_digests(GroundTruth.from_coco(instances))
    image = next(each for each in instances["images"] if each[known])

    image[known] = image[known][1:]

    after = label_digests(GroundTruth.from_coco(instances))
    assert len({*before.images} - {*after.images}) == 1


def test_classes_that_were_verified_count() -> None:
    before, after = (
        label_digests(boxes({"a": replace(IMAGES["a"], verified=classes)}))
        for classes in (frozenset({"cat", "dog"}), frozenset({"dog"}))
    )

    assert before.images != after.images
