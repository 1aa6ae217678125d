import json
from typing import Any

import numpy as np
import pytest

from scoring.data.annotations import AnnotatedObject, Box
from scoring.data.boxes import BoxConvention, convert_boxes
from scoring.readers.coco import read_coco
from scoring.readers.tables import truth_of_boxes
from scoring.readers.voc.annotations import AnnotationError
from tests.scoring.conftest import ReadTruth

IMAGE = {"id": 12, "file_name": "000012.jpg", "width": 500, "height": 333}
CAR = {"id": 7, "name": "car"}
BOX = {"image_id": 12, "category_id": 7, "bbox": [155, 96, 196, 174]}


def coco(**lists: Any) -> bytes:
    return json.dumps({"images": [IMAGE], "categories": [CAR], "annotations": [BOX]} | lists).encode()


def test_images_classes_and_boxes_are_read() -> None:
    other = IMAGE | {"id": 3, "file_name": "JPEGImages/a_1.v2.png"}
    cat = {"id": 2, "name": "cat", "supercategory": "animal"}

    found = read_coco(coco(images=[IMAGE, other], categories=[CAR, cat]))

    assert found.classes == ("cat", "car")
    assert list(found.images) == ["000012", "a_1.v2"]
    assert (found.images["000012"].width, found.images["000012"].height) == (500, 333)
    assert found.images["000012"].objects == (AnnotatedObject("car", Box(155, 96, 351, 270)),)
    assert found.images["a_1.v2"].objects == ()


@pytest.mark.parametrize(
    ("flag", "field"),
    [
        ("ignore", "difficult"),
        ("difficult", "difficult"),
        ("truncated", "truncated"),
        ("occluded", "occluded"),
        ("iscrowd", "group_of"),
    ],
)
def test_a_flag_that_is_1_is_true(flag: str, field: str) -> None:
    [said, unsaid] = read_coco(coco(annotations=[BOX | {flag: 1}, BOX | {flag: 0}])).images["000012"].objects

    assert getattr(said, field) is True
    assert getattr(unsaid, field) is False


def test_a_crowd_is_difficult_so_that_voc_s_rules_do_not_count_it() -> None:
    [crowd] = read_coco(coco(annotations=[BOX | {"iscrowd": 1}])).images["000012"].objects

    assert (crowd.difficult, crowd.group_of) == (True, True)


FALSE_POSITIVE: dict[str, bytes] = {
    "this is not JSON": b"{",
    "this is not JSON: NaN is no number": coco(annotations=[BOX | {"bbox": [1, 2, 3, float("nan")]}]),
    "expected a list of entries called 'categories'": b"[]",
    "expected a list of entries called 'images'": coco(images={}),
    "expected a list of entries called 'annotations'": coco(annotations=[7]),
    "annotations[0] has no 'bbox'": coco(annotations=[{"image_id": 12, "category_id": 7}]),
    "'image_id' of annotations[0] is 99, and nothing has this number": coco(
        annotations=[BOX | {"image_id": 99}]
    ),
    "'category_id' of annotations[0] is 9,": coco(annotations=[BOX | {"category_id": 9}]),
    "expected a whole number as 'image_id' of annotations[0], found '12'": coco(
        annotations=[BOX | {"image_id": "12"}]
    ),
    "expected a whole number as 'id' of images[0], found True": coco(images=[IMAGE | {"id": True}]),
    "expected a text as 'name' of categories[0], found ' '": coco(categories=[{"id": 7, "name": " "}]),
    "expected a text as 'file_name' of images[0], found 3": coco(images=[IMAGE | {"file_name": 3}]),
    "'id' of images[1] is not the first with 12": coco(images=[IMAGE, IMAGE]),
    "images[1] is called '000012' like one before it": coco(
        images=[IMAGE, IMAGE | {"id": 13, "file_name": "val/000012.png"}]
    ),
    "'name' of categories[1] is not the first with 'car'": coco(categories=[CAR, CAR | {"id": 8}]),
    "expected a number of pixels as 'width' of images[0], found 0": coco(images=[IMAGE | {"width": 0}]),
    "expected a number of pixels as 'width' of images[0], found 1000000000": coco(
        images=[IMAGE | {"width": 10**9}]
    ),
    "expected a number of pixels as 'height' of images[0], found -1": coco(images=[IMAGE | {"height": -1}]),
    "expected four numbers as 'bbox' of annotations[0], found [1, 2, 3]": coco(
        annotations=[BOX | {"bbox": [1, 2, 3]}]
    ),
    "expected four numbers as 'bbox' of annotations[0], found 'x'": coco(annotations=[BOX | {"bbox": "x"}]),
    "expected four numbers as 'bbox' of annotations[0], found [1, 2, '3', 4]": coco(
        annotations=[BOX | {"bbox": [1, 2, "3", 4]}]
    ),
    "expected a box that does not end before it begins as 'bbox'": coco(
        annotations=[BOX | {"bbox": [1, 2, 0, 4]}]
    ),
    "before it begins as 'bbox' of annotations[0], found [1, 2, 1000": coco(
        annotations=[BOX | {"bbox": [1, 2, 10**400, 4]}]
    ),
    "before it begins as 'bbox' of annotations[0], found [1, 2, inf, 4]": coco(
        annotations=[BOX | {"bbox": [1, 2, "infinite", 4]}]
    ).replace(b'"infinite"', b"1e999"),
}


