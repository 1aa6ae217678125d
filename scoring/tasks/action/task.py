"""The row of action classification."""

from functools import partial
from typing import Final

from scoring.tasks.action.resampling import resample
from scoring.tasks.action.scoring import load, missing_truth, score
from scoring.tasks.ranking.arrays import accepts_persons, split_persons
from scoring.tasks.ranking.checks import check_persons, remark_on_confidences
from scoring.tasks.ranking.reader import read_persons, read_persons_together
from scoring.tasks.ranking.scoring import match
from scoring.tasks.task import Task

ACTION: Final = Task(
    name="action",
    title="Action classification",
    read=read_persons,
    read_together=read_persons_together,
    check_file=check_persons,
    check_all=partial(remark_on_confidences, kind="person"),
    accepts=accepts_persons,
    split=split_persons,
    missing_truth=missing_truth,
    load=load,
    match=match,
    score=score,
    resample=resample,
    fewest_lines=lambda description: len(description.acting) * len(description.actions),
)
