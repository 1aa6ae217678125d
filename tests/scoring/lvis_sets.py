"""Random annotations and detections of LVIS, and their scores by the official program."""

import copy
import importlib
import sys
import warnings
from collections.abc import Mapping
from functools import cache
from types import ModuleType, SimpleNamespace
from typing import Any, Final
from unittest.mock import patch

import numpy as np
import pytest

from tests.scoring.coco_masks import draw_mask_set
from tests.scoring.coco_sets import Plain, draw_coco_set

FIGURES: Final = (
    "AP", "AP50", "AP75", "APs", "APm", "APl", "AR300", "ARs", "ARm", "ARl", "APr", "APc", "APf"
)  # fmt: skip
THEIRS: Final = {"AR300": "AR@300", "ARs": "ARs@300", "ARm": "ARm@300", "ARl": "ARl@300"}


def draw_lvis_set(seed: int, *, masks: bool = False) -> tuple[Plain, list[Plain]]:
    """COCO instances and detections with classes of every frequency, absent classes and incompletely annotated ones."""
    random = np.random.default_rng(seed)
    instances, found = draw_mask_set(seed) if masks else draw_coco_set(seed)
    classes = [each["id"] for each in instances["categories"]]
    there = {(each["image_id"], each["category_id"]) for each in instances["annotations"]}
    for image in instances["images"]:
        absent = [name for name in classes if (image["id"], name) not in there]
        image["neg_category_ids"] = [name for name in absent if random.random() < 0.5]
        image["not_exhaustive_category_ids"] = [name for name in classes if random.random() < 0.3]
    instances["images"][0]["neg_category_ids"] += classes[:1]
    for each in instances["categories"]:
        each["frequency"] = str(random.choice(["r", "c", "f"]))
    for each in instances["annotations"]:
        del each["iscrowd"]
    if not masks and seed % 3 == 0:  # more than count in an image
        image = instances["images"][0]["id"]
        found += [
            {
                "image_id": image,
                "category_id": int(random.choice(classes)),
                "bbox": [1, 1, 9, 9],
                "score": 0.001 * n,
            }
            for n in range(400)
        ]
    return instances, found


@cache
def load_program() -> ModuleType:
    """The official program without plotting; skips the test if it is not installed."""
    pytest.importorskip("lvis.lvis", reason="lvis is not installed", exc_type=ImportError)
    return importlib.import_module("lvis.eval")


def official_lvis(instances: Plain, found: list[Plain], kind: str = "bbox") -> Mapping[str, float | None]:
    """The figures of the official program, with None for -1."""
    with patch.dict(sys.modules, {"lvis.vis": SimpleNamespace(LVISVis=None)}):
        program: Any = load_program()
    program.np = SimpleNamespace(**{**vars(np), "float": float})  # a name that NumPy 2 no longer has
    truth = program.LVIS.__new__(program.LVIS)
    truth.logger, truth.dataset = SimpleNamespace(info=print), copy.deepcopy(instances)
    truth._create_index()
    with warnings.catch_warnings(action="ignore"):  # of a deprecated method of its logger
        results = program.LVISResults(truth, copy.deepcopy(found))
    evaluation = program.LVISEval(truth, results, kind)
    evaluation.run()
    values = {name: float(evaluation.results[THEIRS.get(name, name)]) for name in FIGURES}
    return {name: None if value == -1 else value for name, value in values.items()}
