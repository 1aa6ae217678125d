"""Segmentation: the functions of the task."""

from typing import Final

from scoring.tasks.segmentation.checks import check_label_images, remark_on_label_images
from scoring.tasks.segmentation.reader import accepts, read_label_image, split
from scoring.tasks.segmentation.scoring import columns, load, match, missing_truth, resample, score, select
from scoring.tasks.task import Task

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
    fewest_lines=lambda _description: 0,
    columns=columns,
    select=select,
)
