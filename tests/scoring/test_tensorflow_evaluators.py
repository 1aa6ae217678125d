"""The protocols named after TensorFlow's configurations, compared to its evaluators."""

import math
from collections.abc import Sequence
from functools import cache
from typing import Final

import numpy as np
import pytest

from heldout_scoring.data.arrays import Floats
from heldout_scoring.data.predictions import ClassDetections
from heldout_scoring.metrics.matching import MAX_DETECTIONS, ClassObjects
from heldout_scoring.protocols import PROTOCOLS
from heldout_scoring.tasks.detection import DETECTION
from heldout_scoring.tasks.task import Keyed
from tests.scoring.conftest import ReadTruth, Unpack
from tests.scoring.tensorflow_evaluators import EVALUATORS, Boxes, Figures, Truth, evaluate_tensorflow

EXACT: Final = 1e-12
SETS: Final = 400
"""Random sets for each row, none of them twice."""

CLASSES: Final = ("cat", "dog", "emu", "gnu")
IMAGES: Final = 5


def objects_of(truth: Truth, label: int) -> ClassObjects:
    rows = np.flatnonzero(truth.objects.label == label)
    rows = rows[np.argsort(truth.objects.image[rows], kind="stable")]
    count = np.bincount(truth.objects.image[rows], minlength=truth.images).astype(np.int32)
    first = (np.cumsum(count) - count).astype(np.int32)
    flags = truth.difficult[rows], truth.group_of[rows]
    return ClassObjects(first, count, truth.objects.boxes[rows], *flags, truth.verified[:, label])


def evaluate_ours(
    protocol: str, truth: Truth, found: Boxes, confidence: Floats, classes: Sequence[str] = CLASSES
) -> Figures:
    """The figures by our protocol; a class without detections has no file."""
    ground_truth = {name: objects_of(truth, label) for label, name in enumerate(classes)}
    rows = [np.flatnonzero(found.label == label) for label in range(len(classes))]
    entered = [
        Keyed(name, ClassDetections(found.image[lines], confidence[lines], found.boxes[lines]))
        for name, lines in zip(classes, rows, strict=True)
        if len(lines)
    ]
    rules = PROTOCOLS[protocol].rules_of(DETECTION)
    scores = DETECTION.score(DETECTION.match(iter(entered), ground_truth, rules), ground_truth, rules)
    return Figures(number(scores.headline), [number(each.value) for each in scores.classes])


def number(value: float | None) -> float:
    return math.nan if value is None else value


def assert_equal(ours: Figures, theirs: Figures) -> None:
    np.testing.assert_allclose(ours.classes, theirs.classes, rtol=0, atol=EXACT)
    np.testing.assert_allclose(ours.mean, theirs.mean, rtol=0, atol=EXACT)


def random_boxes(rng: np.random.Generator, count: int, classes: int, *, inverted: bool) -> Boxes:
    """Boxes on a coarse grid, which makes an IoU or a share of exactly one half frequent."""
    low = rng.integers(0, 7, (count, 2)) / 2
    size = rng.integers(-1 if inverted else 0, 7, (count, 2)) / 2
    image = rng.integers(0, IMAGES, count).astype(np.int32)
    return Boxes(image, rng.integers(0, classes, count), np.hstack([low, low + size]))


def random_set(seed: int) -> tuple[Truth, Boxes, Floats]:
    """Some classes without objects, some without detections; confidences around 0 and -10, no two of them equal."""
    rng = np.random.default_rng(seed)
    objects = random_boxes(rng, int(rng.integers(1, 30)), int(rng.integers(1, 5)), inverted=False)
    difficult = rng.random(len(objects.label)) < rng.choice([0.2, 0.5])
    difficult[:1] = False  # the weighted evaluator stops where no class has a positive
    truth = Truth(
        IMAGES,
        objects,
        difficult=difficult,
        group_of=rng.random(len(objects.label)) < 0.3,
        verified=rng.random((IMAGES, len(CLASSES))) < 0.5,
    )
    found = random_boxes(rng, int(rng.integers(1, 80)), int(rng.integers(1, 5)), inverted=True)
    lowest = float(rng.choice([-12.0, -1.0, 0.0]))
    return truth, found, rng.permutation(np.linspace(lowest, 1.0, len(found.label)))