@pytest.mark.parametrize("sentence", FALSE_POSITIVE)
def test_what_is_wrong_is_said_of_its_entry(sentence: str) -> None:
    with pytest.raises(AnnotationError) as wrong:
        read_coco(FALSE_POSITIVE[sentence])

    assert sentence in str(wrong.value)


@pytest.mark.shared
def test_voc_s_own_annotation_is_the_same_after_the_way_through_coco(real_truth: ReadTruth) -> None:
    truth = real_truth("voc2007_annotations_imagesets.tar.xz", "VOC2007", "test")
    objects = truth.tables.objects
    width, height = (objects.boxes[:, end] - objects.boxes[:, end - 2] + 1 for end in (2, 3))
    annotations = [
        {
            "image_id": int(image),
            "category_id": int(name) + 1,
            "bbox": [left - 1, top - 1, wide, tall],
            "ignore": int(hard),
        }
        for image, name, left, top, wide, tall, hard in zip(
            objects.image,
            objects.name,
            *objects.boxes[:, :2].T.tolist(),
            width.tolist(),
            height.tolist(),
            objects.difficult,
            strict=True,
        )
    ]
    content = coco(
        images=[
            {"id": number, "file_name": f"{image.id}.jpg", "width": image.width, "height": image.height}
            for number, image in enumerate(truth.description.images)
        ],
        categories=[{"id": n, "name": name} for n, name in enumerate(truth.description.classes, 1)],
        annotations=annotations,
    )

    found = read_coco(content)
    again = truth_of_boxes(found.images, dataset="VOC2007", image_set="test", classes=found.classes)

    assert again.description.images == truth.description.images
    assert again.description.classes == truth.description.classes
    pixels = convert_boxes(again.tables.objects.boxes, again.tables.convention, BoxConvention.INCLUSIVE)
    np.testing.assert_array_equal(pixels, objects.boxes)
    for field in ("image", "name", "difficult"):
        np.testing.assert_array_equal(getattr(again.tables.objects, field), getattr(objects, field))
    np.testing.assert_array_equal(again.tables.labels, truth.tables.labels)


def test_an_object_of_another_class_is_none_of_the_truth_s() -> None:
    found = read_coco(coco())

    assert truth_of_boxes(found.images, dataset="own", image_set="val").description.classes == ("car",)
    with pytest.raises(ValueError, match="'car' is none of the classes cat, dog"):
        truth_of_boxes(found.images, dataset="own", image_set="val", classes=["cat", "dog"])
