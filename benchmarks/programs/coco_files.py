"""COCO's evaluation by others: `coco_files.py pycocotools|faster_coco_eval|hotcoco INSTANCES DETECTIONS [matching]`.

With `matching` the files are read before the time is taken.
"""

import importlib
import sys
from collections.abc import Mapping
from typing import Any

from serving import serve

_NAMES = {
    "pycocotools": ("pycocotools.coco", "COCO", "pycocotools.cocoeval", "COCOeval"),
    "faster_coco_eval": ("faster_coco_eval", "COCO", "faster_coco_eval", "COCOeval_faster"),
    "hotcoco": ("hotcoco", "COCO", "hotcoco", "COCOeval"),
}
_FIGURES = ("AP", "AP50", "AP75", "APs", "APm", "APl", "AR1", "AR10", "AR100", "ARs", "ARm", "ARl")


def _main(peer: str, instances: str, detections: str, how: str = "whole") -> None:
    data_module, data_name, scoring_module, scoring_name = _NAMES[peer]
    evaluator = getattr(importlib.import_module(scoring_module), scoring_name)
    data = getattr(importlib.import_module(data_module), data_name)

    def read() -> tuple[Any, Any]:
        truth = data(instances)
        return truth, truth.loadRes(detections)

    def score(truth: Any, found: Any) -> Mapping[str, float]:
        scorer = evaluator(truth, found, "bbox")
        scorer.evaluate()
        scorer.accumulate()
        scorer.summarize()
        return dict(zip(_FIGURES, map(float, scorer.stats), strict=False))

    if how == "whole":
        serve(lambda: score(*read()))
    else:
        files = read()
        serve(lambda: score(*files))


_main(*sys.argv[1:])
