"""The bootstrap of protocols that pool all classes, compared to scoring the images of a replicate again."""

from typing import Any

import numpy as np
import pytest

from heldout_scoring import Detections, GroundTruth, bootstrap, evaluate
from heldout_scoring.statistics.bootstrap import Draws

IMAGES, CLASSES, REPLICATES = 8, ("car", "cat", "dog"), 40
WEIGHTED = ["weighted_pascal_voc_detection_metrics", "weighted_pascal_voc_detection_metrics-documented"]


def drawn(seed: int) -> tuple[Any, Any]:
    """Random objects (image, class, left) and detections (the same with a score); the last class has a single object."""
    random = np.random.default_rng(seed)
    objects = np.stack([random.integers(0, IMAGES, 12), random.integers(0, 2, 12), random.integers(0, 5, 12)])
    objects[:, 0] = (3, 2, 0)
    found = np.stack([random.integers(0, IMAGES, 30), random.integers(0, 3, 30), random.integers(0, 5, 30)])
    return objects.T, np.concatenate([found.T, random.permutation(30)[:, None]], axis=1)


def scored(objects: Any, found: Any, images: int, protocol: str) -> Any:
    """The result of these rows."""
    names = [str(image) for image in range(images)]

    def boxes(rows: Any) -> Any:
        return np.stack([20 * rows[:, 2], 0 * rows[:, 2], 20 * rows[:, 2] + 10, 0 * rows[:, 2] + 10], axis=1)

    known: dict[str, Any] = {"images": names, "classes": CLASSES, "convention": "half-open"}
    truth = GroundTruth.from_arrays(objects[:, 0], objects[:, 1], boxes(objects), **known)
    detections = Detections.from_arrays(found[:, 0], found[:, 1], found[:, 3], boxes(found), **known)
    return evaluate(detections, truth, protocol=protocol), truth


def copied(rows: Any, weights: Any) -> Any:
    """The rows of each image as often as it was drawn, every copy as a separate image."""
    copies = np.repeat(np.arange(IMAGES), weights)
    parts = [rows[rows[:, 0] == image] for image in copies]
    return np.concatenate(
        [np.column_stack([np.full(len(part), new), part[:, 1:]]) for new, part in enumerate(parts)]
    )


@pytest.mark.parametrize("protocol", WEIGHTED)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_replicate_pools_only_the_classes_of_its_images(protocol: str, seed: int) -> None:
    objects, found = drawn(seed)
    replicates = bootstrap(*scored(objects, found, IMAGES, protocol), replicates=REPLICATES)

    for number, weights in enumerate(Draws(IMAGES, REPLICATES).weights(0, REPLICATES).T):
        again = copied(objects, weights), copied(found, weights)
        expected, _ = scored(*again, IMAGES, protocol)
        assert replicates.values[-1, number] == pytest.approx(expected.headline, abs=1e-12)
