"""Person layout: the functions of the task."""

from typing import Final

from scoring.archives.checking import nothing_to_add
from scoring.data.description import Description
from scoring.tasks.layout.checks import check_layouts
from scoring.tasks.layout.reader import accepts, read_layouts, split
from scoring.tasks.layout.scoring import columns, load, match, missing_truth, resample, score, select
from scoring.tasks.task import Task


def one_for_each_person(description: Description) -> int:
    """As many predictions as there are persons."""
    return len(description.persons)


LAYOUT: Final = Task(
    name="layout",
    title="Person layout",
    read=read_layouts,
    check_file=check_layouts,
    check_all=nothing_to_add,
    accepts=accepts,
    split=split,
    missing_truth=missing_truth,
    load=load,
    match=match,
    score=score,
    resample=resample,
    fewest_lines=one_for_each_person,
    columns=columns,
    select=select,
)
