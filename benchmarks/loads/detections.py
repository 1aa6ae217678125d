"""Detections as a middling detector gives them: hits, duplicates, other things' boxes, and a lot of clutter."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from benchmarks.loads.archives import Results, prepare
from benchmarks.loads.scene import CLASSES, DATASET, IMAGE_SET, Scene, draw_boxes
from heldout_scoring.data.arrays import Floats, Integers, Places

COMPETITION: Final = 4
SIZES: Final = {"tiny": 10_000, "small": 100_000, "medium": 1_000_000, "large": 10_000_000}
"""Lines of all classes together."""


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Detections of one class: image int32 (n,), confidence float64 (n,), boxes float64 (n, 4)."""

    image: Integers
    confidence: Floats
    boxes: Floats


def write_detections(place: Path, scene: Scene, size: str, *, shuffled: bool = False) -> Results:
    """Make the work load of a size, with the lines of a file in the order of the images or in none."""
    name = f"det-{size}{'-shuffled' if shuffled else ''}-{len(scene.ids)}"
    return prepare(place, name, partial(_write, scene=scene, lines=SIZES[size], shuffled=shuffled))


def _write(folder: Path, scene: Scene, lines: int, *, shuffled: bool) -> None:
    main = folder / "results" / DATASET / "Main"
    main.mkdir(parents=True, exist_ok=True)
    ids = pl.Series(scene.ids)
    for number, name in enumerate(CLASSES):
        random = np.random.default_rng([lines, number])
        found = detect(scene, number, lines, random)
        order = random.permutation(len(found.image)) if shuffled else np.argsort(found.image, kind="stable")
        columns = {"image": ids.gather(found.image[order]), "confidence": found.confidence[order]}
        edges = {side: found.boxes[order, at] for at, side in enumerate(("left", "top", "right", "bottom"))}
        path = main / f"comp{COMPETITION}_det_{IMAGE_SET}_{name}.txt"
        pl.DataFrame(columns | edges).write_csv(path, separator=" ", include_header=False)


def detect(scene: Scene, class_number: int, lines: int, random: np.random.Generator) -> Found:
    """Detections of a class; `lines` is what all classes have together, this one a twentieth, more or less."""
    wanted = round(lines / len(CLASSES) * random.uniform(0.9, 1.1))
    mine = np.flatnonzero(scene.name == class_number)
    hits = mine[random.random(len(mine)) < 0.85][:wanted]
    again = random.choice(mine, min(wanted // 5, 12 * len(mine)))
    others = random.choice(len(scene.image), min(wanted // 6, 3 * len(scene.image)))
    clutter = max(wanted - len(hits) - len(again) - len(others), 0)
    anywhere = random.integers(0, len(scene.ids), clutter)
    parts = [
        _near(scene, hits, random, shake=0.07, sure=1.5),
        _near(scene, again, random, shake=0.16, sure=-2.2),
        _near(scene, others, random, shake=0.20, sure=-2.8),
        Found(
            anywhere.astype(np.int32),
            _confidence(random, clutter, -4.0),
            draw_boxes(random, scene.sizes[anywhere], mean=81.0),
        ),
    ]
    image = np.concatenate([part.image for part in parts])
    boxes = np.concatenate([part.boxes for part in parts])
    inside = _clipped(boxes, scene.sizes[image])
    return Found(image, np.concatenate([part.confidence for part in parts]), np.round(inside, 1))


def _near(scene: Scene, objects: Places, random: np.random.Generator, *, shake: float, sure: float) -> Found:
    boxes = scene.boxes[objects]
    edges = np.tile(boxes[:, 2:] - boxes[:, :2], 2)
    shaken = boxes + random.normal(0, shake, boxes.shape) * edges
    return Found(scene.image[objects], _confidence(random, len(objects), sure), shaken)


def _confidence(random: np.random.Generator, count: int, sure: float) -> Floats:
    return np.round(1 / (1 + np.exp(-random.normal(sure, 1.4, count))), 6).clip(0.001)


def _clipped(boxes: Floats, sizes: Integers) -> Floats:
    low = boxes[:, :2].clip(1, sizes - 2)
    return np.hstack([low, boxes[:, 2:].clip(low + 1, sizes)])