@pytest.mark.sampled
@pytest.mark.parametrize(("row", "protocol"), list(enumerate(EVALUATORS)))
def test_random_sets_score_as_in_the_evaluator(row: int, protocol: str) -> None:
    for seed in range(row * SETS, (row + 1) * SETS):
        truth, found, confidence = random_set(seed)

        ours = evaluate_ours(protocol, truth, found, confidence)

        assert_equal(ours, evaluate_tensorflow(protocol, CLASSES, truth, found, confidence))


@pytest.mark.parametrize("protocol", EVALUATORS)
def test_detections_above_the_limit_in_an_image_are_left_out(protocol: str) -> None:
    count = MAX_DETECTIONS + 100
    there = Boxes(np.array([0], np.int32), np.array([0]), np.array([[0.0, 0, 10, 10]]))
    flags = np.zeros(1, np.bool_)
    truth = Truth(1, there, flags, flags, np.ones((1, len(CLASSES)), np.bool_))
    boxes = np.tile([[20.0, 20, 30, 30]], (count, 1))
    boxes[-50] = there.boxes[0]
    found = Boxes(np.zeros(count, np.int32), np.zeros(count, np.int64), boxes)
    confidence = np.linspace(1, 0.1, count)

    ours = evaluate_ours(protocol, truth, found, confidence)

    assert ours.classes[0] == 0
    assert_equal(ours, evaluate_tensorflow(protocol, CLASSES, truth, found, confidence))


REAL: Final = list(zip(EVALUATORS, ("darknet_hli", "yolo2_e150", "darknet_hli", "yolo2_e150"), strict=True))
"""One detector for each row: an evaluator takes about ten seconds. The first has 291 boxes without a width or height."""


@cache
def real_set(
    detector: str, unpacked: Unpack, real_truth: ReadTruth
) -> tuple[tuple[str, ...], Truth, Boxes, Floats]:
    """A detector's unchanged boxes in VOC2007 test, class after class."""
    truth = real_truth("voc2007_annotations_imagesets.tar.xz", "VOC2007", "test")
    lists, objects = truth.lists, truth.tables.objects
    everything = np.ones((len(lists.images), len(lists.classes)), np.bool_)
    labelled = objects.name < len(lists.classes)
    there = Boxes(objects.image[labelled], objects.name[labelled].astype(np.int64), objects.boxes[labelled])
    flags = objects.difficult[labelled], objects.group_of[labelled]
    folder = unpacked(f"results/{detector}.tar.xz") / f"results_{detector}"
    images, rows = {name: place for place, name in enumerate(lists.images)}, []
    for label, name in enumerate(lists.classes):
        [file] = folder.rglob(f"comp4_det_test_{name}.txt")
        for line in file.read_text().splitlines():
            image, *numbers = line.split()
            rows.append([images[image], label, *map(float, numbers)])
    table = np.array(rows)
    found = Boxes(table[:, 0].astype(np.int32), table[:, 1].astype(np.int64), table[:, 3:])
    return lists.classes, Truth(len(lists.images), there, *flags, everything), found, table[:, 2]


@pytest.mark.shared
@pytest.mark.parametrize(("protocol", "detector"), REAL)
@pytest.mark.slow
def test_real_detectors_score_as_in_the_evaluator(
    protocol: str, detector: str, unpacked: Unpack, real_truth: ReadTruth
) -> None:
    classes, truth, found, confidence = real_set(detector, unpacked, real_truth)
    # the evaluator gets confidences that differ, in our order of equal ones: by class and line
    different = np.empty(len(confidence))
    different[np.argsort(-confidence, kind="stable")] = np.linspace(1, 0.5, len(confidence))

    ours = evaluate_ours(protocol, truth, found, confidence, classes)

    assert_equal(ours, evaluate_tensorflow(protocol, classes, truth, found, different))
