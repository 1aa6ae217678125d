"""COCO's evaluation by the scorer: `coco_ours.py INSTANCES DETECTIONS [matching]`; `matching`: the files are read before."""

import sys
from collections.abc import Mapping
from pathlib import Path

from serving import serve

from scoring import evaluate_coco
from scoring.coco_evaluation import score_coco
from scoring.errors import Problems
from scoring.readers.coco_json.detections import read_coco_detections
from scoring.readers.coco_json.instances import read_instances


def _known(figures: Mapping[str, float | None]) -> Mapping[str, float]:
    return {name: -1.0 if value is None else value for name, value in figures.items()}


def _main(instances: str, detections: str, how: str = "whole") -> None:
    def whole() -> Mapping[str, float]:
        return _known(evaluate_coco(Path(instances).read_bytes(), Path(detections).read_bytes()).figures)

    if how == "whole":
        serve(whole)
        return
    truth = read_instances(Path(instances).read_bytes())
    found = read_coco_detections(
        Path(detections).read_bytes(), truth, file="detections.json", problems=Problems()
    )
    serve(lambda: _known(score_coco(truth, found, digest="").figures))


_main(*sys.argv[1:])
