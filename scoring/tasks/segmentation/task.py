"""Segmentation: the functions of the task."""

from typing import Final

from scoring.data.description import Description
from scoring.tasks.segmentation.checks import check_label_images, remark_on_label_images
from scoring.tasks.segmentation.reader import accepts, read_label_image, split
from scoring.tasks.segmentation.scoring import columns, load, match, missing_truth, resample, score, select
from scoring.tasks.task import Task


def any_number(_: Description) -> int:
    """No line is expected."""
    return 0


SEGMENTATION: Final = Task(
    name="segmentation",
    title="Segmentation",
    read=read_label_image,
    check_file=check_label_images,
    check_all=remark_on_label_images,
    accepts=accepts,
    split=split,
    missing_truth=missing_truth,
    load=load,
    match=match,
    score=score,
    resample=resample,
    fewest_lines=any_number,
    columns=columns,
    select=select,
)
