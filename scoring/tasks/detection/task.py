"""Detection: the functions of the task."""

from typing import Final

from scoring.tasks.detection.checks import check_detections, remark_on_boxes
from scoring.tasks.detection.reader import accepts, read_detections, split
from scoring.tasks.detection.scoring import load, match, missing_truth, resample, score
from scoring.tasks.task import Task

DETECTION: Final = Task(
    name="detection",
    title="Detection",
    read=read_detections,
    check_file=check_detections,
    check_all=remark_on_boxes,
    accepts=accepts,
    split=split,
    missing_truth=missing_truth,
    load=load,
    match=match,
    score=score,
    resample=resample,
)
