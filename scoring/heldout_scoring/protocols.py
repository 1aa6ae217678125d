"""Every protocol, one row each.

A new protocol is a new row: no other code depends on which protocol or year it is. The name of a dataset decides only
its competitions and classes (`heldout_scoring.competitions`) and, for the years of PASCAL VOC, the default protocol.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from types import MappingProxyType
from typing import Any, Final, Self, overload

import numpy as np

from .competitions import CHALLENGES
from .data.annotations import PARTS
from .data.arrays import as_counts, as_ranges, as_thresholds
from .errors import DataError, NotFoundError, similar_name
from .metrics.coco import COCO_RULES, LVIS_RULES
from .metrics.layouts import (
    WHOLE,
    match_boxed_persons_2007,
    match_boxed_persons_2007_corrected,
    match_parts,
    match_persons_2008,
    match_persons_2008_corrected,
)
from .metrics.matching import all_objects_positive, iou_inclusive, match_pascal, match_pascal_2006
from .metrics.ranking import AP_11_POINTS, AP_AREA, mean_of_classes
from .tasks.coco import COCO_DETECTION, COCO_SEGMENTATION, LVIS_DETECTION, LVIS_SEGMENTATION
from .tasks.detection import DETECTION, EARLIER_NAMES, TENSORFLOW_ROWS, DetectionRules
from .tasks.labels import (
    ACTION,
    CLASSIFICATION,
    LABELS_AP_11_POINTS,
    LABELS_AP_AREA,
    ROC_AUC,
    LabelRules,
)
from .tasks.layout import LAYOUT, LayoutRules
from .tasks.segmentation import BY_CLASS_ACCURACY, BY_IOU, SEGMENTATION, SegmentationRules
from .tasks.task import Rules, Task, TaskRules


@dataclass(frozen=True, slots=True)
class Protocol:
    """The rules of one year or one evaluator, for the tasks that it scores.

    Raises DataError for other rules under the name of an official protocol.
    """

    name: str
    title: str
    tasks: tuple[TaskRules[Any], ...]

    def __post_init__(self) -> None:
        """Keep official names for official rules."""
        check_name(self)

    @overload
    def rules_of(self, task: Task[Any, Any, Any, Rules]) -> Rules: ...
    @overload
    def rules_of(self, task: str) -> Any: ...
    def rules_of(self, task: Task[Any, Any, Any, Any] | str) -> Any:
        """The rules for a task, or for the task of a name. Raises NotFoundError if the protocol does not score it.

        >>> from heldout_scoring.protocols import PROTOCOLS
        >>> PROTOCOLS["voc2012"].rules_of("detection").iou_threshold
        0.5
        """
        name = task if isinstance(task, str) else task.name
        for each in self.tasks:
            if each.task.name == name:
                return each.rules
        known = ", ".join(each.task.name for each in self.tasks)
        raise NotFoundError(f"protocol '{self.name}' has no rules for {name}; it has rules for {known}")

    def with_rules(self, name: str, title: str, *changed: TaskRules[Any]) -> Self:
        """A protocol of another name that scores some tasks by other rules, or further tasks.

        Raises DataError for the name of an official protocol.

        >>> from heldout_scoring.protocols import PROTOCOLS
        >>> from heldout_scoring.tasks.detection import DETECTION
        >>> strict = replace(PROTOCOLS["voc2012"].rules_of(DETECTION), iou_threshold=0.75)
        >>> row = PROTOCOLS["voc2012"].with_rules("own2026", "Our challenge", TaskRules(DETECTION, strict))
        >>> row.rules_of(DETECTION).iou_threshold
        0.75
        """
        new = {each.task.name: each for each in (*self.tasks, *changed)}
        return replace(self, name=name, title=title, tasks=tuple(new.values()))


_official: dict[str, Protocol] = {}


def reserve_names(protocols: Mapping[str, Protocol]) -> None:
    """Refuse other rules under these names from now on; `heldout_scoring.protocols` does it once for all of its rows."""
    _official.update(protocols)


def check_name(protocol: Protocol) -> None:
    """Raises DataError for other rules under the name of an official protocol."""
    official = _official.get(protocol.name)
    if official is not None and not _is_same(protocol.tasks, official.tasks):
        raise DataError(
            f"'{protocol.name}' is the name of an official protocol with other rules: choose another name"
        )


def _is_same(one: Any, other: Any) -> bool:
    """Whether two rules, or tuples of them, are equal in every field, also after pickling."""
    if type(one) is not type(other):
        return False
    if is_dataclass(one) and not isinstance(one, Task):
        return all(_is_same(getattr(one, each.name), getattr(other, each.name)) for each in fields(one))
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other)
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(_is_same, one, other))
    return bool(one == other)


def spell(choice: Any) -> str:
    """Rules with every function by its name, on one line, as they enter a receipt; fields outside `repr` decide no score.

    >>> from heldout_scoring.metrics.ranking import AP_11_POINTS
    >>> spell(AP_11_POINTS)
    "RankingMeasure(name='11-point average precision', of=average_precision_11_points)"
    """
    if is_dataclass(choice):
        shown = (field for field in fields(choice) if field.repr)
        parts = (f"{field.name}={spell(getattr(choice, field.name))}" for field in shown)
        return f"{type(choice).__name__}({', '.join(parts)})"
    if isinstance(choice, np.ndarray):
        return repr(choice.tolist())
    return choice.__name__ if callable(choice) else repr(choice)


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


def coco(
    *,
    iou: Sequence[float] | None = None,
    areas: Sequence[tuple[str, float, float]] | None = None,
    max_detections: Sequence[int] | None = None,
) -> Protocol:
    """COCO's protocol with other rules for boxes and masks; what is left out stays as it is.

    iou: thresholds above 0 and up to 1, which AP is the mean of; areas: a name, the smallest and the largest area in pixels
    each, of which the first holds all others; max_detections: of a class in an image, the largest of which counts for AP, and
    each for a recall. Lists in any order, each value once. Raises DataError for anything else.

    >>> strict = coco(iou=[0.9, 0.75], max_detections=[300])
    >>> strict.name, strict.rules_of("coco-detection").max_detections
    ('coco(iou=[0.75, 0.9], max_detections=[300])', (300,))
    """
    rules, said = COCO_RULES, []
    if iou is not None:
        thresholds = as_thresholds("iou", iou)
        rules = replace(rules, iou_thresholds=thresholds)
        said.append(f"iou={thresholds.tolist()}")
    if areas is not None:
        ranges = as_ranges("areas", areas)
        rules = replace(rules, areas=ranges)
        said.append(f"areas={list(ranges)}")
    if max_detections is not None:
        counts = as_counts("max_detections", max_detections)
        rules = replace(rules, max_detections=counts)
        said.append(f"max_detections={list(counts)}")
    if not said:
        return COCO
    changed = (TaskRules(each.task, rules) for each in COCO.tasks)
    return COCO.with_rules(f"coco({', '.join(said)})", "COCO with other rules", *changed)


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

    Raises NotFoundError for an unknown name, DataError for other rules under the name of an official protocol.

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
    raise NotFoundError(f"no protocol is called {protocol!r}; {known}")


def default_protocol(dataset: str) -> str:
    """The name of the protocol of a dataset's own year. Raises NotFoundError for a dataset without one.

    >>> default_protocol("VOC2007")
    'voc2007'
    """
    if dataset not in CHALLENGES:
        raise NotFoundError(
            f"the dataset '{dataset}' has no protocol of its own; name one of {', '.join(PROTOCOLS)}"
        )
    return dataset.lower()
