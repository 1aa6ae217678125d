"""Checks of person layout files."""

import numpy as np

from scoring.archives.checking import Checked, Inspection, severity_of_missing
from scoring.archives.fingerprints import digest_of
from scoring.archives.result_files import ResultFile
from scoring.data.layouts import UNLISTED
from scoring.errors import Problem
from scoring.tasks.layout.reader import read_layouts


def check_layouts(file: ResultFile, checked: Checked, inspection: Inspection) -> None:
    """Check the layouts of all persons and count them."""
    images, problems = inspection.images, inspection.problems
    wrong = problems.total
    found = read_layouts(file.read(), images, file=file.name, problems=problems)
    checked.lines += len(found)
    total = len(images.persons.places)
    missing = total - len(np.unique(found.person[found.person != UNLISTED]))
    boxes = np.nan_to_num(found.boxes, nan=np.inf)  # of persons that have a number instead
    checked.digests[file.key] = digest_of(
        found.person, found.confidence, boxes, found.first, found.kind, found.parts
    )
    checked.add_list(file.key, found.confidence, is_partial=missing > 0)
    if missing and len(found) and problems.total == wrong:  # what is refused is not missing
        whom = "images" if images.persons.boxed else "persons"
        message = f"{missing:,} of the {total:,} {whom} of {images.persons.where} have no layout and count as missed"
        note = Problem("missing-predictions", message, file.name, found=str(missing))
        problems.add(note, severity_of_missing(missing, total))
