"""Annotation in COCO's JSON as ground truth for other protocols."""

from typing import Any

import numpy as np
import pytest

from heldout_scoring import Detections, GroundTruth, evaluate
from heldout_scoring.data.annotations import BoxConvention
from tests.scoring.conftest import ReadTruth

IMAGE = {"id": 12, "width": 500, "height": 333}
BOX = {"id": 1, "image_id": 12, "category_id": 7, "bbox": [155, 96, 196, 174], "area": 34104}


def truth_of(*annotations: dict[str, Any]) -> GroundTruth:
    lists = {"images": [IMAGE], "categories": [{"id": 7, "name": "car"}], "annotations": [*annotations]}
    return GroundTruth.from_coco(lists)


@pytest.mark.parametrize("flag", ["ignore", "difficult", "iscrowd"])
@pytest.mark.parametrize("more", [{}, {"note": "read by the JSON parser, not as a table"}])
def test_flagged_objects_are_not_positives_under_the_voc_rules(flag: str, more: dict[str, Any]) -> None:
    truth = truth_of(BOX | {flag: 1} | more, BOX | {flag: 0, "id": 2, "bbox": [0, 0, 9, 9]} | more)

    objects = truth.tables.objects

    assert objects.difficult.tolist() == [True, False]
    assert objects.group_of.tolist() == [flag == "iscrowd", False]
    nothing = Detections.from_arrays([], [], [], np.empty((0, 4)))
    assert evaluate(nothing, truth, protocol="voc2012").classes[0].positives == 1


@pytest.mark.parametrize("flag", ["ignore", "difficult"])
def test_the_coco_rules_count_difficult_objects(flag: str) -> None:
    truth = truth_of(BOX | {flag: 1})

    found = Detections.from_arrays(["12"], ["car"], [0.5], [BOX["bbox"]], box_format="xywh")

    assert evaluate(found, truth, protocol="coco").classes[0].positives == 1


@pytest.mark.shared
def test_voc_ground_truth_survives_a_round_trip_through_coco_json(real_truth: ReadTruth) -> None:
    truth = real_truth("voc2007_annotations_imagesets.tar.xz", "VOC2007", "test")
    objects = truth.tables.objects
    width, height = (objects.boxes[:, end] - objects.boxes[:, end - 2] + 1 for end in (2, 3))
    annotations = [
        {
            "id": number,
            "image_id": int(image),
            "category_id": int(name) + 1,
            "bbox": [left - 1, top - 1, wide, tall],
            "area": wide * tall,
            "ignore": int(hard),
        }
        for number, (image, name, left, top, wide, tall, hard) in enumerate(
            zip(
                objects.image,
                objects.name,
                *objects.boxes[:, :2].T.tolist(),
                width.tolist(),
                height.tolist(),
                objects.difficult,
                strict=True,
            ),
            1,
        )
    ]
    images = truth.description.images
    again = GroundTruth.from_coco(
        {
            "images": [
                {"id": n, "width": each.width, "height": each.height} for n, each in enumerate(images)
            ],
            "categories": [{"id": n, "name": name} for n, name in enumerate(truth.description.classes, 1)],
            "annotations": annotations,
        }
    )

    assert again.description.classes == truth.description.classes
    np.testing.assert_array_equal(again.tables.sizes, truth.tables.sizes)
    pixels = again.tables.convention.convert(again.tables.objects.boxes, BoxConvention.INCLUSIVE)
    np.testing.assert_array_equal(pixels, objects.boxes)
    for field in ("image", "name", "difficult"):
        np.testing.assert_array_equal(getattr(again.tables.objects, field), getattr(objects, field))
    np.testing.assert_array_equal(again.tables.labels, truth.tables.labels)
