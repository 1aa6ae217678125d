"""What every program knows of the made-up images before it is timed."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Known:
    """The scene as `benchmarks.loads.scene` keeps it; image and name are numbers, boxes (objects, 4)."""

    ids: list[str]
    classes: list[str]
    sizes: Any
    image: Any
    name: Any
    boxes: Any
    difficult: Any


def read_known(path: str) -> Known:
    """The scene that `save_scene` wrote."""
    with np.load(path) as arrays:
        plain = {name: arrays[name] for name in arrays.files}
    return Known(**plain | {"ids": plain["ids"].tolist(), "classes": plain["classes"].tolist()})


def class_files(folder: str) -> dict[str, Path]:
    """The prediction file of each class below a folder, in the order of their names."""
    files = sorted(path for path in Path(folder).rglob("*.txt"))
    return {path.stem.rpartition("_")[2]: path for path in files}
