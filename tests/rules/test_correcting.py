"""Corrected labels of some images: everything else of the annotation stays as it is."""

from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from pyrage import x25519

import heldout_scoring
from app.intake.comparing import changed_images
from app.intake.correcting import CorrectionError, corrected, scene_of
from app.intake.image_labels import EditedBox, ImageLabels, ImageScene
from app.intake.sealed_labels import SealedFor, SealError, seal, unseal
from heldout_scoring import GroundTruth
from tests.scoring.builders import Kit, annotation, part, thing


def kit(folder: Path) -> GroundTruth:
    """Images a, b and c: a person with a head that results name by its number, between a cat and a dog; a dog; nothing."""
    person = thing("person", (20, 5, 40, 30), parts=part("head", (22, 6, 30, 12)))
    images = {
        "a": annotation(thing("cat"), person, thing("dog", (1, 20, 10, 30))),
        "b": annotation(thing("dog", (1, 1, 10, 10))),
        "c": annotation(),
    }
    labels = {"cat": "1 -1 -1", "dog": "1 1 -1", "person": "1 -1 -1"}
    tree = Kit(folder / "VOC2012").main(images, labels)
    tree.write("ImageSets/Layout/test.txt", "a 2\n")
    return heldout_scoring.read_tree(tree.root, "test")


def edited(scene: ImageScene, *numbers: int, **changes: Any) -> ImageLabels:
    """The labels with these boxes alone; changes: of the first of them."""
    boxes = {box.number: box for box in scene.labels.boxes}
    first, *rest = (boxes[number] for number in numbers)
    return ImageLabels(boxes=(first.model_copy(update=changes), *rest))


def test_a_scene_says_what_can_be_corrected_and_a_plain_copy_is_equal(tmp_path: Path) -> None:
    scene = scene_of(kit(tmp_path), "a")

    assert [box.class_name for box in scene.labels.boxes] == ["cat", "person", "dog"]
    assert (scene.convention, scene.first, scene.flags) == (
        "inclusive", 1, ("difficult", "truncated", "occluded"),
    )  # fmt: skip
    assert (scene.fixed, scene.beside, scene.labels.classes) == ((2,), ("heads, hands and feet",), None)
    assert ImageScene.of_plain(scene.as_plain()) == scene


def test_unchanged_labels_leave_the_annotation_as_it_is(tmp_path: Path) -> None:
    truth = kit(tmp_path)
    edits = {image: scene_of(truth, image).labels for image in "abc"}

    assert corrected(truth, edits).fingerprint == truth.fingerprint


def test_removed_and_new_boxes_keep_persons_parts_and_other_images(tmp_path: Path) -> None:
    truth = kit(tmp_path)
    new = EditedBox(class_name="cat", left=5, top=5, right=9, bottom=9, difficult=True)
    a = edited(scene_of(truth, "a"), 2, 1, left=21.0)  # in any order
    b = ImageLabels(boxes=(new,))

    found = corrected(truth, {"a": a, "b": b})

    tables = found.tables
    names = [found.lists.classes[place] for place in tables.objects.name]
    assert list(zip(tables.objects.image.tolist(), names, strict=True)) == [
        (0, "cat"),
        (0, "person"),
        (1, "cat"),
    ]
    assert tables.objects.boxes[1].tolist() == [21, 5, 40, 30]
    assert (tables.parts.owner.tolist(), tables.parts.boxes.tolist()) == ([1], [[22, 6, 30, 12]])
    assert found.lists == truth.lists
    # the classes of images follow from their boxes
    assert {name: found.tables.labels[place].tolist() for place, name in enumerate(found.lists.classes)}.items() >= {
        "cat": [1, 0, -1], "dog": [-1, -1, -1], "person": [1, -1, -1],
    }.items()  # fmt: skip
    assert [(each.image, len(each.boxes)) for each in changed_images(truth, found)] == [("a", 2), ("b", 2)]


