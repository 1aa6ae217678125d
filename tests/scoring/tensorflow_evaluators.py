"""The evaluators of the TensorFlow Object Detection API, run unchanged but without TensorFlow.

Their metrics are NumPy; of TensorFlow they use two functions that only graphs need, so that an empty module will do. Two
names that NumPy 2 no longer has are given back to them.
"""

import importlib
import sys
import warnings
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cache
from io import StringIO
from types import ModuleType, SimpleNamespace
from typing import Any, Final
from unittest.mock import patch

import numpy as np
import pytest

from heldout_scoring.data.arrays import Flags, Floats, Integers, Places

OFFSET: Final = 1  # its classes count from 1

EVALUATORS: Final = {
    "pascal_voc_detection_metrics": "PascalDetectionEvaluator",
    "weighted_pascal_voc_detection_metrics": "WeightedPascalDetectionEvaluator",
    "oid_V2_detection_metrics": "OpenImagesDetectionEvaluator",
    "oid_challenge_detection_metrics": "OpenImagesDetectionChallengeEvaluator",
}


@cache
def load_evaluators() -> ModuleType:
    """Its module object_detection_evaluation; skips the test if the package is not installed."""
    pytest.importorskip("object_detection", reason="tf-models-research-object-detection is not installed")
    names = ("tensorflow", "tensorflow.compat", "tensorflow.compat.v1")
    absent: dict[str, Any] = {name: ModuleType(name) for name in names}
    absent["tensorflow"].compat = absent["tensorflow.compat"]
    absent["tensorflow.compat"].v1 = absent["tensorflow.compat.v1"]
    labels: Any = ModuleType("object_detection.utils.label_map_util")
    labels.create_category_index = lambda categories: {each["id"]: each for each in categories}
    with patch.dict(sys.modules, {**absent, labels.__name__: labels}):
        evaluators = importlib.import_module("object_detection.utils.object_detection_evaluation")
        metrics: Any = importlib.import_module("object_detection.utils.metrics")
    metrics.np = SimpleNamespace(**{**vars(np), "float": float, "NAN": np.nan})
    return evaluators


@cache
def load_expansion() -> ModuleType:
    """Its module oid_hierarchical_labels_expansion, whose command-line flags are not used."""
    pytest.importorskip("object_detection", reason="tf-models-research-object-detection is not installed")
    flags = SimpleNamespace(DEFINE_string=print, DEFINE_integer=print, FLAGS=None)
    with (
        patch.dict(sys.modules, {"absl": SimpleNamespace(app=None, flags=flags)}),
        redirect_stdout(StringIO()),
    ):
        return importlib.import_module("object_detection.dataset_tools.oid_hierarchical_labels_expansion")


@dataclass(frozen=True)
class Boxes:
    """Objects or detections: image and label int (n,), boxes float (n, 4), left, top, right, bottom."""

    image: Integers
    label: Places
    boxes: Floats


@dataclass(frozen=True)
class Truth:
    """Objects of this many images; flags: bool (n,); verified: bool (images, classes), where image-level labels exist."""

    images: int
    objects: Boxes
    difficult: Flags
    group_of: Flags
    verified: Flags


@dataclass(frozen=True)
class Figures:
    """The headline and the average precision of each class, NaN if there is none."""

    mean: float
    classes: Sequence[float]


def evaluate_tensorflow(
    protocol: str, classes: Sequence[str], truth: Truth, found: Boxes, confidence: Floats
) -> Figures:
    """The figures reported by the evaluator of this configuration."""
    categories = [{"id": number, "name": name} for number, name in enumerate(classes, OFFSET)]
    evaluator = getattr(load_evaluators(), EVALUATORS[protocol])(categories)
    objects_of, found_of = _by_image(truth.objects, truth.images), _by_image(found, truth.images)
    for image in range(truth.images):
        rows, lines = objects_of[image], found_of[image]
        labels = np.flatnonzero(truth.verified[image]) + OFFSET
        evaluator.add_single_ground_truth_image_info(
            image,
            {
                "groundtruth_boxes": _turned(truth.objects.boxes[rows]),
                "groundtruth_classes": truth.objects.label[rows] + OFFSET,
                "groundtruth_difficult": truth.difficult[rows],
                "groundtruth_group_of": truth.group_of[rows],
                "groundtruth_image_classes": labels,
            },
        )
        evaluator.add_single_detected_image_info(
            image,
            {
                "detection_boxes": _turned(found.boxes[lines]),
                "detection_scores": confidence[lines],
                "detection_classes": found.label[lines] + OFFSET,
            },
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # it divides by 0 where a class has no objects
        return _figures(evaluator.evaluate(), classes)


def _by_image(boxes: Boxes, images: int) -> list[Places]:
    order = np.argsort(boxes.image, kind="stable")
    return np.split(order, np.searchsorted(boxes.image[order], np.arange(1, images)))


def _turned(boxes: Floats) -> Floats:
    """Boxes as top, left, bottom, right, as the evaluator expects them."""
    return boxes[:, [1, 0, 3, 2]]


def _figures(reported: Mapping[str, float], classes: Sequence[str]) -> Figures:
    by_ending = {key.rpartition("/")[2]: float(value) for key, value in reported.items()}
    return Figures(by_ending["mAP@0.5IOU"], [by_ending[name] for name in classes])
