"""How the result files of each task are checked."""

import codecs
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Final

import numpy as np

from scoring.errors import Problem, Problems, Severity
from scoring.formats.confidences import read_confidences, repetitions
from scoring.formats.images import ImageIndex
from scoring.formats.label_images import read_label_image
from scoring.formats.layout_xml import read_layouts
from scoring.formats.layouts import UNLISTED
from scoring.formats.lines import Reading, inverted, outside, read_in_blocks
from scoring.formats.subjects import Subjects
from scoring.limits import MAX_FILE_PROBLEMS
from scoring.registry import CompetitionInfo
from scoring.results.finding import ResultFile
from scoring.results.portions import Content


@dataclass(frozen=True, slots=True)
class Inspection:
    """What every check works with.

    mistakes: how much weight something has that the kits would score and nobody means, such as an inverted box.
    """

    images: ImageIndex
    problems: Problems
    mistakes: Severity


@dataclass(slots=True)
class Checked:
    """What has been met so far of one competition: its files, and how many answers they hold.

    outside counts boxes that reach beyond their image, upside_down those that end before they begin; repeated counts
    lines about an image or person that has another one, missing by file those that have none;
    grey and recoloured count label images without indices, and those with another palette than the kit's.
    """

    info: CompetitionInfo
    files: set[str] = field(default_factory=set)
    lines: int = 0
    outside: int = 0
    upside_down: int = 0
    repeated: int = 0
    missing: dict[str, int] = field(default_factory=dict)
    grey: int = 0
    recoloured: int = 0

    def join(self, other: "Checked") -> None:
        """Add what was met in other files of the same competition."""
        self.files |= other.files
        self.missing |= other.missing
        self.lines += other.lines
        self.outside += other.outside
        self.upside_down += other.upside_down
        self.repeated += other.repeated
        self.grey += other.grey
        self.recoloured += other.recoloured


@dataclass(frozen=True, slots=True)
class Check:
    """A task's two checks: file by file, and of what concerns all files of a competition together."""

    one: Callable[[ResultFile, Checked, Inspection], None]
    all: Callable[[Checked, Inspection], None]


def check(portion: Sequence[Content], inspection: Inspection) -> tuple[list[Checked], Problems]:
    """Check files, whose content has been read, each on its own; other threads may check others meanwhile."""
    mine = replace(inspection, problems=Problems())
    return [_check_one(file, data, mine) for file, data in portion], mine.problems


def _check_one(file: ResultFile, data: bytes, inspection: Inspection) -> Checked:
    checked = Checked(file.competition, {file.about})
    CHECKS[file.competition.task].one(replace(file, read=lambda: data), checked, inspection)
    return checked


def check_detections(file: ResultFile, checked: Checked, inspection: Inspection) -> None:
    """Check one class's detections and count them."""
    images, problems, data = inspection.images, inspection.problems, file.read()
    lines = 0
    for found in read_in_blocks(data, Reading(images, file.name, problems, inspection.mistakes)):
        lines += len(found)
        checked.outside += int(outside(found, images).sum())
        checked.upside_down += int(inverted(found, images).sum())
    checked.lines += lines
    if _is_blank(data):
        problems.note(Problem("empty-file", f"no detection of '{file.about}': the file is empty", file.name))


def remark_on_boxes(checked: Checked, inspection: Inspection) -> None:
    """Say in one sentence for all what many lines of real detectors have."""
    name, total = checked.info.name, checked.lines
    if checked.outside:
        message = f"{name}: {checked.outside} of {total} boxes extend beyond their image; they are scored as they are"
        inspection.problems.note(Problem("box-outside", message, found=str(checked.outside)))
    if checked.upside_down and inspection.mistakes is Severity.NOTE:
        message = f"{name}: {checked.upside_down} of {total} boxes are inverted; an archive with such boxes is refused"
        inspection.problems.note(Problem("inverted-box", message, found=str(checked.upside_down)))


def check_images(file: ResultFile, checked: Checked, inspection: Inspection) -> None:
    """Check what one class's file says of the images."""
    _check_confidences(file, checked, inspection, inspection.images.main)


def check_persons(file: ResultFile, checked: Checked, inspection: Inspection) -> None:
    """Check what one action's file says of the persons."""
    _check_confidences(file, checked, inspection, inspection.images.acting)


