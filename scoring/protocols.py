"""Every protocol, one row each.

A new protocol is a new row: no other code depends on which protocol or year it is. The name of a dataset decides only
its competitions and classes (`scoring.competitions`) and, for the years of PASCAL VOC, the default protocol.
"""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from scoring.competitions import CHALLENGES
from scoring.data.tables import PARTS
from scoring.metrics.averaging import mean_of_classes
from scoring.metrics.boxes import iou_inclusive
from scoring.metrics.coco.arrays import COCO_RULES, LVIS_RULES
from scoring.metrics.layout_matching import (
    WHOLE,
    match_boxed_persons_2007,
    match_boxed_persons_2007_corrected,
    match_parts,
    match_persons_2008,
    match_persons_2008_corrected,
)
from scoring.metrics.matching import (
    all_objects_positive,
    match_pascal,
    match_pascal_2006,
)
from scoring.metrics.measures import AP_11_POINTS, AP_AREA
from scoring.similar_names import similar_name
from scoring.tasks.action.task import ACTION
from scoring.tasks.classification.task import CLASSIFICATION
from scoring.tasks.coco.task import COCO_DETECTION, COCO_SEGMENTATION, LVIS_DETECTION, LVIS_SEGMENTATION
from scoring.tasks.detection.rules import DetectionRules
from scoring.tasks.detection.task import DETECTION
from scoring.tasks.detection.tensorflow_rules import EARLIER_NAMES, TENSORFLOW_ROWS
from scoring.tasks.layout.rules import LayoutRules
from scoring.tasks.layout.task import LAYOUT
from scoring.tasks.protocol import Protocol, check_name, reserve_names
from scoring.tasks.ranking.rules import LABELS_AP_11_POINTS, LABELS_AP_AREA, ROC_AUC, LabelRules
from scoring.tasks.segmentation.rules import BY_CLASS_ACCURACY, BY_IOU, SegmentationRules
from scoring.tasks.segmentation.task import SEGMENTATION
from scoring.tasks.task import Task, TaskRules

_LABELS_OF_2006: Final = LabelRules(ROC_AUC, mean_of_classes)


_LABELS_OF_2007: Final = LabelRules(LABELS_AP_11_POINTS, mean_of_classes)


_LABELS_OF_2010: Final = LabelRules(LABELS_AP_AREA, mean_of_classes)


_OF_2006: Final = DetectionRules(
    match_pascal_2006, iou_inclusive, 0.5, AP_11_POINTS, mean_of_classes, second_table=all_objects_positive
)


_OF_2007: Final = DetectionRules(
    match_pascal, iou_inclusive, 0.5, AP_11_POINTS, mean_of_classes, second_table=all_objects_positive
)


_OF_2010: Final = DetectionRules(
    match_pascal, iou_inclusive, 0.5, AP_AREA, mean_of_classes, second_table=all_objects_positive
)


_LAYOUT_OF_2007: Final = LayoutRules(
    match_boxed_persons_2007, WHOLE, True, iou_inclusive, 0.5, AP_11_POINTS, mean_of_classes
)


_LAYOUT_OF_2008: Final = LayoutRules(
    match_persons_2008, WHOLE, False, iou_inclusive, 0.5, AP_11_POINTS, mean_of_classes
)


_LAYOUT_OF_2010: Final = LayoutRules(match_parts, PARTS, False, iou_inclusive, 0.5, AP_AREA, mean_of_classes)


def _year(
    year: int,
    labels: LabelRules,
    detection: DetectionRules,
    layout: LayoutRules,
    segmentation: SegmentationRules = BY_IOU,
) -> Protocol:
    rules = (
        TaskRules(CLASSIFICATION, labels),
        TaskRules(DETECTION, detection),
        TaskRules(SEGMENTATION, segmentation),
        TaskRules(LAYOUT, layout),
        TaskRules(ACTION, labels),
    )
    return Protocol(f"voc{year}", f"PASCAL VOC {year}", rules)


