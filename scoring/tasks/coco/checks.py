"""Checks of COCO's result files."""

from collections.abc import Sequence

import numpy as np

from scoring.data.limits import MAX_FILE_PROBLEMS
from scoring.errors import Problem
from scoring.intake.checking import Checked, Inspection
from scoring.intake.fingerprints import digest_of
from scoring.intake.result_files import ResultFile
from scoring.metrics.coco.arrays import CocoDetections
from scoring.readers.coco_json.detections import CocoResults, take_results
from scoring.tasks.coco.reader import read_boxes, read_segmentations
from scoring.tasks.task import ReadFile


def check_boxes(file: ResultFile, checked: Checked, inspection: Inspection) -> None:
    """Check and count detections with boxes."""
    found = _check(read_boxes, file, checked, inspection)
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
    _check_counts(found.detections, file, inspection)
    checked.digests[file.key] = _digest(found)
    _add_lists(found.detections, checked, inspection.images.description.classes)
    if not len(found.detections) and inspection.problems.total == before:
        inspection.problems.note(Problem("empty-file", "no detection: the list is empty", file.name))
    return found


def _check_counts(found: CocoDetections, file: ResultFile, inspection: Inspection) -> None:
    """Check how many detections of a class an image has."""
    description = inspection.images.description
    pairs = found.label.astype(np.int64) * len(description.images) + found.image
    pair, count = np.unique(pairs, return_counts=True)
    crowded = np.flatnonzero(count > inspection.max_boxes)[:MAX_FILE_PROBLEMS]
    label, image = np.divmod(pair[crowded], len(description.images))
    places = zip(image.tolist(), label.tolist(), count[crowded].tolist(), strict=True)
    counts = {(description.images[i].id, description.classes[c]): n for i, c, n in places}
    inspection.check_boxes(counts, file.name)


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
    checked.constant |= {
        classes[label] for label in np.flatnonzero((counts > 1) & (lowest == highest)).tolist()
    }
    checked.partial |= {classes[label] for label in np.flatnonzero(counts == 1).tolist()}
