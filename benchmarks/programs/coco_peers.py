"""Detection by the programs that follow COCO's interface: `coco_peers.py pycocotools|faster_coco_eval|hotcoco KNOWN FOLDER`.

Other rules than the kit's, as near to them as can be set: one IoU threshold, 0.5, every area, no limit of detections per image, and
difficult objects as crowds. Parsing is done with the parser that the scorer uses, so that the evaluation is compared.
"""

import importlib
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from known import Known, class_files, read_known
from serving import serve

_COLUMNS = ("image", "confidence", "left", "top", "right", "bottom")
_NAMES = {
    "pycocotools": ("pycocotools.coco", "COCO", "pycocotools.cocoeval", "COCOeval"),
    "faster_coco_eval": ("faster_coco_eval", "COCO", "faster_coco_eval", "COCOeval_faster"),
    "hotcoco": ("hotcoco", "COCO", "hotcoco", "COCOeval"),
}
_EVERY_AREA = [[0, 1e10]]
_NO_LIMIT = 1_000  # of a class in an image; more than any load has


def _truth_of(known: Known) -> dict[str, Any]:
    boxes = known.boxes.copy()
    boxes[:, 2:] -= boxes[:, :2] - 1
    rows = zip(
        known.image.tolist(), known.name.tolist(), boxes.tolist(), known.difficult.tolist(), strict=True
    )
    return {
        "info": {},
        "images": [
            {"id": number + 1, "file_name": f"{name}.jpg", "width": width, "height": height}
            for number, (name, (width, height)) in enumerate(
                zip(known.ids, known.sizes.tolist(), strict=True)
            )
        ],
        "categories": [{"id": number + 1, "name": name} for number, name in enumerate(known.classes)],
        "annotations": [
            {
                "id": number + 1,
                "image_id": image + 1,
                "category_id": name + 1,
                "bbox": box,
                "area": box[2] * box[3],
                "iscrowd": int(difficult),
            }
            for number, (image, name, box, difficult) in enumerate(rows)
        ],
    }


def _read(path: Any, number: int, images: pl.Enum) -> Any:
    schema = dict.fromkeys(_COLUMNS, pl.Float64) | {"image": images}
    table = pl.read_csv(path, separator=" ", has_header=False, quote_char=None, schema=schema)
    left, top, right, bottom = (table[name].to_numpy() for name in _COLUMNS[2:])
    image = table["image"].to_physical().to_numpy() + 1.0
    width, height = right - left + 1, bottom - top + 1
    named = np.full(len(table), number + 1.0)
    return np.column_stack([image, left, top, width, height, table["confidence"].to_numpy(), named])


def _main(peer: str, known_file: str, folder: str) -> None:
    known = read_known(known_file)
    data_module, data_name, scoring_module, scoring_name = _NAMES[peer]
    evaluator = getattr(importlib.import_module(scoring_module), scoring_name)
    truth = getattr(importlib.import_module(data_module), data_name)()
    truth.dataset = _truth_of(known)
    truth.createIndex()
    images = pl.Enum(known.ids)

    def run() -> Mapping[str, float]:
        files = class_files(folder)
        parts = [_read(files[name], number, images) for number, name in enumerate(known.classes)]
        scorer = evaluator(truth, truth.loadRes(np.concatenate(parts)), "bbox")
        settings = scorer.params
        settings.iouThrs, settings.maxDets = np.array([0.5]), [1, 10, _NO_LIMIT]
        settings.areaRng, settings.areaRngLbl = _EVERY_AREA, ["all"]
        scorer.evaluate()
        scorer.accumulate()
        precision = np.asarray(scorer.eval["precision"])[0, :, :, 0, -1]
        return dict(zip(known.classes, precision.mean(axis=0).tolist(), strict=True))

    serve(run)


_main(*sys.argv[1:])
