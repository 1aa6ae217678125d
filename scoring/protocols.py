"""How each year scored: a protocol is a row of functions.

A new protocol is a new row: nothing that scores asks which protocol or year it has. The year in a dataset's name
decides only what goes with it: its competitions and classes (`scoring.competitions`), and the protocol if none is named.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from scoring.data.ground_truth import PARTS
from scoring.metrics.averaging import (
    mean_of_classes,
    mean_of_classes_with_a_value,
    pool_all_classes,
)
from scoring.metrics.boxes import iou_half_open, iou_inclusive
from scoring.metrics.groups import match_open_images, single_objects_positive
from scoring.metrics.labels import (
    ranked_average_precision,
    ranked_average_precision_11_points,
    roc_auc,
)
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
from scoring.metrics.ranking import (
    AP_11_POINTS,
    AP_AREA,
    RankingMeasure,
    average_precision_of_objects,
)
from scoring.results import draw_precision, draw_roc
from scoring.tasks.detection.rules import DetectionRules
from scoring.tasks.labelled.rules import LabelMeasure, LabelRules
from scoring.tasks.layout.rules import LayoutRules
from scoring.tasks.segmentation.rules import BY_CLASS_ACCURACY, BY_IOU, SegmentationRules


@dataclass(frozen=True, slots=True)
class Protocol:
    """The rules of one year, by task."""

    name: str
    title: str
    detection: DetectionRules
    classification: LabelRules
    action: LabelRules
    layout: LayoutRules
    segmentation: SegmentationRules = BY_IOU


def spell(choice: Any) -> str:
    """Rules with every function by its name, on one line: what a receipt says of a protocol.

    >>> spell(AP_11_POINTS)
    "RankingMeasure(name='11-point average precision', of=average_precision_11_points)"
    """
    if is_dataclass(choice):
        said = (f"{field.name}={spell(getattr(choice, field.name))}" for field in fields(choice))
        return f"{type(choice).__name__}({', '.join(said)})"
    return choice.__name__ if callable(choice) else repr(choice)


_LABELS_OF_2006: Final = LabelRules(LabelMeasure("ROC AUC", roc_auc, draw_roc), mean_of_classes)


_LABELS_OF_2007: Final = LabelRules(
    LabelMeasure(AP_11_POINTS.name, ranked_average_precision_11_points, draw_precision), mean_of_classes
)


_LABELS_OF_2010: Final = LabelRules(
    LabelMeasure(AP_AREA.name, ranked_average_precision, draw_precision), mean_of_classes
)


_OF_2006: Final = DetectionRules(
    match_pascal_2006, iou_inclusive, 0.5, AP_11_POINTS, mean_of_classes, beside=all_objects_positive
)


_OF_2007: Final = DetectionRules(
    match_pascal, iou_inclusive, 0.5, AP_11_POINTS, mean_of_classes, beside=all_objects_positive
)


_OF_2010: Final = DetectionRules(
    match_pascal, iou_inclusive, 0.5, AP_AREA, mean_of_classes, beside=all_objects_positive
)


_LAYOUT_OF_2007: Final = LayoutRules(
    match_boxed_persons_2007, WHOLE, True, iou_inclusive, 0.5, AP_11_POINTS, mean_of_classes
)


_LAYOUT_OF_2008: Final = LayoutRules(
    match_persons_2008, WHOLE, False, iou_inclusive, 0.5, AP_11_POINTS, mean_of_classes
)


_LAYOUT_OF_2010: Final = LayoutRules(match_parts, PARTS, False, iou_inclusive, 0.5, AP_AREA, mean_of_classes)


_YEARS: Final = (
    Protocol(
        "voc2006", "PASCAL VOC 2006", _OF_2006, _LABELS_OF_2006, _LABELS_OF_2006, layout=_LAYOUT_OF_2007
    ),
    Protocol(
        "voc2007",
        "PASCAL VOC 2007",
        _OF_2007,
        _LABELS_OF_2007,
        _LABELS_OF_2007,
        layout=_LAYOUT_OF_2007,
        segmentation=BY_CLASS_ACCURACY,
    ),
    Protocol(
        "voc2008", "PASCAL VOC 2008", _OF_2007, _LABELS_OF_2007, _LABELS_OF_2007, layout=_LAYOUT_OF_2008
    ),
    Protocol(
        "voc2009", "PASCAL VOC 2009", _OF_2007, _LABELS_OF_2007, _LABELS_OF_2007, layout=_LAYOUT_OF_2008
    ),
    Protocol(
        "voc2010", "PASCAL VOC 2010", _OF_2010, _LABELS_OF_2010, _LABELS_OF_2010, layout=_LAYOUT_OF_2010
    ),
    Protocol(
        "voc2011", "PASCAL VOC 2011", _OF_2010, _LABELS_OF_2010, _LABELS_OF_2010, layout=_LAYOUT_OF_2010
    ),
    Protocol(
        "voc2012", "PASCAL VOC 2012", _OF_2010, _LABELS_OF_2010, _LABELS_OF_2010, layout=_LAYOUT_OF_2010
    ),
)
"""Source: the development kits of the years; which year did what is told in their diffs. That of 2006 has no layout, and
that of 2009 no program for it: they stand here with the next and the last one there was."""


_CORRECTED: Final = tuple(
    replace(
        year, name=f"{year.name}-corrected", title=f"{year.title}, layouts as they were meant", layout=layout
    )
    for year, layout in (
        (_YEARS[1], replace(_LAYOUT_OF_2007, match=match_boxed_persons_2007_corrected)),
        (_YEARS[2], replace(_LAYOUT_OF_2008, match=match_persons_2008_corrected)),
        (_YEARS[3], replace(_LAYOUT_OF_2008, match=match_persons_2008_corrected)),
    )
)
"""The years whose program makes mistakes, without them."""


_AREA: Final = RankingMeasure(AP_AREA.name, average_precision_of_objects)


_PASCAL: Final = DetectionRules(match_pascal, iou_half_open, 0.5, _AREA, mean_of_classes_with_a_value)


_WEIGHTED: Final = replace(_PASCAL, pool=pool_all_classes)


_OPEN_IMAGES: Final = replace(_PASCAL, match=match_open_images, seek=single_objects_positive)


_TENSORFLOW: Final = tuple(
    replace(_YEARS[-1], name=name, title=f"TensorFlow Object Detection API, {title}", detection=rules)
    for name, title, rules in (
        ("pascal_voc_metrics", "PASCAL VOC", _PASCAL),
        ("weighted_pascal_voc_metrics", "weighted PASCAL VOC", _WEIGHTED),
        ("open_images_metrics", "Open Images", _OPEN_IMAGES),
    )
)
"""The names are those of its configuration. It has rules for detection only: other tasks are scored as in the last year."""


PROTOCOLS: Final[Mapping[str, Protocol]] = MappingProxyType(
    {row.name: row for row in (*_YEARS, *_CORRECTED, *_TENSORFLOW)}
)
"""The protocols by name."""


LATEST: Final = "voc2012"


def default_protocol(dataset: str) -> str:
    """The protocol of a dataset's own year, for any other dataset that of the last year.

    >>> default_protocol("VOC2007"), default_protocol("sample")
    ('voc2007', 'voc2012')
    """
    return dataset.lower() if dataset.lower() in PROTOCOLS else LATEST
