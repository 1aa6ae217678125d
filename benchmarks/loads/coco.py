"""The same detections in COCO's JSON."""

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.loads.detections import SIZES, detect
from benchmarks.loads.scene import CLASSES, Scene
from heldout_scoring.data.arrays import Floats

_INSTANCES: Final = "instances.json"
_DETECTIONS: Final = "detections.json"


@dataclass(frozen=True, slots=True)
class CocoFiles:
    """A file of annotation and one of detections."""

    instances: Path
    detections: Path


def write_coco(place: Path, scene: Scene, size: str) -> CocoFiles:
    """Make both files, or find what an earlier run made; boxes from edge to edge, difficult objects as crowds."""
    folder = place / f"coco-{size}-{len(scene.ids)}"
    folder.mkdir(exist_ok=True)
    files = CocoFiles(folder / _INSTANCES, folder / _DETECTIONS)
    for path, write in ((files.instances, _instances), (files.detections, partial(_detections, size=size))):
        if not path.exists():
            half = path.with_suffix(".part")
            half.write_text(write(scene))
            half.rename(path)
    return files


def _instances(scene: Scene) -> str:
    boxes = _as_coco(scene.boxes).tolist()
    rows = zip(scene.image.tolist(), scene.name.tolist(), boxes, scene.difficult.tolist(), strict=True)
    return json.dumps(
        {
            "images": [
                {"id": number, "file_name": f"{name}.jpg", "width": width, "height": height}
                for number, (name, (width, height)) in enumerate(
                    zip(scene.ids, scene.sizes.tolist(), strict=True), 1
                )
            ],
            "categories": [{"id": number, "name": name} for number, name in enumerate(CLASSES, 1)],
            "annotations": [
                {
                    "id": number,
                    "image_id": image + 1,
                    "category_id": name + 1,
                    "bbox": box,
                    "area": box[2] * box[3],
                    "iscrowd": int(difficult),
                }
                for number, (image, name, box, difficult) in enumerate(rows, 1)
            ],
        }
    )


def _detections(scene: Scene, size: str) -> str:
    """By image, as detectors write them."""
    found = [
        detect(scene, number, SIZES[size], np.random.default_rng([SIZES[size], number]))
        for number in range(len(CLASSES))
    ]
    image = np.concatenate([each.image for each in found])
    order = np.argsort(image, kind="stable")
    label = np.repeat(np.arange(1, len(CLASSES) + 1), [len(each.image) for each in found])[order]
    boxes = np.concatenate([_as_coco(each.boxes) for each in found])[order].round(1)
    score = np.concatenate([each.confidence for each in found])[order]
    rows = zip((image[order] + 1).tolist(), label.tolist(), boxes.tolist(), score.tolist(), strict=True)
    return json.dumps(
        [dict(zip(("image_id", "category_id", "bbox", "score"), row, strict=True)) for row in rows]
    )


def _as_coco(boxes: Floats) -> Floats:
    return np.hstack([boxes[:, :2], boxes[:, 2:] - boxes[:, :2] + 1])