@pytest.mark.parametrize(
    ("numbers", "changes", "message"),
    [
        ((2, 3), {}, "a: an object cannot be removed if results name it, or one after it, by its number"),
        ((2, 1, 3), {"class_name": "dog"}, "a, box 1 class: cannot change, because results name this object"),
        ((1, 2, 3), {"right": 51.0}, "a, box 1 right: reaches beyond the image, which ends at 50"),
        ((1, 2, 3), {"left": 0.0}, "a, box 1 left: begins before the image, whose first is 1"),
    ],
    ids=("removed", "relabelled", "beyond", "before"),
)
def test_what_does_not_fit_is_refused_without_a_quote(
    tmp_path: Path, numbers: tuple[int, ...], changes: dict[str, Any], message: str
) -> None:
    truth = kit(tmp_path)
    labels = edited(scene_of(truth, "a"), *numbers, **changes)

    with pytest.raises(CorrectionError, match=message):
        corrected(truth, {"a": labels})


def test_a_box_that_the_annotation_has_beyond_its_image_may_stay(tmp_path: Path) -> None:
    truth = kit(tmp_path)
    objects = truth.tables.objects
    boxes = objects.boxes.copy()
    boxes[0] = [0, 0, 60, 60]
    odd = GroundTruth.of(truth.lists, replace(truth.tables, objects=replace(objects, boxes=boxes)))

    found = corrected(odd, {"a": edited(scene_of(odd, "a"), 1, 2, 3, difficult=True)})

    assert found.tables.objects.difficult.tolist()[:3] == [True, False, False]


def test_where_objects_have_masks_boxes_are_relabelled_and_removed_but_not_moved() -> None:
    square = {
        "iscrowd": 0,
        "area": 100,
        "bbox": [5, 5, 10, 10],
        "segmentation": [[5, 5, 15, 5, 15, 15, 5, 15]],
    }
    truth = GroundTruth.from_coco(
        {
            "images": [{"id": 1, "width": 50, "height": 40}],
            "categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}],
            "annotations": [{"id": n, "image_id": 1, "category_id": 1, **square} for n in (1, 2)],
        }
    )
    scene = scene_of(truth, "1")

    found = corrected(truth, {"1": edited(scene, 2, class_name="dog")})

    assert scene.has_masks
    assert found.tables.coco is not None
    assert (found.tables.coco.label.tolist(), found.tables.objects.name.tolist()) == ([1], [1])
    with pytest.raises(CorrectionError, match="its box follows from its mask"):
        corrected(truth, {"1": edited(scene, 1, 2, left=4.0)})


def test_classes_that_do_not_follow_from_boxes_are_corrected_themselves() -> None:
    truth = GroundTruth.from_labels([[1, 0], [0, 1]], classes=["cat", "dog"])
    labels = ImageLabels.model_validate({"classes": [{"class_name": "dog", "difficult": True}]})

    found = corrected(truth, {"0": labels})

    assert found.tables.labels.tolist() == [[-1, -1], [0, 1]]
    assert [each.classes for each in changed_images(truth, found)] == [
        ("cat: yes, now no", "dog: no, now difficult")
    ]
    with pytest.raises(CorrectionError, match="0, class 1 class: is none of the 2 classes"):
        corrected(truth, {"0": ImageLabels.model_validate({"classes": [{"class_name": "owl"}]})})


def test_a_sealed_correction_that_is_of_another_release_is_refused_and_not_quoted() -> None:
    identity = x25519.Identity.generate()
    place = SealedFor("hidden", 1, uuid4(), "a", 7)
    without_bottom: dict[str, Any] = {"class_name": "SECRET", "left": 31.0625, "top": 0.0, "right": 40.0}
    box = EditedBox.model_construct(**without_bottom)
    sealed = seal(ImageLabels.model_construct(boxes=(box,)), place, str(identity.to_public()))

    with pytest.raises(SealError) as refused:
        unseal(sealed, place, [identity])

    assert str(refused.value) == "Another release of the server sealed it"
    assert refused.value.__cause__ is None
