"""Everything that the library stores, of one small data set: `python -m tests.golden.stored_files FILE.zip` writes it.

Servers hold such files and such JSON for years, so that each release has to read what earlier ones wrote.
"""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from shutil import copytree
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np

from heldout_scoring import (
    COCO,
    VOC2012,
    Confidences,
    Detections,
    GroundTruth,
    InstanceMasks,
    LabelMaps,
    Layouts,
    Result,
    bootstrap,
    evaluate,
    intervals_of,
    read_tree,
    validate,
)
from heldout_scoring.analysis.errors import Files, diagnose
from heldout_scoring.analysis.images import outcomes_by_image
from heldout_scoring.stored import to_plain
from heldout_scoring.tasks.coco import COCO_DETECTION
from heldout_scoring.tasks.detection import DETECTION
from heldout_scoring.tasks.task import TaskRules

_HERE = Path(__file__).parent

IMAGES, CLASSES = [f"img_{number}" for number in range(8)], ["cat", "dog", "owl"]
REPLICATES = 20

_IMAGE, _LABEL = np.repeat(np.arange(8), 3), np.tile([0, 1, 0], 8)  # no owl, so that something has no value


def _scattered(count: int, step: int, below: int) -> Any:
    """Whole numbers that look like random ones."""
    return np.arange(1, count + 1) * step % 101 % below


_CORNERS = 1 + _scattered(48, 37, 40).reshape(24, 2)
_BOXES = np.concatenate([_CORNERS, _CORNERS + 5 + _scattered(48, 23, 25).reshape(24, 2)], axis=1).astype(
    np.float64
)
_SCORES = _scattered(24, 29, 90) / 90
_FOUND = _BOXES + _scattered(96, 17, 7).reshape(24, 4) - 3
_LABELS = np.array([[row % 2, row % 3 > 0, 0] for row in range(8)])
_MAPS = _scattered(120, 19, 4).reshape(4, 6, 5)
_MASKS = [
    np.pad(np.ones((3 + number, 4), np.bool_), ((1, 9 - number), (number, 8 - number))) for number in range(6)
]


def _coco(**of_images: Any) -> Mapping[str, Any]:
    """COCO's JSON, some of it as polygons."""
    annotations = [
        {
            "id": number + 1,
            "image_id": 10 * int(_IMAGE[number]),
            "category_id": 7 + int(_LABEL[number]),
            "bbox": [left, top, right - left, bottom - top],
            "area": (right - left) * (bottom - top) * 0.75,
            "iscrowd": 0,
            "ignore": int(number % 6 == 0),
            "segmentation": [[left, top, right, top, right, bottom]],
        }
        for number, (left, top, right, bottom) in enumerate(_BOXES.tolist())
    ]
    images = [{"id": 10 * place, "width": 80, "height": 75, **of_images} for place in range(8)]
    categories = [
        {"id": 7 + label, "name": name, "frequency": "rcf"[label]} for label, name in enumerate(CLASSES)
    ]
    return {"images": images, "categories": categories, "annotations": annotations}


@dataclass(frozen=True)
class Case:
    """A ground truth and predictions for it."""

    truth: GroundTruth
    found: Any
    protocol: Any

    @cached_property
    def result(self) -> Result:
        return evaluate(self.found, self.truth, protocol=self.protocol)


def _detection(protocol: Any) -> Case:
    difficult = np.arange(24) % 5 == 0
    truth = GroundTruth.from_arrays(
        _IMAGE, _LABEL, _BOXES, images=IMAGES, classes=CLASSES, convention="inclusive", difficult=difficult
    )
    return Case(
        truth,
        Detections.from_arrays(_IMAGE, _LABEL, _SCORES, _FOUND, images=IMAGES, classes=CLASSES),
        protocol,
    )


def _own(base: Any, task: Any, **changed: Any) -> Any:
    return base.with_rules(
        "own2026", "Our challenge", TaskRules(task, replace(base.rules_of(task), **changed))
    )


def _of_coco(**of_images: Any) -> Case:
    truth = GroundTruth.from_coco(_coco(**of_images), image_set="val")
    found = [
        {
            "image_id": 10 * int(image),
            "category_id": 7 + int(label),
            "score": score,
            "bbox": [x, y, right - x, bottom - y],
        }
        for image, label, score, (x, y, right, bottom) in zip(
            _IMAGE, _LABEL, _SCORES, _FOUND.tolist(), strict=True
        )
    ]
    return Case(truth, Detections.from_coco(found, truth), "lvis" if of_images else "coco")


