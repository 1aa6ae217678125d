"""Small ground truths, trees and result files with defaults for whatever a test does not care about."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from PIL import Image

from heldout_scoring.data.arrays import Bytes
from heldout_scoring.data.predictions import ClassDetections
from heldout_scoring.metrics.matching import ClassObjects
from tests.scoring.oracles import Corners, Prediction, Thing

IMAGES = 4


def detections(predictions: Sequence[Prediction]) -> ClassDetections:
    return ClassDetections(
        np.array([prediction.image for prediction in predictions], np.int32),
        np.array([prediction.confidence for prediction in predictions], np.float64),
        np.array([prediction.box for prediction in predictions], np.float64).reshape(-1, 4),
    )


def ground_truth(things: Sequence[Thing]) -> ClassObjects:
    """Ground truth with these objects, which must be in the order of their images."""
    count = np.bincount([thing.image for thing in things], minlength=IMAGES).astype(np.int32)
    return ClassObjects(
        (np.cumsum(count) - count).astype(np.int32),
        count,
        np.array([thing.box for thing in things], np.float64).reshape(-1, 4),
        np.array([thing.difficult for thing in things], np.bool_),
        np.array([thing.group_of for thing in things], np.bool_),
    )


def bndbox(box: Corners) -> str:
    left, top, right, bottom = box
    return f"<bndbox><xmax>{right}</xmax><xmin>{left}</xmin><ymax>{bottom}</ymax><ymin>{top}</ymin></bndbox>"


def thing(name: str, box: Corners = (1, 1, 10, 10), *, said: str = "", parts: str = "") -> str:
    """An object in XML; said: fields that are 1, separated by blanks."""
    flags = "".join(f"<{flag}>1</{flag}>" for flag in said.split())
    return f"<object><name>{name}</name>{flags}{bndbox(box)}{parts}</object>"


def part(name: str, box: Corners = (2, 2, 5, 5)) -> str:
    return f"<part><name>{name}</name>{bndbox(box)}</part>"


def annotation(*things: str, width: int = 50, height: int = 40) -> str:
    size = f"<size><width>{width}</width><height>{height}</height><depth>3</depth></size>"
    return f"<annotation>{size}{''.join(things)}</annotation>"


@dataclass
class Kit:
    """The tree of a development kit, written one file at a time."""

    root: Path
    image_set: str = "test"
    written: dict[str, str] = field(default_factory=dict)

    def write(self, path: str, content: str) -> "Kit":
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
        return self

    def main(self, images: Mapping[str, str], labels: Mapping[str, str] | None = None) -> "Kit":
        """Images with their annotation, and for each class the labels of the images in order, such as "1 -1"."""
        self.write(f"ImageSets/Main/{self.image_set}.txt", "".join(f"{image}\n" for image in images))
        for image, content in images.items():
            self.write(f"Annotations/{image}.xml", content)
        for name, row in (labels or {}).items():
            lines = "".join(f"{i} {label:>2}\n" for i, label in zip(images, row.split(), strict=True))
            self.write(f"ImageSets/Main/{name}_{self.image_set}.txt", lines)
        return self

    def mask(self, image: str, labels: Bytes, mode: str = "P") -> "Kit":
        folder = self.root / "SegmentationClass"
        folder.mkdir(exist_ok=True)
        picture = Image.fromarray(labels)
        if mode == "P":
            picture.putpalette(bytes(range(256)) * 3)
        picture.convert(mode).save(folder / f"{image}.png")
        return self


def kit(folder: Path, dataset: str = "VOC2012") -> Kit:
    """Two images with a cat in the first, a dog and a hard cat in the second."""
    first = annotation(thing("cat", (1, 1, 10, 10)), thing("dog", (20, 5, 40, 30)))
    second = annotation(thing("dog", (5, 5, 30, 30)), thing("cat", (1, 1, 8, 8), said="difficult truncated"))
    return Kit(folder / dataset).main({"a_1": first, "a_2": second}, {"cat": "1 0", "dog": "1 1"})
