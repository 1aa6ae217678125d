"""Label images of a made-up Segmentation set, smooth as drawings or noisy, and what a middling method makes of them."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
from PIL import Image, ImageDraw

from benchmarks.loads.archives import Results, prepare
from benchmarks.loads.scene import CLASSES, DATASET, IMAGE_SET
from heldout_scoring.data.annotations import ActionLabels, Lists, Objects, Parts, Tables
from heldout_scoring.data.arrays import Bytes
from heldout_scoring.data.label_maps import LABEL_COLOURS, VOID, LabelRuns
from heldout_scoring.data.truth import GroundTruth

COMPETITION: Final = 5
IMAGES: Final = 1_456
WIDTH: Final = 500
HEIGHT: Final = 375

_CORNERS: Final = 40
_NOISE: Final = 0.03  # of the pixels of a noisy prediction


def write_masks(place: Path, images: int = IMAGES, *, noisy: bool = False) -> Results:
    """Make the predictions for so many images."""
    name = f"seg-{'noisy-' if noisy else ''}{images}"
    return prepare(place, name, partial(_write, images=images, noisy=noisy))


def masks_truth(images: int = IMAGES) -> GroundTruth:
    """The truth of the Segmentation set alone."""
    names = tuple(_names(images))
    none = np.empty(0, np.int32)
    flags = np.empty(0, np.bool_)
    objects = Objects(none, none.astype(np.int16), np.empty((0, 4)), flags, flags, flags, flags)
    tables = Tables(
        sizes=np.full((images, 2), (WIDTH, HEIGHT), np.int32),
        labels=np.full((len(CLASSES), images), -1, np.int8),
        objects=objects,
        parts=Parts(none, none.astype(np.int8), np.empty((0, 4))),
        acts=ActionLabels(none.astype(np.int8), none, none.astype(np.int8)),
        masks=LabelRuns.of([truth for truth, _ in _draw_all(images)]),
    )
    lists = Lists(DATASET, IMAGE_SET, CLASSES, (), names, images, names, (), ())
    return GroundTruth.of(lists, tables)


def write_truth_images(folder: Path, images: int = IMAGES) -> None:
    """The true label images as the kit has them, for programs without our library."""
    folder.mkdir(parents=True, exist_ok=True)
    Path(folder, "labels.txt").write_text("\n".join(("background", *CLASSES)))
    for name, (truth, _) in zip(_names(images), _draw_all(images), strict=True):
        _save(truth, folder / f"{name}.png")


def _names(images: int) -> Iterator[str]:
    return (f"2012_{number:06d}" for number in range(1, images + 1))


def _write(folder: Path, images: int, *, noisy: bool) -> None:
    place = folder / "results" / DATASET / "Segmentation" / f"comp{COMPETITION}_{IMAGE_SET}_cls"
    place.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(11)
    for name, (_, prediction) in zip(_names(images), _draw_all(images), strict=True):
        if noisy:
            spots = random.random(prediction.shape) < _NOISE
            prediction[spots] = random.integers(0, len(CLASSES) + 1, np.count_nonzero(spots))
        _save(prediction, place / f"{name}.png")


def _draw_all(images: int) -> Iterator[tuple[Bytes, Bytes]]:
    """Ground truth and prediction of each image, uint8 (height, width)."""
    random = np.random.default_rng(7)
    for _ in range(images):
        truth, prediction = (Image.new("L", (WIDTH, HEIGHT)) for _ in range(2))
        for _ in range(1 + random.poisson(1.4)):
            shape, label = _blob(random), int(random.integers(1, len(CLASSES) + 1))
            ImageDraw.Draw(truth).polygon(shape, fill=label, outline=VOID, width=5)
            said = label if random.random() < 0.85 else int(random.integers(1, len(CLASSES) + 1))
            shaken = [(x + random.normal(0, 4), y + random.normal(0, 4)) for x, y in shape]
            ImageDraw.Draw(prediction).polygon(shaken, fill=said)
        for _ in range(random.poisson(1.2)):
            ImageDraw.Draw(prediction).polygon(_blob(random), fill=int(random.integers(0, len(CLASSES) + 1)))
        yield np.asarray(truth), np.array(prediction)


def _blob(random: np.random.Generator) -> list[tuple[float, float]]:
    angles = np.linspace(0, 2 * np.pi, _CORNERS, endpoint=False)
    waves = [random.normal() * np.cos(wave * angles + random.random() * 6) / wave for wave in range(1, 8)]
    radius = 1 + 0.22 * np.sum(waves, axis=0)
    centre, size = random.random(2) * (WIDTH, HEIGHT), np.exp(random.normal(4.0, 0.7, 2)).clip(5, 200)
    x, y = centre[0] + size[0] * radius * np.cos(angles), centre[1] + size[1] * radius * np.sin(angles)
    return list(zip(x.tolist(), y.tolist(), strict=True))


def _save(labels: Bytes, path: Path) -> None:
    picture = Image.fromarray(labels)
    picture.putpalette(LABEL_COLOURS)
    picture.save(path)
