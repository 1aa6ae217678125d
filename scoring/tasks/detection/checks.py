"""Checks of detection files."""

import numpy as np

from scoring.archives.checking import Checked, Inspection, is_blank
from scoring.archives.fingerprints import digest_of
from scoring.archives.plausibility import CORNERS, Signs, count_corners, count_forms, far_beyond, line_at
from scoring.archives.result_files import ResultFile
from scoring.data.detections import ClassDetections
from scoring.data.limits import MAX_FILE_PROBLEMS
from scoring.errors import Problem, Problems, Severity
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
    for found in read_in_blocks(data, Reading(images, file.name, problems)):
        parts.append(found)
        checked.outside += int(outside(found, images).sum())
    everything = join_detections(parts)
    checked.lines += len(everything)
    counts = np.bincount(everything.image, minlength=len(images.images))
    signs.seen, signs.faulty = counts > 0, problems.total > wrong
    signs.foreign += problems.count(UNKNOWN_IMAGE) - before[UNKNOWN_IMAGE]
    if problems.count(INVERTED_BOX) > before[INVERTED_BOX]:
        _look_for_a_form(data, file.name, images, signs)
    else:
        _look_at(everything, data, file.name, images, signs)
    crowded = np.flatnonzero(counts > inspection.max_boxes)[:MAX_FILE_PROBLEMS].tolist()
    inspection.check_boxes({(images.images[n].id, file.key): int(counts[n]) for n in crowded}, file.name)
    order = rank(everything.confidence)
    checked.digests[file.key] = digest_of(
        everything.image[order], everything.confidence[order], everything.boxes[order]
    )
    checked.add_list(file.key, everything.confidence, is_partial=len(everything) < len(images.images))
    if is_blank(data):
        problems.note(Problem("empty-file", f"no detection of '{file.key}': the file is empty", file.name))


def _look_at(found: ClassDetections, data: bytes, file: str, images: ImageIndex, signs: Signs) -> None:
    """Count boxes that are valid and probably not what is meant."""
    far = far_beyond(found.boxes, images.sizes[found.image])
    signs.boxes, signs.far = len(found), int(np.count_nonzero(far))
    signs.largest = float(np.abs(found.boxes).max(initial=0))
    count_corners(signs, found.boxes, images.sizes[found.image])
    if signs.reach_far:
        signs.suspects, signs.wrong = len(found), signs.far
        signs.forms = count_forms(found.boxes, images.sizes[found.image], but=CORNERS)
    if (signs.are_shares or signs.reach_far) and not signs.faulty:
        signs.example = line_at(data, int(np.argmax(far)), file)


def _look_for_a_form(data: bytes, file: str, images: ImageIndex, signs: Signs) -> None:
    """Count the boxes of a file in which some end before they begin, and how many would be right in another form."""
    reading = Reading(images, file, Problems(mistakes=Severity.NOTE))  # which keeps them
    found = join_detections(list(read_in_blocks(data, reading)))
    left, top, right, bottom = found.boxes.T
    is_inverted, sizes = inverted(found, images), images.sizes[found.image]
    signs.boxes = signs.suspects = len(found)
    signs.wrong = int(np.count_nonzero(is_inverted))
    signs.narrow = int(np.count_nonzero(is_inverted & (right < left)))
    signs.flat = int(np.count_nonzero(is_inverted & (bottom < top)))
    signs.forms = count_forms(found.boxes, sizes, but=CORNERS, confidence=found.confidence)


def remark_on_boxes(checked: Checked, inspection: Inspection) -> None:
    """Add one note for all boxes that extend beyond their image, unless a warning says why there are so many."""
    signs = checked.signs
    if checked.outside and not signs.reach_far and not signs.are_shares:
        message = (
            f"{checked.info.name}: {checked.outside:,} of {checked.lines:,} boxes extend beyond their image; "
            "they are scored as they are"
        )
        inspection.problems.note(Problem("box-outside", message, found=str(checked.outside)))
