"""The row of classification."""

from functools import partial
from typing import Final

from scoring.tasks.classification.resampling import resample
from scoring.tasks.classification.scoring import load, missing_truth, score
from scoring.tasks.ranking.arrays import accepts_images, split_images
from scoring.tasks.ranking.checks import check_images, remark_on_confidences
from scoring.tasks.ranking.reader import read_images, read_images_together
from scoring.tasks.ranking.scoring import match
from scoring.tasks.task import Task

CLASSIFICATION: Final = Task(
    name="classification",
    title="Classification",
    read=read_images,
    read_together=read_images_together,
    check_file=check_images,
    check_all=partial(remark_on_confidences, kind="image"),
    accepts=accepts_images,
    split=split_images,
    missing_truth=missing_truth,
    load=load,
    match=match,
    score=score,
    resample=resample,
)
