"""COCO's evaluation by the scorer: `coco_ours.py INSTANCES DETECTIONS [matching]`; `matching`: the files are read before."""

import sys
from collections.abc import Mapping
from pathlib import Path

from serving import serve

from heldout_scoring import Detections, GroundTruth, evaluate, evaluate_coco


def _known(figures: Mapping[str, float | None]) -> Mapping[str, float]:
    return {name: -1.0 if value is None else value for name, value in figures.items()}


def _main(instances: str, detections: str, how: str = "whole") -> None:
    def whole() -> Mapping[str, float]:
        return _known(evaluate_coco(Path(detections).read_bytes(), Path(instances).read_bytes()).figures)

    if how == "whole":
        serve(whole)
        return
    truth = GroundTruth.from_coco(Path(instances))
    found = Detections.from_coco(Path(detections), truth)
    serve(lambda: _known(evaluate(found, truth, protocol="coco").figures))


_main(*sys.argv[1:])
