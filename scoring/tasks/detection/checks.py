"""Checks of detection files."""

import numpy as np

from scoring.archives.checking import Checked, Inspection, is_blank
from scoring.archives.fingerprints import digest_of
from scoring.archives.plausibility import Signs, like_sides, line_at
from scoring.archives.result_files import ResultFile
from scoring.data.detections import ClassDetections
from scoring.data.limits import MAX_FILE_PROBLEMS
from scoring.errors import Problem, Severity
from scoring.metrics.ranking import rank
from scoring.readers.image_index import ImageIndex
from scoring.readers.lines.grammar import INVERTED_BOX, UNKNOWN_IMAGE
from scoring.tasks.detection.reader import Reading, inverted, join_detections, outside, read_in_blocks


def check_detections(file: ResultFile, checked: Checked, inspection: Inspection) -> None:
    """Check one class's detections and count them."""
    images, problems, data = inspection.images, inspection.problems, file.read()
    parts, signs = [], checked.signs
    before = {code: problems.count(code) for code in (UNKNOWN_IMAGE, INVERTED_BOX)}
    wrong = problems.total
    for found in read_in_blocks(data, Reading(images, file.name, problems, inspection.mistake_severity)):
        parts.append(found)
        _look_at(found, images, signs)
        checked.outside += int(outside(found, images).sum())
        if inspection.mistake_severity is Severity.NOTE:  # otherwise they are problems, and not in `found`
            checked.inverted += int(inverted(found, images).sum())
    everything = join_detections(parts)
    checked.lines += len(everything)
    counts = np.bincount(everything.image, minlength=len(images.images))
    signs.seen = counts > 0
    signs.foreign += problems.count(UNKNOWN_IMAGE) - before[UNKNOWN_IMAGE]
    signs.far += checked.inverted + problems.count(INVERTED_BOX) - before[INVERTED_BOX]
    if signs.are_shares and problems.total == wrong:
        signs.example = line_at(data, 0, file.name)
    crowded = np.flatnonzero(counts > inspection.max_boxes)[:MAX_FILE_PROBLEMS].tolist()
    inspection.check_boxes({(images.images[n].id, file.key): int(counts[n]) for n in crowded}, file.name)
    order = rank(everything.confidence)
    checked.digests[file.key] = digest_of(
        everything.image[order], everything.confidence[order], everything.boxes[order]
    )
    checked.add_list(file.key, everything.confidence, is_partial=len(everything) < len(images.images))
    if is_blank(data):
        problems.note(Problem("empty-file", f"no detection of '{file.key}': the file is empty", file.name))


def _look_at(found: ClassDetections, images: ImageIndex, signs: Signs) -> None:
    """Count what is said for another form of boxes."""
    signs.boxes += len(found)
    signs.swapped += int(np.count_nonzero(like_sides(found.boxes, images.sizes[found.image])))
    signs.largest = max(signs.largest, float(np.abs(found.boxes).max(initial=0)))


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
