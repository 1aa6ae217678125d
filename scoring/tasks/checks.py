"""How the result files of each task are checked."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from scoring.errors import Problems
from scoring.intake.batches import Content
from scoring.intake.checking import Check, Checked, Inspection, say_nothing_more
from scoring.intake.result_files import ResultFile
from scoring.tasks.detection.checks import check_detections, remark_on_boxes
from scoring.tasks.labelled.checks import check_images, check_persons, remark_on_confidences
from scoring.tasks.layout.checks import check_layouts
from scoring.tasks.segmentation.checks import check_label_images, remark_on_label_images


def check(batch: Sequence[Content], inspection: Inspection) -> tuple[list[Checked], Problems]:
    """Check files, whose content has been read, each on its own; other threads may check others meanwhile."""
    mine = replace(inspection, problems=Problems())
    return [_check_one(file, data, mine) for file, data in batch], mine.problems


def _check_one(file: ResultFile, data: bytes, inspection: Inspection) -> Checked:
    checked = Checked(file.competition, {file.about})
    CHECKS[file.competition.task].one(replace(file, read=lambda: data), checked, inspection)
    return checked


CHECKS: Final[Mapping[str, Check]] = {
    "classification": Check(check_images, partial(remark_on_confidences, kind="image")),
    "detection": Check(check_detections, remark_on_boxes),
    "segmentation": Check(check_label_images, remark_on_label_images),
    "layout": Check(check_layouts, say_nothing_more),
    "action": Check(check_persons, partial(remark_on_confidences, kind="person")),
}
"""The checks of every task, by the name that the registry gives it."""