def _masks() -> Case:
    image, label = np.arange(6), np.array([0, 1, 0, 1, 0, 1])
    truth = GroundTruth.from_masks(image, label, _MASKS, images=IMAGES, classes=CLASSES)
    moved = [np.roll(mask, 1, axis=number % 2) for number, mask in enumerate(_MASKS)]
    found = InstanceMasks.from_arrays(image, label, _SCORES[:6], moved, images=IMAGES, classes=CLASSES)
    return Case(truth, found, "coco")


def _classification() -> Case:
    truth = GroundTruth.from_labels(_LABELS, images=IMAGES, classes=CLASSES)
    return Case(
        truth, Confidences.from_matrix(_SCORES.reshape(8, 3), images=IMAGES, classes=CLASSES), "voc2012"
    )


def _action() -> Case:
    actions, person = ["reading", "running"], np.ones(8, np.int64)
    truth = GroundTruth.from_actions(_LABELS[:, :2], image=IMAGES, person=person, actions=actions)
    found = Confidences.from_matrix(_SCORES[:16].reshape(8, 2), images=IMAGES, classes=actions, person=person)
    return Case(truth, found, "voc2012")


def _layout() -> Case:
    persons, owner = (IMAGES, np.ones(8, np.int64)), np.repeat(np.arange(8), 3)
    parts: dict[str, Any] = {"owner": owner, "kind": np.tile(["head", "hand", "foot"], 8)}
    truth = GroundTruth.from_layouts(*persons, **parts, parts=_BOXES, convention="inclusive")
    return Case(truth, Layouts.from_arrays(*persons, _SCORES[:8], **parts, parts=_FOUND), "voc2012")


def _segmentation() -> Case:
    void = [np.where(labels == 3, 255, labels) for labels in _MAPS]
    truth = GroundTruth.from_label_maps(void, classes=CLASSES, images=IMAGES[:4])
    return Case(truth, LabelMaps.from_arrays([labels % 3 for labels in _MAPS], images=IMAGES[:4]), "voc2012")


CASES: Mapping[str, Callable[[], Case]] = {
    "detection": lambda: _detection("voc2012"),
    "detection-own": lambda: _detection(_own(VOC2012, DETECTION, iou_threshold=0.75)),
    "boxes-own": lambda: _detection(_own(COCO, COCO_DETECTION, iou_thresholds=np.array([0.3, 0.55]))),
    "coco": _of_coco,
    "lvis": lambda: _of_coco(neg_category_ids=[7, 9], not_exhaustive_category_ids=[8]),
    "masks": _masks,
    "classification": _classification,
    "action": _action,
    "layout": _layout,
    "segmentation": _segmentation,
}


def stored(case: Case) -> Iterator[tuple[str, bytes]]:
    """What a server holds of this case, by the kind."""
    result, truth = case.result, case.truth
    yield "truth", truth.content
    yield "description.json", truth.description.to_json().encode()
    yield "result.json", result.to_json().encode()
    with TemporaryDirectory() as folder:
        result.save_matches(Path(folder, "matches"))
        yield "matches", Path(folder, "matches").read_bytes()
    yield "replicates", bootstrap(result, truth, replicates=REPLICATES).content
    yield "image-outcomes", outcomes_by_image(result, truth).content
    yield "intervals.json", _as_json(intervals_of(result, truth, replicates=REPLICATES))
    yield from _added_later(truth)


def sent() -> Iterator[tuple[str, bytes]]:
    """What a server holds of an archive that lacks a class, by the kind."""
    truth = read_tree(_HERE / "sample", "test")
    with TemporaryDirectory() as folder:
        archive, matches = Path(folder, "results"), Path(folder, "matches")
        copytree(_HERE / "results", archive)
        (archive / "Main" / "comp3_det_test_car.txt").unlink()
        result = evaluate(archive, truth, protocol="voc2012", competition=3, statistics=matches)
        yield "truth", truth.content
        yield "result.json", result.to_json().encode()
        yield "matches", matches.read_bytes()
        yield (
            "diagnosis.json",
            _as_json(diagnose(result, truth, Files(archive, truth.description.limits, matches))),
        )
        yield "validation.json", json.dumps(validate(archive, truth.description).as_json()).encode()


def _as_json(value: object) -> bytes:
    return json.dumps(to_plain(value)).encode()


def _added_later(truth: GroundTruth) -> Iterator[tuple[str, bytes]]:
    try:
        from app.challenges.label_digests import label_digests
    except ImportError:
        return
    yield "label-digests.json", _as_json(label_digests(truth))


def everything() -> Mapping[str, bytes]:
    """Every file, by the name of its case and its kind."""
    cases = {name: dict(stored(case())) for name, case in CASES.items()} | {"sent": dict(sent())}
    return {f"{name}.{kind}": content for name, files in cases.items() for kind, content in files.items()}


if __name__ == "__main__":
    with ZipFile(sys.argv[1], "w", ZIP_DEFLATED) as written:
        for name, content in everything().items():
            written.writestr(name, content)