_YEARS: Final = (
    _year(2006, _LABELS_OF_2006, _OF_2006, _LAYOUT_OF_2007),
    _year(2007, _LABELS_OF_2007, _OF_2007, _LAYOUT_OF_2007, BY_CLASS_ACCURACY),
    _year(2008, _LABELS_OF_2007, _OF_2007, _LAYOUT_OF_2008),
    _year(2009, _LABELS_OF_2007, _OF_2007, _LAYOUT_OF_2008),
    _year(2010, _LABELS_OF_2010, _OF_2010, _LAYOUT_OF_2010),
    _year(2011, _LABELS_OF_2010, _OF_2010, _LAYOUT_OF_2010),
    _year(2012, _LABELS_OF_2010, _OF_2010, _LAYOUT_OF_2010),
)
"""Source: the development kits of the years; their diffs show what each year changed. That of 2006 has no layout, and
that of 2009 no program for it: they stand here with the next and the last one there was."""


VOC2006, VOC2007, VOC2008, VOC2009, VOC2010, VOC2011, VOC2012 = _YEARS


_CORRECTED: Final = tuple(
    year.with_rules(
        f"{year.name}-corrected", f"{year.title}, layouts as they were meant", TaskRules(LAYOUT, layout)
    )
    for year, layout in (
        (_YEARS[1], replace(_LAYOUT_OF_2007, match=match_boxed_persons_2007_corrected)),
        (_YEARS[2], replace(_LAYOUT_OF_2008, match=match_persons_2008_corrected)),
        (_YEARS[3], replace(_LAYOUT_OF_2008, match=match_persons_2008_corrected)),
    )
)
"""The years whose program makes mistakes, without them."""


_TENSORFLOW: Final = tuple(
    _YEARS[-1].with_rules(
        row.name, f"TensorFlow Object Detection API, {row.title}", TaskRules(DETECTION, row.rules)
    )
    for row in TENSORFLOW_ROWS
)
"""It has rules for detection only: other tasks are scored as in the last year."""


COCO: Final = Protocol(
    "coco", "COCO", (TaskRules(COCO_DETECTION, COCO_RULES), TaskRules(COCO_SEGMENTATION, COCO_RULES))
)
"""Source: pycocotools 2.0.11."""


LVIS: Final = Protocol(
    "lvis", "LVIS", (TaskRules(LVIS_DETECTION, LVIS_RULES), TaskRules(LVIS_SEGMENTATION, LVIS_RULES))
)
"""Source: lvis 0.5.3."""


_ROWS: Final = {row.name: row for row in (*_YEARS, *_CORRECTED, *_TENSORFLOW, COCO, LVIS)}


PROTOCOLS: Final[Mapping[str, Protocol]] = MappingProxyType(
    _ROWS | {earlier: _ROWS[name] for earlier, name in EARLIER_NAMES.items()}
)
"""The protocols by name; a row that had another name before is found by that as well."""


reserve_names(PROTOCOLS)


TASKS: Final[Mapping[str, Task[Any, Any, Any, Any]]] = MappingProxyType(
    {each.task.name: each.task for row in PROTOCOLS.values() for each in row.tasks}
)
"""The tasks that at least one protocol scores, by name."""


def protocol_of(protocol: str | Protocol) -> Protocol:
    """A protocol by its name, or as it is given.

    Raises LookupError for an unknown name, ValueError for other rules under the name of an official protocol.

    >>> protocol_of("voc2012").title
    'PASCAL VOC 2012'
    """
    if isinstance(protocol, Protocol):
        check_name(protocol)  # names are reserved only once this module is imported
        return protocol
    if isinstance(protocol, str) and protocol in PROTOCOLS:
        return PROTOCOLS[protocol]
    near = similar_name(str(protocol).encode(errors="replace"), {name.encode() for name in PROTOCOLS})
    known = f"there are {', '.join(PROTOCOLS)}" if near is None else f"did you mean '{near.decode()}'?"
    raise LookupError(f"no protocol is called {protocol!r}; {known}")


def default_protocol(dataset: str) -> str:
    """The name of the protocol of a dataset's own year. Raises LookupError for a dataset without one.

    >>> default_protocol("VOC2007")
    'voc2007'
    """
    if dataset not in CHALLENGES:
        raise LookupError(
            f"the dataset '{dataset}' has no protocol of its own; name one of {', '.join(PROTOCOLS)}"
        )
    return dataset.lower()
