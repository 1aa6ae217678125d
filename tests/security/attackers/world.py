"""Hidden labels of a test set: which classes are in which image, where, and with what masks."""

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from heldout_scoring import GroundTruth

Labels = NDArray[np.bool_]
"""Whether a class is in an image: bool (images, classes)."""

SHARES: Final = (
    0.041, 0.050, 0.058, 0.036, 0.048, 0.037, 0.157, 0.067, 0.110, 0.026,
    0.050, 0.087, 0.056, 0.047, 0.423, 0.051, 0.020, 0.072, 0.052, 0.051,
)  # fmt: skip
"""The share of images with each of 20 classes, roughly as in VOC2007 test; public, like statistics of the training set."""

SIDE: Final = 100  # of an image, in pixels
CELLS: Final = 20  # of the side of a mask


@dataclass(frozen=True)
class World:
    """Images with one object of each of their classes; boxes: (true labels, 4), row by row of `labels`."""

    labels: Labels
    boxes: NDArray[np.float64]

    @property
    def images(self) -> int:
        """How many images there are."""
        return len(self.labels)

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return int(self.labels.shape[1])

    @cached_property
    def positives(self) -> NDArray[np.int64]:
        """How many images have each class; attackers are told, although no server tells them."""
        counts: NDArray[np.int64] = self.labels.sum(axis=0)
        return counts

    @cached_property
    def names(self) -> tuple[list[str], list[str]]:
        """The names of images and classes."""
        return [f"{n:06d}" for n in range(self.images)], [f"class{n:02d}" for n in range(self.classes)]

    @cached_property
    def truth(self) -> GroundTruth:
        """The ground truth that classification and detection share."""
        image, label = np.nonzero(self.labels)
        images, classes = self.names
        return GroundTruth.from_arrays(
            image, label, self.boxes, convention="inclusive", images=images, classes=classes
        )

    @cached_property
    def mask_truth(self) -> GroundTruth:
        """The ground truth of segmentation: the boxes as masks, the smallest in front."""
        masks = np.zeros((self.images, CELLS, CELLS), np.uint8)
        image, label = np.nonzero(self.labels)
        area = (self.boxes[:, 2] - self.boxes[:, 0]) * (self.boxes[:, 3] - self.boxes[:, 1])
        for row in np.argsort(-area, kind="stable"):
            left, top, right, bottom = (self.boxes[row] * CELLS / SIDE).astype(int)
            masks[image[row], top : bottom + 1, left : right + 1] = label[row] + 1
        images, classes = self.names
        return GroundTruth.from_label_maps(list(masks), classes=classes, images=images)


def draw(seed: int, images: int = 1000, classes: int = 20) -> World:
    """The world of this seed, the same on every machine."""
    random = np.random.default_rng(seed)
    labels = random.random((images, classes)) < np.array(SHARES[:classes])
    labels[random.integers(images, size=classes), np.arange(classes)] = True  # no class is empty
    count = int(labels.sum())
    size = random.uniform(0.15, 1.0, (count, 2)) * SIDE
    corner = random.uniform(0, 1, (count, 2)) * (SIDE - size)
    boxes = np.floor(np.hstack([corner, corner + size - 1])).clip(0, SIDE - 1)
    return World(labels, boxes)


def recovered(world: World, guess: Labels) -> float:
    """Labels guessed right after an attack minus those of the best guess before it, as a share of all labels.

    Before it, the best guess is that no image has any class, because each is in less than half of them.
    """
    right = np.count_nonzero(guess == world.labels)
    before = np.count_nonzero(~world.labels)
    return float(right - before) / world.labels.size
