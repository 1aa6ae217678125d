"""How the result files of each task are checked."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from scoring.errors import Problem, Problems, Severity
from scoring.images import ImageIndex
from scoring.lines import Reading, inverted, outside, read_in_blocks
from scoring.registry import CompetitionInfo
from scoring.results import ResultFile


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

    outside counts boxes that reach beyond their image, upside_down those that end before they begin.
    """

    info: CompetitionInfo
    files: set[str] = field(default_factory=set)
    lines: int = 0
    outside: int = 0
    upside_down: int = 0


@dataclass(frozen=True, slots=True)
class Check:
    """A task's two checks: file by file, and of what concerns all files of a competition together."""

    one: Callable[[ResultFile, Checked, Inspection], None]
    all: Callable[[Checked, Inspection], None]


def check_detections(file: ResultFile, checked: Checked, inspection: Inspection) -> None:
    """Check one class's detections and count them."""
    images, problems = inspection.images, inspection.problems
    lines = 0
    for found in read_in_blocks(file.read(), Reading(images, file.name, problems, inspection.mistakes)):
        lines += len(found)
        checked.outside += int(outside(found, images).sum())
        checked.upside_down += int(inverted(found, images).sum())
    checked.lines += lines
    if not lines:
        problems.note(Problem("empty-file", f"no detection of '{file.about}': the file is empty", file.name))


def remark_on_boxes(checked: Checked, inspection: Inspection) -> None:
    """Say in one sentence for all what many lines of real detectors have."""
    name, total = checked.info.name, checked.lines
    if checked.outside:
        message = f"{name}: {checked.outside} of {total} boxes reach outside their image; they are scored as they are"
        inspection.problems.note(Problem("box-outside", message, found=str(checked.outside)))
    if checked.upside_down and inspection.mistakes is Severity.NOTE:
        message = f"{name}: {checked.upside_down} of {total} boxes are inverted; an archive with such boxes is refused"
        inspection.problems.note(Problem("inverted-box", message, found=str(checked.upside_down)))


CHECKS: Final[Mapping[str, Check]] = {"detection": Check(check_detections, remark_on_boxes)}
"""The tasks whose results can be scored, by the name that the registry gives them."""


def _read_only(file: ResultFile, _checked: Checked, _inspection: Inspection) -> None:
    file.read()  # whether the archive is damaged there can be said all the same


def _say_that_it_is_too_early(checked: Checked, inspection: Inspection) -> None:
    name = checked.info.name
    message = f"{name} ({checked.info.task}) cannot be scored yet"
    inspection.problems.add(Problem("not-scored-yet", message, found=name))


NOT_YET: Final = Check(_read_only, _say_that_it_is_too_early)
"""What stands for the check of a task that is not there."""
