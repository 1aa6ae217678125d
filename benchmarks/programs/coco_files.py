"""COCO's evaluation by others: `coco_files.py PEER INSTANCES DETECTIONS [matching]`.

PEER: pycocotools, faster_coco_eval, hotcoco, ultrafast_pycocotools or vernier. With `matching` the files are read before the time
is taken; vernier reads detections in the same step as it evaluates them, and so has only the whole.
"""

import importlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from serving import serve

_NAMES = {
    "pycocotools": ("pycocotools.coco", "COCO", "pycocotools.cocoeval", "COCOeval"),
    "faster_coco_eval": ("faster_coco_eval", "COCO", "faster_coco_eval", "COCOeval_faster"),
    "hotcoco": ("hotcoco", "COCO", "hotcoco", "COCOeval"),
    "ultrafast_pycocotools": ("ultrafast_pycocotools", "COCO", "ultrafast_pycocotools", "COCOeval"),
}
_FIGURES = ("AP", "AP50", "AP75", "APs", "APm", "APl", "AR1", "AR10", "AR100", "ARs", "ARm", "ARl")


def _main(peer: str, instances: str, detections: str, how: str = "whole") -> None:
    if peer == "vernier":
        serve(lambda: _vernier(instances, detections))
        return
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
        return _figures(scorer.stats)

    if how == "whole":
        serve(lambda: score(*read()))
    else:
        files = read()
        serve(lambda: score(*files))


def _vernier(instances: str, detections: str) -> Mapping[str, float]:
    """Its own interface, with the rules of pycocotools; the one that follows COCO's needs pycocotools to read files."""
    vernier = importlib.import_module("vernier.instance")
    truth = vernier.CocoDataset.from_json(Path(instances).read_bytes())
    scorer = vernier.Evaluator(iou=vernier.Bbox(), parity_mode="strict")
    threads = len(os.sched_getaffinity(0))
    return _figures(scorer.evaluate(truth, Path(detections).read_bytes(), num_threads=threads).stats)


def _figures(stats: Any) -> Mapping[str, float]:
    return dict(zip(_FIGURES, map(float, stats), strict=False))


_main(*sys.argv[1:])
