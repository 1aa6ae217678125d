"""Checks of COCO's result files."""

import json
from collections.abc import Sequence

import numpy as np

from scoring.archives.checking import Checked, Inspection
from scoring.archives.fingerprints import digest_of
from scoring.archives.plausibility import (
    SIDES,
    Crowd,
    Example,
    Signs,
    count_corners,
    count_forms,
    far_beyond,
    highest_is_missing,
)
from scoring.archives.result_files import ResultFile
from scoring.data.arrays import Integers
from scoring.data.limits import MAX_FILE_PROBLEMS
from scoring.errors import Problem, shown
from scoring.metrics.coco.arrays import COCO_RULES, LVIS_RULES, CocoDetections
from scoring.readers.coco_json.detections import CocoResults, take_results
from scoring.tasks.coco.reader import read_boxes, read_segmentations
from scoring.tasks.task import ReadFile


def check_boxes(file: ResultFile, checked: Checked, inspection: Inspection) -> None:
    """Check and count detections with boxes."""
    found = _check(read_boxes, file, checked, inspection)
    _look_at_boxes(found, file, checked.signs, inspection)
    sizes = inspection.images.numbers.sizes[found.detections.image]
    left, top, width, height = found.boxes.T
    beyond = (left < 0) | (top < 0) | (left + width > sizes[:, 0]) | (top + height > sizes[:, 1])
    checked.outside += int((beyond & (sizes > 0).all(axis=1)).sum())


def check_segmentations(file: ResultFile, checked: Checked, inspection: Inspection) -> None:
    """Check and count detections with masks."""
    _check(read_segmentations, file, checked, inspection)


def _check(
    read: ReadFile[CocoResults], file: ResultFile, checked: Checked, inspection: Inspection
) -> CocoResults:
    before = inspection.problems.total
    found = read(file.read(), inspection.images, file=file.name, problems=inspection.problems)
    checked.lines += len(found.detections)
    _check_counts(found.detections, file, checked, inspection)
    _look_at_ids(found.detections, checked, inspection)
    checked.digests[file.key] = _digest(found)
    _add_lists(found.detections, checked, inspection.images.description.classes)
    if not len(found.detections) and inspection.problems.total == before:
        inspection.problems.note(Problem("empty-file", "no detection: the list is empty", file.name))
    return found


def _check_counts(found: CocoDetections, file: ResultFile, checked: Checked, inspection: Inspection) -> None:
    """Check how many detections of a class an image has."""
    description = inspection.images.description
    pairs = found.label.astype(np.int64) * len(description.images) + found.image
    pair, count = np.unique(pairs, return_counts=True)
    is_lvis = checked.info.task.startswith("lvis")
    checked.signs.crowd = _crowd_of(pair, count, inspection, federated=is_lvis)
    crowded = np.flatnonzero(count > inspection.max_boxes)[:MAX_FILE_PROBLEMS]
    label, image = np.divmod(pair[crowded], len(description.images))
    places = zip(image.tolist(), label.tolist(), count[crowded].tolist(), strict=True)
    counts = {(description.images[i].id, description.classes[c]): n for i, c, n in places}
    inspection.check_boxes(counts, file.name)


def _look_at_boxes(found: CocoResults, file: ResultFile, signs: Signs, inspection: Inspection) -> None:
    """Count what is said for another form of boxes."""
    sizes, boxes = inspection.images.numbers.sizes[found.detections.image], found.boxes
    corners = np.concatenate([boxes[:, :2], boxes[:, :2] + boxes[:, 2:]], axis=1)
    far = far_beyond(corners, sizes)
    count_corners(signs, corners, sizes)
    signs.boxes, signs.far = len(boxes), int(np.count_nonzero(far))
    signs.largest = float(np.abs(boxes).max(initial=0))
    if signs.reach_far:
        signs.suspects, signs.wrong = len(boxes), signs.far
        signs.forms = count_forms(boxes, sizes, but=SIDES)
    if signs.reach_far or signs.are_shares:
        row = int(np.argmax(far))
        detections, numbers = found.detections, inspection.images.numbers
        image, category = (
            int(numbers.images[detections.image[row]]),
            int(numbers.categories[detections.label[row]]),
        )
        entry = {"image_id": image, "category_id": category, "bbox": boxes[row].tolist()}
        text = json.dumps(entry | {"score": float(detections.confidence[row])})
        width, height = sizes[row].tolist()
        place = f"a box in the image {image}" + (
            f", which is {width} wide and {height} high" if width else ""
        )
        signs.example = Example(file.name, None, shown(text), place)


def _look_at_ids(found: CocoDetections, checked: Checked, inspection: Inspection) -> None:
    """Note the images with detections, and whether category ids seem to be counted from one less."""
    numbers, description = inspection.images.numbers, inspection.images.description
    checked.signs.seen = np.bincount(found.image, minlength=len(description.images)) > 0
    ids = numbers.categories.tolist()
    if not ids:
        return
    counts = np.bincount(found.label, minlength=len(ids)).tolist()
    names = dict(sorted(zip(ids, description.classes, strict=True)))
    shifted = highest_is_missing(dict(zip(ids, counts, strict=True)), checked.info.name, names)
    if shifted is not None:
        inspection.problems.warn(shifted)


def _crowd_of(pair: Integers, count: Integers, inspection: Inspection, *, federated: bool) -> Crowd | None:
    """Where an image has more detections than COCO's rules count of a class in it, or LVIS's of all classes; None for nowhere.

    pair: int64 (k,), the place of the image plus that of the class times the number of images; count: (k,), detections of each.
    """
    images, classes = inspection.images.images, inspection.images.description.classes
    kept, of = COCO_RULES.max_detections[-1], "pairs of an image and a class"
    if federated:
        kept, of = LVIS_RULES.max_detections[-1], "images"
        count = np.bincount(pair % max(len(images), 1), count, len(images)).astype(np.int64)
    over = int(np.count_nonzero(count > kept))
    if not over:
        return None
    most = int(count.argmax())
    label, image = (None, most) if federated else divmod(int(pair[most]), len(images))
    example = f"image {images[image].id}" + ("" if label is None else f", {classes[label]}")
    return Crowd(over, of, kept, int(count[most]), example)


def _digest(found: CocoResults) -> str:
    ordered = take_results(found, np.lexsort((-found.detections.confidence, found.detections.image)))
    masks = () if ordered.masks is None else (ordered.masks.first, ordered.masks.start, ordered.masks.end)
    detections = ordered.detections
    return digest_of(
        detections.image, detections.label, detections.confidence, detections.area, ordered.boxes, *masks
    )


def _add_lists(found: CocoDetections, checked: Checked, classes: Sequence[str]) -> None:
    """Note the classes whose detections all have one confidence, and those with a single detection."""
    counts = np.bincount(found.label, minlength=len(classes))
    lowest, highest = np.full(len(classes), np.inf), np.full(len(classes), -np.inf)
    np.minimum.at(lowest, found.label, found.confidence)
    np.maximum.at(highest, found.label, found.confidence)
    checked.signs.counts |= {
        name: count for name, count in zip(classes, counts.tolist(), strict=True) if count
    }
    for label in np.flatnonzero((counts > 1) & (lowest == highest)).tolist():
        checked.constant.add(classes[label])
        checked.signs.constant[classes[label]] = int(counts[label]), float(lowest[label])
    checked.partial |= {classes[label] for label in np.flatnonzero(counts == 1).tolist()}
