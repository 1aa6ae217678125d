"""How each year scored: a protocol is a row of functions.

A new protocol is a new row: nothing that scores asks which protocol or year it has. The year in a dataset's name
decides only what goes with it: its competitions and classes (`scoring.registry`), and the protocol if none is named.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from scoring.measures.averaging import (
    Average,
    Pool,
    mean_of_classes,
    mean_of_classes_with_a_value,
    pool_all_classes,
)
from scoring.measures.boxes import Overlap, overlap_of_areas, overlap_of_pixels
from scoring.measures.confusion import (
    PixelMeasure,
    PixelTotal,
    overlap_of_labels,
    share_found,
    share_of_all_pixels,
)
from scoring.measures.groups import judge_open_images, seek_single_objects
from scoring.measures.labels import (
    Value,
    area_below_found,
    precision_at_eleven_recalls,
    precision_over_every_recall,
)
from scoring.measures.layout_matching import (
    WHOLE,
    JudgeLayouts,
    judge_boxed_persons,
    judge_boxed_persons_of_2007,
    judge_parts,
    judge_persons,
    judge_persons_of_2008,
)
from scoring.measures.matching import (
    Judge,
    Seek,
    judge_pascal,
    judge_pascal_2006,
    seek_all_but_difficult,
    seek_everything,
)
from scoring.measures.ranking import (
    Measure,
    average_precision,
    average_precision_at_levels,
    average_precision_of_objects,
)
from scoring.report import Draw, draw_precision, draw_roc
from scoring.truth.ground_truth import PARTS


@dataclass(frozen=True, slots=True)
class RankingMeasure:
    """What is drawn from a ranking, and what it is called."""

    name: str
    of: Measure


@dataclass(frozen=True, slots=True)
class DetectionRules:
    """How detections are scored.

    least: the smallest overlap of a right answer; seek: what must be found. The headline is the average of the classes'
    values, unless `pool` puts all classes into one ranking, whose value it is then. beside: what must be found for other
    numbers that are told beside these.
    """

    judge: Judge
    overlap: Overlap
    least: float
    measure: RankingMeasure
    average: Average
    seek: Seek = seek_all_but_difficult
    pool: Pool | None = None
    beside: Seek | None = None


@dataclass(frozen=True, slots=True)
class LabelMeasure:
    """What is drawn from a ranking of labelled images or persons, what it is called, and its curve."""

    name: str
    of: Value
    draw: Draw


@dataclass(frozen=True, slots=True)
class LabelRules:
    """How classification is scored, and how actions are."""

    measure: LabelMeasure
    average: Average


@dataclass(frozen=True, slots=True)
class LayoutRules:
    """How layouts are scored.

    names: what values are of, the parts or the whole person; boxed: does a layout name a person by a box instead of a number?
    least: the smallest overlap of a right box.
    """

    judge: JudgeLayouts
    names: tuple[str, ...]
    boxed: bool
    overlap: Overlap
    least: float
    measure: RankingMeasure
    average: Average


@dataclass(frozen=True, slots=True)
class LabellingMeasure:
    """What is drawn from a confusion matrix for each label, and what it is called."""

    name: str
    of: PixelMeasure


@dataclass(frozen=True, slots=True)
class LabellingTotal:
    """What is drawn from a confusion matrix as a whole, and what it is called."""

    name: str
    of: PixelTotal


@dataclass(frozen=True, slots=True)
class SegmentationRules:
    """How label images are scored; total: a number for all pixels, told beside the others."""

    measure: LabellingMeasure
    average: Average
    total: LabellingTotal | None = None


BY_OVERLAP: Final = SegmentationRules(
    LabellingMeasure("Intersection over union", overlap_of_labels), mean_of_classes
)
"""From 2008 on; there was no segmentation in 2006, for which these rules stand too."""
BY_SHARE_FOUND: Final = SegmentationRules(
    LabellingMeasure("Share of pixels found", share_found),
    mean_of_classes,
    LabellingTotal("Share of all pixels", share_of_all_pixels),
)


@dataclass(frozen=True, slots=True)
class Protocol:
    """The rules of one year, by task."""

    name: str
    title: str
    detection: DetectionRules
    classification: LabelRules
    action: LabelRules
    layout: LayoutRules
    segmentation: SegmentationRules = BY_OVERLAP


def spell(choice: Any) -> str:
    """Rules with every function by its name, on one line: what a receipt says of a protocol.

    >>> spell(ELEVEN_POINTS)
    "RankingMeasure(name='Average precision at eleven recalls', of=average_precision_at_levels)"
    """
    if is_dataclass(choice):
        said = (f"{field.name}={spell(getattr(choice, field.name))}" for field in fields(choice))
        return f"{type(choice).__name__}({', '.join(said)})"
    return choice.__name__ if callable(choice) else repr(choice)


ELEVEN_POINTS: Final = RankingMeasure("Average precision at eleven recalls", average_precision_at_levels)
EVERY_POINT: Final = RankingMeasure("Average precision over every recall", average_precision)

_LABELS_OF_2006: Final = LabelRules(
    LabelMeasure("Area under the ROC curve", area_below_found, draw_roc), mean_of_classes
)
_LABELS_OF_2007: Final = LabelRules(
    LabelMeasure(ELEVEN_POINTS.name, precision_at_eleven_recalls, draw_precision), mean_of_classes
)
_LABELS_OF_2010: Final = LabelRules(
    LabelMeasure(EVERY_POINT.name, precision_over_every_recall, draw_precision), mean_of_classes
)

_OF_2006: Final = DetectionRules(
    judge_pascal_2006, overlap_of_pixels, 0.5, ELEVEN_POINTS, mean_of_classes, beside=seek_everything
)
_OF_2007: Final = DetectionRules(
    judge_pascal, overlap_of_pixels, 0.5, ELEVEN_POINTS, mean_of_classes, beside=seek_everything
)
_OF_2010: Final = DetectionRules(
    judge_pascal, overlap_of_pixels, 0.5, EVERY_POINT, mean_of_classes, beside=seek_everything
)

_LAYOUT_OF_2007: Final = LayoutRules(
    judge_boxed_persons_of_2007, WHOLE, True, overlap_of_pixels, 0.5, ELEVEN_POINTS, mean_of_classes
)
_LAYOUT_OF_2008: Final = LayoutRules(
    judge_persons_of_2008, WHOLE, False, overlap_of_pixels, 0.5, ELEVEN_POINTS, mean_of_classes
)
_LAYOUT_OF_2010: Final = LayoutRules(
    judge_parts, PARTS, False, overlap_of_pixels, 0.5, EVERY_POINT, mean_of_classes
)

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
        segmentation=BY_SHARE_FOUND,
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
        (_YEARS[1], replace(_LAYOUT_OF_2007, judge=judge_boxed_persons)),
        (_YEARS[2], replace(_LAYOUT_OF_2008, judge=judge_persons)),
        (_YEARS[3], replace(_LAYOUT_OF_2008, judge=judge_persons)),
    )
)
"""The years whose program makes mistakes, without them."""

_AREA: Final = RankingMeasure(EVERY_POINT.name, average_precision_of_objects)
_PASCAL: Final = DetectionRules(judge_pascal, overlap_of_areas, 0.5, _AREA, mean_of_classes_with_a_value)
_WEIGHTED: Final = replace(_PASCAL, pool=pool_all_classes)
_OPEN_IMAGES: Final = replace(_PASCAL, judge=judge_open_images, seek=seek_single_objects)

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
