"""Checks of classification and action files."""

import numpy as np

from scoring.archives.checking import Checked, Inspection, is_blank, severity_of_missing
from scoring.archives.fingerprints import digest_of
from scoring.archives.result_files import ResultFile
from scoring.errors import Problem, Severity
from scoring.readers.lines.grammar import UNKNOWN_IMAGE
from scoring.readers.lines.subjects import Subjects
from scoring.tasks.ranking.reader import add_repetitions, read_confidences


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
    foreign, wrong = problems.count(UNKNOWN_IMAGE), problems.total
    for found in read_confidences(data, subjects, file=file.name, problems=problems, max_lines=max_lines):
        lines += np.bincount(found.subject, minlength=len(subjects))
        confidence[found.subject] = found.confidence  # of several lines the last one counts
    checked.lines += int(lines.sum())
    checked.signs.foreign += problems.count(UNKNOWN_IMAGE) - foreign
    checked.digests[file.key] = digest_of(confidence)
    checked.add_list(file.key, confidence[lines > 0], is_partial=not lines.all())
    if lines.any() and not lines.all() and problems.total == wrong:  # what is refused is not missing
        checked.missing[file.name] = int(np.count_nonzero(lines == 0))
    elif is_blank(data):
        message = f"no {subjects.kind} is ranked for '{file.key}': the file is empty"
        problems.note(Problem("empty-file", message, file.name))
    if lines.max(initial=0) > 1:
        add_repetitions(data, subjects, file=file.name, problems=problems)


def remark_on_images(checked: Checked, inspection: Inspection) -> None:
    """Say once how many images have no line; lists made of detections leave out most of them."""
    _remark(checked, inspection, "image")


def remark_on_persons(checked: Checked, inspection: Inspection) -> None:
    """Say once how many persons have no line, a warning where these are many."""
    _remark(checked, inspection, "person")


def _remark(checked: Checked, inspection: Inspection, kind: str) -> None:
    missing, ranked = checked.missing, checked.lines + sum(checked.missing.values())
    if missing:
        total, most = sum(missing.values()), max(missing, key=missing.__getitem__)
        message = (
            f"{checked.info.name}: {kind}s are missing, {total:,} in {len(missing)} of {len(checked.files)} files,"
            f" of these {missing[most]:,} in {most}; a missing {kind} ranks behind all others"
        )
        note = Problem("missing-predictions", message, found=str(total))
        severity = severity_of_missing(total, ranked) if kind == "person" else Severity.NOTE
        inspection.problems.add(note, severity)
