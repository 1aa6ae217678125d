"""Checks of detection files."""

import numpy as np

from scoring.data.limits import MAX_FILE_PROBLEMS
from scoring.errors import Problem, Severity
from scoring.intake.checking import Checked, Inspection, is_blank
from scoring.intake.fingerprints import digest_of
from scoring.intake.result_files import ResultFile
from scoring.metrics.ranking import rank
from scoring.tasks.detection.reader import Reading, inverted, join_detections, outside, read_in_blocks


def check_detections(file: ResultFile, checked: Checked, inspection: Inspection) -> None:
    """Check one class's detections and count them."""
    images, problems, data = inspection.images, inspection.problems, file.read()
    parts = []
    for found in read_in_blocks(data, Reading(images, file.name, problems, inspection.mistake_severity)):
        parts.append(found)
        checked.outside += int(outside(found, images).sum())
        if inspection.mistake_severity is Severity.NOTE:  # otherwise they are problems, and not in `found`
            checked.inverted += int(inverted(found, images).sum())
    everything = join_detections(parts)
    checked.lines += len(everything)
    counts = np.bincount(everything.image, minlength=len(images.images))
    crowded = np.flatnonzero(counts > inspection.max_boxes)[:MAX_FILE_PROBLEMS].tolist()
    inspection.check_boxes({(images.images[n].id, file.key): int(counts[n]) for n in crowded}, file.name)
    order = rank(everything.confidence)
    checked.digests[file.key] = digest_of(
        everything.image[order], everything.confidence[order], everything.boxes[order]
    )
    checked.add_list(file.key, everything.confidence, is_partial=len(everything) < len(images.images))
    if is_blank(data):
        problems.note(Problem("empty-file", f"no detection of '{file.key}': the file is empty", file.name))


def remark_on_boxes(checked: Checked, inspection: Inspection) -> None:
    """Add one note each for all boxes outside their image and all inverted boxes."""
    name, total = checked.info.name, checked.lines
    if checked.outside:
        message = f"{name}: {checked.outside} of {total} boxes extend beyond their image; they are scored as they are"
        inspection.problems.note(Problem("box-outside", message, found=str(checked.outside)))
    if checked.inverted and inspection.mistake_severity is Severity.NOTE:
        message = (
            f"{name}: {checked.inverted} of {total} boxes are inverted; an archive with such boxes is refused"
        )
        inspection.problems.note(Problem("inverted-box", message, found=str(checked.inverted)))
