"""Checks of classification and action files."""

from itertools import islice

import numpy as np

from scoring.archives.checking import Checked, Inspection, is_blank
from scoring.archives.fingerprints import digest_of
from scoring.archives.result_files import ResultFile
from scoring.data.limits import MAX_FILE_PROBLEMS
from scoring.errors import Problem, Severity
from scoring.readers.lines.grammar import UNKNOWN_IMAGE
from scoring.readers.lines.subjects import Subjects
from scoring.tasks.ranking.reader import read_confidences, repetitions


def check_images(file: ResultFile, checked: Checked, inspection: Inspection) -> None:
    """Check the classification file of one class."""
    _check_confidences(file, checked, inspection, inspection.images.main)


def check_persons(file: ResultFile, checked: Checked, inspection: Inspection) -> None:
    """Check the file of one action."""
    _check_confidences(file, checked, inspection, inspection.images.acting)


def _check_confidences(
    file: ResultFile, checked: Checked, inspection: Inspection, subjects: Subjects
) -> None:
    data, problems = file.read(), inspection.problems
    lines = np.zeros(len(subjects), np.intp)
    confidence = np.full(len(subjects), -np.inf)
    max_lines = inspection.images.max_lines
    foreign = problems.count(UNKNOWN_IMAGE)
    for found in read_confidences(data, subjects, file=file.name, problems=problems, max_lines=max_lines):
        lines += np.bincount(found.subject, minlength=len(subjects))
        confidence[found.subject] = found.confidence  # of several lines the last one counts
    checked.lines += int(lines.sum())
    checked.signs.foreign += problems.count(UNKNOWN_IMAGE) - foreign
    checked.digests[file.key] = digest_of(confidence)
    checked.add_list(file.key, confidence[lines > 0], is_partial=not lines.all())
    if lines.any() and not lines.all():
        checked.missing[file.name] = int(np.count_nonzero(lines == 0))
    elif is_blank(data):
        message = f"no {subjects.kind} is ranked for '{file.key}': the file is empty"
        problems.note(Problem("empty-file", message, file.name))
    repeated = int(np.maximum(lines - 1, 0).sum())
    checked.repeated += repeated
    if repeated and inspection.mistake_severity is Severity.PROBLEM:
        for problem in islice(repetitions(data, subjects, file=file.name), MAX_FILE_PROBLEMS):
            problems.add(problem)


def remark_on_confidences(checked: Checked, inspection: Inspection, *, kind: str) -> None:
    """Add one note each for all images or persons without a line and with several."""
    name, missing = checked.info.name, checked.missing
    if missing:
        total, most = sum(missing.values()), max(missing, key=missing.__getitem__)
        message = (
            f"{name}: {kind}s are missing, {total} in {len(missing)} of {len(checked.files)} files,"
            f" of these {missing[most]} in {most}; a missing {kind} ranks behind all others"
        )
        inspection.problems.note(Problem("missing-predictions", message, found=str(total)))
    if checked.repeated and inspection.mistake_severity is Severity.NOTE:
        message = (
            f"{name}: {checked.repeated} of {checked.lines} lines repeat the {kind} of another line; the last one"
            " counts, and an archive with such lines is refused"
        )
        inspection.problems.note(Problem("repeated", message, found=str(checked.repeated)))
