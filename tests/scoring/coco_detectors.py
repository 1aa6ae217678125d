"""Real detectors on VOC2007 in COCO's form, and a comparison with the official program."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from heldout_scoring.competitions import classes_of
from heldout_scoring.results import Result
from tests.scoring.coco_sets import Plain, official, official_figures
from tests.scoring.conftest import ReadTruth, Unpack

CLOSE = 1e-12
VOC2007 = ("voc2007_annotations_imagesets.tar.xz", "VOC2007", "test")


def as_json(value: Any, **style: Any) -> bytes:
    return json.dumps(value, **style).encode()


def by_class(instances: Plain, evaluation: Any) -> Mapping[str, float | None]:
    """The official AP of each class."""
    names = {each["id"]: each["name"] for each in instances["categories"]}
    precision = evaluation.eval["precision"][:, :, :, 0, -1]
    return {
        names[category]: None if (found := precision[:, :, place]).max() < 0 else float(found.mean())
        for place, category in enumerate(evaluation.params.catIds)
    }


def assert_equal(result: Result, instances: Plain, detections: list[Plain], kind: str = "bbox") -> None:
    evaluation = official(instances, detections, kind)
    assert result.figures == pytest.approx(official_figures(evaluation), abs=CLOSE)
    values = {each.name: each.value for each in result.classes}
    assert values == pytest.approx(by_class(instances, evaluation), abs=CLOSE)


def real_detections(
    detector: str, real_truth: ReadTruth, unpacked: Unpack, *, every: int = 1
) -> tuple[Plain, list[Plain]]:
    """VOC2007's test set and a detector's boxes, in every `every`-th image."""
    truth, names = _as_coco(real_truth)
    found = _detections_of(next(unpacked(f"results/{detector}.tar.xz").glob("*")), names)

    def chosen(entries: list[Plain]) -> list[Plain]:
        return [each for each in entries if each["image_id"] % every == 0]

    images = [each for each in truth["images"] if each["id"] % every == 0]
    return truth | {"images": images, "annotations": chosen(truth["annotations"])}, chosen(found)


def _as_coco(real_truth: ReadTruth) -> tuple[Plain, Mapping[str, int]]:
    """VOC2007's test set with difficult objects as crowds, and the ids of its images by name."""
    truth = real_truth(*VOC2007)
    objects, images = truth.tables.objects, truth.description.images
    annotations = [
        {
            "id": number,
            "image_id": int(image) + 1,
            "category_id": int(label) + 1,
            "bbox": [left - 1, top - 1, right - left + 1, bottom - top + 1],
            "area": (right - left + 1) * (bottom - top + 1),
            "iscrowd": int(difficult),
        }
        for number, (image, label, (left, top, right, bottom), difficult) in enumerate(
            zip(objects.image, objects.name, objects.boxes.tolist(), objects.difficult, strict=True), 1
        )
    ]
    instances = {
        "images": [
            {"id": number, "file_name": image.id, "width": image.width, "height": image.height}
            for number, image in enumerate(images, 1)
        ],
        "categories": [{"id": number, "name": name} for number, name in enumerate(classes_of("VOC2007"), 1)],
        "annotations": annotations,
    }
    return instances, {image.id: number for number, image in enumerate(images, 1)}


def _detections_of(folder: Any, names: Mapping[str, int]) -> list[Plain]:
    """The lines of a detector's files without inverted boxes."""
    found = []
    for number, name in enumerate(classes_of("VOC2007"), 1):
        for path in folder.rglob(f"*_det_test_{name}.txt"):
            for line in path.read_text().splitlines():
                image, score, *box = line.split()
                left, top, right, bottom = map(float, box)
                size = [right - left + 1, bottom - top + 1]
                if min(size) >= 0:
                    entry = {"image_id": names[image], "category_id": number, "score": float(score)}
                    found.append(entry | {"bbox": [left - 1, top - 1, *size]})
    return found
