"""Checks of person layout files."""

import numpy as np

from scoring.archives.checking import Checked, Inspection
from scoring.archives.fingerprints import digest_of
from scoring.archives.result_files import ResultFile
from scoring.data.layouts import UNLISTED
from scoring.errors import Problem
from scoring.tasks.layout.reader import read_layouts


def check_layouts(file: ResultFile, checked: Checked, inspection: Inspection) -> None:
    """Check the layouts of all persons and count them."""
    images, problems = inspection.images, inspection.problems
    found = read_layouts(
        file.read(), images, file=file.name, problems=problems, mistake_severity=inspection.mistake_severity
    )
    checked.lines += len(found)
    total = len(images.persons.places)
    missing = total - len(np.unique(found.person[found.person != UNLISTED]))
    boxes = np.nan_to_num(found.boxes, nan=np.inf)  # of persons that have a number instead
    checked.digests[file.key] = digest_of(
        found.person, found.confidence, boxes, found.first, found.kind, found.parts
    )
    checked.add_list(file.key, found.confidence, is_partial=missing > 0)
    if missing and len(found):
        whom = "images" if images.persons.boxed else "persons"
        message = (
            f"{missing} of the {total} {whom} of {images.persons.where} have no layout and count as missed"
        )
        problems.note(Problem("missing-predictions", message, file.name, found=str(missing)))
