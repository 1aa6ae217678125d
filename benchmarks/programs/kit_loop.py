"""The kit's rules as most programs follow them: one detection at a time, against arrays of its image's objects.

Our own implementation of VOCevaldet.m (2010 to 2012); also the oracle that all faster ways are compared with.
`kit_loop.py KNOWN FOLDER`.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from known import Known, class_files, read_known
from serving import serve

_IOU_THRESHOLD = 0.5


def _objects_by_image(known: Known, number: int) -> dict[str, tuple[Any, Any]]:
    """Boxes and difficult flags of a class's objects in each image that has one."""
    found: dict[str, tuple[Any, Any]] = {}
    rows = np.flatnonzero(known.name == number)
    images, first = np.unique(known.image[rows], return_index=True)
    for image, here in zip(images.tolist(), np.split(rows, first[1:]), strict=True):
        found[known.ids[image]] = known.boxes[here], known.difficult[here]
    return found


def _average_precision(path: Path, objects: dict[str, tuple[Any, Any]], positives: int) -> float:
    images, numbers = [], []
    for line in path.read_text().splitlines():
        image, *rest = line.split(" ")
        images.append(image)
        numbers.append([float(number) for number in rest])
    table = np.array(numbers).reshape(-1, 5)
    order = np.argsort(-table[:, 0], kind="stable")
    true_positives, false_positives = np.zeros(len(order)), np.zeros(len(order))
    taken = {image: np.zeros(len(difficult), np.bool_) for image, (_, difficult) in objects.items()}
    for place, line_number in enumerate(order):
        image = images[line_number]
        best = -1
        if image in objects:
            boxes, difficult = objects[image]
            best = _best_match(table[line_number, 1:], boxes)
        if best < 0:
            false_positives[place] = 1
        elif not difficult[best]:
            (false_positives if taken[image][best] else true_positives)[place] = 1
            taken[image][best] = True
    return _area_under_curve(np.cumsum(true_positives), np.cumsum(false_positives), positives)


def _best_match(box: Any, boxes: Any) -> int:
    """The object of largest IoU with a box, -1 if that is below the threshold."""
    width = np.minimum(box[2], boxes[:, 2]) - np.maximum(box[0], boxes[:, 0]) + 1
    height = np.minimum(box[3], boxes[:, 3]) - np.maximum(box[1], boxes[:, 1]) + 1
    intersection = np.maximum(width, 0) * np.maximum(height, 0)
    areas = (boxes[:, 2] - boxes[:, 0] + 1) * (boxes[:, 3] - boxes[:, 1] + 1)
    iou = intersection / ((box[2] - box[0] + 1) * (box[3] - box[1] + 1) + areas - intersection)
    best = int(np.argmax(iou))
    return best if iou[best] >= _IOU_THRESHOLD else -1


def _area_under_curve(true_positives: Any, false_positives: Any, positives: int) -> float:
    recall = np.concatenate([[0.0], true_positives / positives, [1.0]])
    with np.errstate(invalid="ignore"):
        precision = np.concatenate([[0.0], true_positives / (true_positives + false_positives), [0.0]])
    precision = np.fmax.accumulate(precision[::-1])[::-1]
    steps = np.flatnonzero(recall[1:] != recall[:-1])
    return float(np.cumsum((recall[steps + 1] - recall[steps]) * precision[steps + 1])[-1])


def _main(known_file: str, folder: str) -> None:
    known = read_known(known_file)
    objects = {name: _objects_by_image(known, number) for number, name in enumerate(known.classes)}
    positives = {
        name: int(np.count_nonzero((known.name == number) & ~known.difficult))
        for number, name in enumerate(known.classes)
    }

    def run() -> Mapping[str, float]:
        return {
            name: _average_precision(path, objects[name], positives[name])
            for name, path in class_files(folder).items()
        }

    serve(run)


_main(*sys.argv[1:])
