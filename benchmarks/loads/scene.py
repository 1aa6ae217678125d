"""The images of a made-up test set and the objects in them: as many, and as unevenly spread, as in VOC2012."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from heldout_scoring.competitions import classes_of
from heldout_scoring.data.annotations import ActionLabels, Lists, Objects, Parts, Tables
from heldout_scoring.data.arrays import Flags, Floats, Integers
from heldout_scoring.data.label_maps import LabelRuns
from heldout_scoring.data.truth import GroundTruth

CLASSES: Final = classes_of("VOC2012")
IMAGES: Final = 10_991
OBJECTS: Final = 26_308
DATASET: Final = "VOC2012"
IMAGE_SET: Final = "test"

_COMMON: Final = {"bottle": 1.4, "car": 2.2, "chair": 2.4, "person": 8.5}  # times as many as of another class
_YEARS: Final = range(2008, 2013)
_LONG, _SHORT = 500, 375
_DIFFICULT: Final = 0.12
_SAME_CLASS: Final = 0.65  # things come in groups


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """Images and objects, by image.

    ids: one for each image; sizes: int32 (images, 2), width and height; image, name: int32 (objects,);
    boxes: float64 (objects, 4), whole numbers, inside the image; difficult: bool (objects,).
    """

    ids: tuple[str, ...]
    sizes: Integers
    image: Integers
    name: Integers
    boxes: Floats
    difficult: Flags

    def labels(self) -> NDArray[np.int8]:
        """For each class and image: 1 there is an object, 0 only difficult ones, -1 none; int8 (classes, images)."""
        labels = np.full((len(CLASSES), len(self.ids)), -1, np.int8)
        for certain in (False, True):
            rows = self.difficult != certain
            labels[self.name[rows], self.image[rows]] = certain
        return labels


@cache
def draw_scene(images: int = IMAGES) -> Scene:
    """Draw the images and their objects; the same number of images always gives the same."""
    random = np.random.default_rng([2012, images])
    lying = random.random(images) < 0.75
    sizes = np.where(lying[:, None], (_LONG, _SHORT), (_SHORT, _LONG)).astype(np.int32)
    image = _spread(random, images)
    weights = np.array([_COMMON.get(name, 1.0) for name in CLASSES])
    weights /= weights.sum()
    usual = random.choice(len(CLASSES), images, p=weights)
    other = random.choice(len(CLASSES), len(image), p=weights)
    name = np.where(random.random(len(image)) < _SAME_CLASS, usual[image], other).astype(np.int32)
    boxes = draw_boxes(random, sizes[image], mean=100.0)
    return Scene(
        _ids(random, images), sizes, image, name, np.floor(boxes), random.random(len(image)) < _DIFFICULT
    )


def draw_boxes(random: np.random.Generator, sizes: Integers, *, mean: float) -> Floats:
    """One box inside each image, with edges whose logarithm is normal around that of `mean` pixels; float64 (n, 4)."""
    edges = np.exp(random.normal(np.log(mean), 0.8, sizes.shape)).clip(8, sizes - 2)
    corner = 1 + random.random(sizes.shape) * (sizes - edges - 1)
    return np.hstack([corner, corner + edges])


def _spread(random: np.random.Generator, images: int) -> Integers:
    """Which image each object is in: at least one in every image, twenty in a few."""
    missing = round(images * OBJECTS / IMAGES) - images
    weights = random.gamma(0.8, 1.0, images)
    more = random.choice(images, missing, p=weights / weights.sum())
    return np.sort(np.concatenate([np.arange(images), more])).astype(np.int32)


def _ids(random: np.random.Generator, images: int) -> tuple[str, ...]:
    years = np.sort(random.choice(_YEARS, images))
    numbers = np.concatenate(
        [np.sort(random.choice(9_999, np.count_nonzero(years == year), replace=False)) + 1 for year in _YEARS]
    )
    return tuple(f"{year}_{number:06d}" for year, number in zip(years, numbers, strict=True))


def truth_of(scene: Scene) -> GroundTruth:
    """The scene as a ground truth for detection and classification."""
    nobody = np.zeros(len(scene.image), np.bool_)
    none = np.empty(0, np.int32)
    objects = Objects(
        scene.image, scene.name.astype(np.int16), scene.boxes, scene.difficult, nobody, nobody, nobody
    )
    tables = Tables(
        sizes=scene.sizes,
        labels=scene.labels(),
        objects=objects,
        parts=Parts(none, none.astype(np.int8), np.empty((0, 4))),
        acts=ActionLabels(none.astype(np.int8), none, none.astype(np.int8)),
        masks=LabelRuns.of([]),
    )
    lists = Lists(DATASET, IMAGE_SET, CLASSES, (), scene.ids, len(scene.ids), (), (), ())
    return GroundTruth.of(lists, tables)


def save_scene(scene: Scene, path: Path) -> None:
    """Write it where programs without our library can read it."""
    arrays = {name: getattr(scene, name) for name in ("sizes", "image", "name", "boxes", "difficult")}
    np.savez(path, ids=np.array(scene.ids), classes=np.array(CLASSES), **arrays)
