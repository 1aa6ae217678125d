"""A naive implementation of the COCO evaluation, written from its description and not from its program."""

from collections.abc import Iterable
from typing import Any

import numpy as np

Plain = dict[str, Any]

THRESHOLDS = [0.5 + 0.05 * n for n in range(10)]
SIZES = {"": (0.0, 1e10), "s": (0.0, 1024.0), "m": (1024.0, 9216.0), "l": (9216.0, 1e10)}


def slow_figures(instances: Plain, detections: list[Plain]) -> dict[str, float | None]:
    """The twelve figures."""
    classes = sorted(each["id"] for each in instances["categories"])
    images = sorted(each["id"] for each in instances["images"])
    figures: dict[str, float | None] = {}
    for size, limits in SIZES.items():
        every = (_of_class(instances, detections, images, name, limits) for name in classes)
        scored = [each for each in every if each is not None]
        figures[f"AP{size}"] = _mean(value for each in scored for value in each["precision"])
        figures[f"AR{size or 100}"] = _mean(value for each in scored for value in each["recall", 100])
        if not size:
            figures["AP50"] = _mean(each["precision"][0] for each in scored)
            figures["AP75"] = _mean(each["precision"][5] for each in scored)
            figures["AR1"] = _mean(value for each in scored for value in each["recall", 1])
            figures["AR10"] = _mean(value for each in scored for value in each["recall", 10])
    return figures


def _mean(values: Iterable[float]) -> float | None:
    values = list(values)
    return sum(values) / len(values) if values else None


def _of_class(
    instances: Plain, detections: list[Plain], images: list[int], name: int, limits: tuple[float, float]
) -> dict[Any, list[float]] | None:
    """Average precision and recall at every threshold, or None if no object counts."""
    objects = [each for each in instances["annotations"] if each["category_id"] == name]
    positives = sum(not _ignored(each, limits) for each in objects)
    if positives == 0:
        return None
    found: dict[Any, list[float]] = {
        "precision": [],
        ("recall", 1): [],
        ("recall", 10): [],
        ("recall", 100): [],
    }
    for threshold in THRESHOLDS:
        marks: list[tuple[float, str, int]] = []
        for image in images:
            predictions = [d for d in detections if d["image_id"] == image and d["category_id"] == name]
            predictions = sorted(predictions, key=lambda prediction: -prediction["score"])[:100]
            there = [each for each in objects if each["image_id"] == image]
            marks += [
                (prediction["score"], mark, nth)
                for nth, (prediction, mark) in enumerate(
                    zip(predictions, _marks(predictions, there, threshold, limits), strict=True)
                )
            ]
        marks.sort(key=lambda mark: -mark[0])
        found["precision"].append(_average_precision([mark for _, mark, _ in marks], positives))
        for most in (1, 10, 100):
            true_positives = sum(mark == "true positive" and nth < most for _, mark, nth in marks)
            found["recall", most].append(true_positives / positives)
    return found


def _ignored(annotated: Plain, limits: tuple[float, float]) -> bool:
    return bool(annotated["iscrowd"]) or not limits[0] <= annotated["area"] <= limits[1]


def _marks(
    predictions: list[Plain], objects: list[Plain], threshold: float, limits: tuple[float, float]
) -> list[str]:
    taken: list[int] = []
    marks = []
    for prediction in predictions:
        best, best_key = None, None
        for number, each in enumerate(objects):
            overlap = _iou(prediction["bbox"], each["bbox"], crowd=bool(each["iscrowd"]))
            if overlap < min(threshold, 1 - 1e-10) - 1e-13 or (number in taken and not each["iscrowd"]):
                continue
            key = (not _ignored(each, limits), overlap, number)
            if best_key is None or key > best_key:
                best, best_key = number, key
        if best is None:
            area = prediction["bbox"][2] * prediction["bbox"][3]
            marks.append("false positive" if limits[0] <= area <= limits[1] else "ignored")
        else:
            taken.append(best)
            marks.append("ignored" if _ignored(objects[best], limits) else "true positive")
    return marks


def _iou(box: list[float], other: list[float], *, crowd: bool) -> float:
    width = min(box[0] + box[2], other[0] + other[2]) - max(box[0], other[0])
    height = min(box[1] + box[3], other[1] + other[3]) - max(box[1], other[1])
    if width <= 0 or height <= 0:
        return 0.0
    area = box[2] * box[3]
    union = area if crowd else area + other[2] * other[3] - width * height
    return width * height / union


def _average_precision(marks: list[str], positives: int) -> float:
    true_positives = false_positives = 0
    points = []
    for mark in marks:
        true_positives, false_positives = (
            true_positives + (mark == "true positive"),
            false_positives + (mark == "false positive"),
        )
        points.append(
            (
                true_positives / positives,
                true_positives / (true_positives + false_positives) if true_positives else 0.0,
            )
        )
    levels = [float(level) for level in np.linspace(0, 1, 101)]
    return sum(max((p for r, p in points if r >= level), default=0.0) for level in levels) / 101
