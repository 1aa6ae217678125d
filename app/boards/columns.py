"""The columns of a leaderboard: the figures of its protocol under their usual names, in their usual order."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import heldout_scoring
from heldout_scoring import PROTOCOLS
from heldout_scoring.stored import from_plain

MEAN: Final = "mean"  # by which every board sorts its headline in addresses
_OF_MEASURE: Final = {  # by how the name of the measure ends
    "average precision": "mAP",
    "ROC AUC": "mean AUC",
    "Intersection over union": "mIoU",
    "Class accuracy": "mean accuracy",
}
_OF_COCO: Final = {"AP50": "AP50", "AP75": "AP75", "APs": "APS", "APm": "APM", "APl": "APL"}
_FURTHER: Final = {  # by task: the usual name of each figure by its name in the table of all figures
    "coco": _OF_COCO | {"AR100": "AR100"},
    "lvis": _OF_COCO | {"APr": "APr", "APc": "APc", "APf": "APf"},
}


def headline_of(protocol: str, task: str) -> str:
    """Return the usual name of the figure that a board ranks by.

    >>> headline_of("voc2012", "detection"), headline_of("voc2012", "segmentation"), headline_of("coco", "coco-detection")
    ('mAP', 'mIoU', 'AP')
    """
    if _family(task) in _FURTHER:
        return "AP"
    rules = PROTOCOLS[protocol].rules_of(task)
    if getattr(rules, "pool", None) is not None:  # one ranking of all classes has no mean
        return "AP"
    name = rules.measure.name
    return next(
        (usual for ending, usual in _OF_MEASURE.items() if name.lower().endswith(ending.lower())), MEAN
    )


def further_of(task: str) -> tuple[str, ...]:
    """Return the usual names of the figures beside the headline.

    >>> further_of("coco-detection"), further_of("detection")
    (('AP50', 'AP75', 'APS', 'APM', 'APL', 'AR100'), ())
    """
    return tuple(_FURTHER.get(_family(task), {}).values())


def further_values(task: str, tables: Iterable[Mapping[str, Any]]) -> tuple[float | None, ...]:
    """Return the values of `further_of` from a run's stored tables of scores, None where there is none."""
    names = _FURTHER.get(_family(task), {})
    found = (from_plain(heldout_scoring.ScoreTable, each) for each in tables)
    values = next((dict(table.rows) for table in found if table.has_all_figures), {})
    return tuple(values.get(name) for name in names)


def _family(task: str) -> str:
    return task.partition("-")[0]