def _check_confidences(
    file: ResultFile, checked: Checked, inspection: Inspection, subjects: Subjects
) -> None:
    data, problems = file.read(), inspection.problems
    lines = np.zeros(len(subjects), np.intp)
    for found in read_confidences(data, subjects, file=file.name, problems=problems):
        lines += np.bincount(found.subject, minlength=len(subjects))
    checked.lines += int(lines.sum())
    if lines.any() and not lines.all():
        checked.missing[file.name] = int(np.count_nonzero(lines == 0))
    elif _is_blank(data):
        message = f"no {subjects.kind} is ranked for '{file.about}': the file is empty"
        problems.note(Problem("empty-file", message, file.name))
    repeated = int(np.maximum(lines - 1, 0).sum())
    checked.repeated += repeated
    if repeated and inspection.mistakes is Severity.PROBLEM:
        for problem in islice(repetitions(data, subjects, file=file.name), MAX_FILE_PROBLEMS):
            problems.add(problem)


def _is_blank(data: bytes) -> bool:
    """Is there nothing to read, not even something wrong?"""
    text = data.removeprefix(codecs.BOM_UTF8)
    return not text or text.isspace()


def remark_on_confidences(checked: Checked, inspection: Inspection, *, kind: str) -> None:
    """Say in one sentence for all files who has no line, and who has several."""
    name, missing = checked.info.name, checked.missing
    if missing:
        total, most = sum(missing.values()), max(missing, key=missing.__getitem__)
        message = (
            f"{name}: {kind}s are missing, {total} in {len(missing)} of {len(checked.files)} files,"
            f" of these {missing[most]} in {most}; a missing {kind} ranks behind all others"
        )
        inspection.problems.note(Problem("missing-answers", message, found=str(total)))
    if checked.repeated and inspection.mistakes is Severity.NOTE:
        message = (
            f"{name}: {checked.repeated} of {checked.lines} lines repeat the {kind} of another line; the last one"
            " counts, and an archive with such lines is refused"
        )
        inspection.problems.note(Problem("repeated", message, found=str(checked.repeated)))


def check_label_images(file: ResultFile, checked: Checked, inspection: Inspection) -> None:
    """Check one label image."""
    found = read_label_image(file.read(), inspection.images, file=file.name, problems=inspection.problems)
    checked.lines += 1
    if found is not None:
        checked.grey += found.grey
        checked.recoloured += found.recoloured


def remark_on_label_images(checked: Checked, inspection: Inspection) -> None:
    """Say in one sentence for all files what may be meant otherwise, but is scored."""
    name, total, problems = checked.info.name, len(checked.files), inspection.problems
    if checked.grey:
        message = f"{name}: {checked.grey} of {total} images are grey, not indexed; their values are taken as labels"
        problems.note(Problem("grey-image", message, found=str(checked.grey)))
    if checked.recoloured:
        message = (
            f"{name}: {checked.recoloured} of {total} images have a palette that shows labels in other colours than the"
            " development kit; the indices count, not the colours"
        )
        problems.note(Problem("other-palette", message, found=str(checked.recoloured)))


def check_layouts(file: ResultFile, checked: Checked, inspection: Inspection) -> None:
    """Check the layouts of all persons and count them."""
    images, problems = inspection.images, inspection.problems
    found = read_layouts(file.read(), images, file=file.name, problems=problems, mistakes=inspection.mistakes)
    checked.lines += len(found)
    total = len(images.persons.places)
    missing = total - len(np.unique(found.person[found.person != UNLISTED]))
    if missing and len(found):
        whom = "images" if images.persons.boxed else "persons"
        message = (
            f"{missing} of the {total} {whom} of {images.persons.where} have no layout and count as missed"
        )
        problems.note(Problem("missing-answers", message, file.name, found=str(missing)))


def say_nothing_more(_checked: Checked, _inspection: Inspection) -> None:
    """Where one file is all, everything has been said."""


CHECKS: Final[Mapping[str, Check]] = {
    "classification": Check(check_images, partial(remark_on_confidences, kind="image")),
    "detection": Check(check_detections, remark_on_boxes),
    "segmentation": Check(check_label_images, remark_on_label_images),
    "layout": Check(check_layouts, say_nothing_more),
    "action": Check(check_persons, partial(remark_on_confidences, kind="person")),
}
"""The checks of every task, by the name that the registry gives it."""
