"""Random annotations and detections in COCO's format with every difficult case, and their official scores."""

import contextlib
import copy
import io
from collections.abc import Mapping
from typing import Any

import numpy as np
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from heldout_scoring.metrics.coco import CocoDetections, CocoObjects, box_iou
from heldout_scoring.metrics.coco_tables import CocoTables, tabulate_coco

Plain = dict[str, Any]

FIGURES = ("AP", "AP50", "AP75", "APs", "APm", "APl", "AR1", "AR10", "AR100", "ARs", "ARm", "ARl")


def draw_coco_set(seed: int) -> tuple[Plain, list[Plain]]:
    """Instances and detections: ties in confidence and IoU, crowds, images and classes without anything, sizes at the
    limits of the ranges, boxes without area, more than a hundred detections of a class in an image."""
    random = np.random.default_rng(seed)
    images = random.permutation(np.arange(1, 60))[: random.integers(1, 12)]
    categories = random.permutation(np.arange(1, 20))[: random.integers(1, 5)]
    step = random.choice([0.1, 1, 16])
    annotations = [
        _annotation(random, int(image), categories, step)
        for image in images
        for _ in range(random.integers(0, 9) if random.random() < 0.8 else 0)
    ]
    for number, each in enumerate(annotations, 1):
        each["id"] = number
    instances = {
        "images": [{"id": int(n), "file_name": f"{n}.jpg", "width": 640, "height": 480} for n in images],
        "categories": [{"id": int(n), "name": f"class {n}"} for n in categories],
        "annotations": annotations,
    }
    return instances, _detections(random, instances, step)


def _box(random: np.random.Generator, step: float) -> list[float]:
    edges = np.exp(random.normal(np.log(60), 0.8, 2)).clip(0, 300)
    numbers = np.concatenate([random.random(2) * (200, 150), edges])
    return [float(x) for x in np.round(np.round(numbers / step) * step, 2)]


def _annotation(random: np.random.Generator, image: int, categories: Any, step: float) -> Plain:
    box = _box(random, step)
    area = random.choice([box[2] * box[3], box[2] * box[3] * random.random(), 32.0**2, 96.0**2])
    crowd = int(random.random() < 0.15)
    return {
        "image_id": image,
        "category_id": int(random.choice(categories)),
        "bbox": box,
        "area": float(area),
        "iscrowd": crowd,
    }


def _detections(random: np.random.Generator, instances: Plain, step: float) -> list[Plain]:
    digits = int(random.choice([1, 2, 6]))
    found = []
    for each in instances["annotations"]:
        for _ in range(random.integers(0, 4)):
            noise = np.round(random.normal(0, random.choice([0, 0.05, 0.2]), 4) * 30 / step) * step
            box = [float(x) for x in np.round(np.array(each["bbox"]) + noise, 2)]
            found.append(each | {"bbox": box[:2] + [max(edge, 0.0) for edge in box[2:]]})
    some = [each["id"] for each in instances["images"]]
    classes = [each["id"] for each in instances["categories"]]
    crowded = random.integers(0, 250) if random.random() < 0.3 else random.integers(0, 12)
    for number in range(crowded):
        image = some[0] if number % 3 else int(random.choice(some))
        found.append({"image_id": image, "category_id": classes[0], "bbox": _box(random, step)})
    random.shuffle(found)
    return [
        {name: each[name] for name in ("image_id", "category_id", "bbox")}
        | {"score": round(float(random.random()), digits)}
        for each in found
    ]


def official(instances: Plain, detections: list[Plain], kind: str = "bbox", **params: Any) -> COCOeval:
    """The evaluation by pycocotools after its steps; params: what is set otherwise than the program does, which then has no summary."""
    with contextlib.redirect_stdout(io.StringIO()):
        truth = COCO()
        truth.dataset = copy.deepcopy(instances)
        truth.createIndex()
        found = truth.loadRes(copy.deepcopy(detections)) if detections else _nothing(truth)
        evaluation = COCOeval(truth, found, kind)
        vars(evaluation.params).update(params)
        evaluation.evaluate()
        evaluation.accumulate()
        if not params:
            evaluation.summarize()
    return evaluation


def _nothing(truth: COCO) -> COCO:
    """An empty set of detections, which `loadRes` cannot read."""
    found = COCO()
    found.dataset = {**truth.dataset, "annotations": []}
    found.createIndex()
    return found


def official_figures(evaluation: COCOeval) -> Mapping[str, float | None]:
    """The official twelve figures by name, with None for -1."""
    return {
        name: None if value == -1 else float(value)
        for name, value in zip(FIGURES, evaluation.stats, strict=True)
    }


def objects_of(instances: Plain) -> CocoObjects:
    """The annotations as arrays, with images and classes ordered by id."""
    images, classes = (_numbers(instances[name]) for name in ("images", "categories"))
    annotations = instances["annotations"]
    return CocoObjects(
        np.array([images[each["image_id"]] for each in annotations], np.int32),
        np.array([classes[each["category_id"]] for each in annotations], np.int32),
        np.array([each["area"] for each in annotations], np.float64),
        np.array([each["iscrowd"] for each in annotations], np.bool_),
        np.array([each["id"] == 0 for each in annotations], np.bool_),
    )


def detections_of(instances: Plain, detections: list[Plain]) -> CocoDetections:
    """The detections as arrays with the areas of their boxes."""
    images, classes = (_numbers(instances[name]) for name in ("images", "categories"))
    return CocoDetections(
        np.array([images[each["image_id"]] for each in detections], np.int32),
        np.array([classes[each["category_id"]] for each in detections], np.int32),
        np.array([each["score"] for each in detections], np.float64),
        np.array([each["bbox"][2] * each["bbox"][3] for each in detections], np.float64),
    )


def _numbers(entries: list[Plain]) -> Mapping[int, int]:
    return {identifier: number for number, identifier in enumerate(sorted(each["id"] for each in entries))}


def boxes_of(entries: list[Plain]) -> Any:
    """The boxes of annotations or detections: float64 (n, 4)."""
    return np.array([each["bbox"] for each in entries], np.float64).reshape(-1, 4)


def tables_of(instances: Plain, detections: list[Plain]) -> CocoTables:
    """Our own evaluation of boxes."""
    objects = objects_of(instances)
    return tabulate_coco(
        detections_of(instances, detections),
        objects,
        box_iou(boxes_of(detections), boxes_of(instances["annotations"]), objects.crowd),
        images=len(instances["images"]),
        classes=len(instances["categories"]),
    )
