"""What each protocol does with each task, in words: made of its row and the words of the row's functions."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from scoring.data.boxes import BoxConvention
from scoring.metrics.boxes import iou_half_open, iou_inclusive
from scoring.metrics.coco.arrays import CocoRules
from scoring.protocol_words import words_of
from scoring.protocols import PROTOCOLS
from scoring.tasks.coco.truth import load_masks
from scoring.tasks.protocol import Protocol
from scoring.tasks.task import Task, TaskRules

_WRITTEN: Final = {
    BoxConvention.INCLUSIVE: "pixels from 1, the right and the bottom one inside the box",
    BoxConvention.HALF_OPEN: "edges from 0, right and bottom behind the last pixel",
}
_AS_STORED: Final = "numbers as the ground truth stores them, without conversion"
_CONVENTIONS: Final = {iou_inclusive: BoxConvention.INCLUSIVE, iou_half_open: BoxConvention.HALF_OPEN}
_FUNCTIONS: Final = ("select_positives", "match", "iou", "pool", "average")


@dataclass(frozen=True, slots=True)
class TaskDescription:
    """How a protocol scores a task, in sentences; None where the task has no such thing.

    counts: what is a positive and what matches it; iou_threshold: the smallest IoU of a match, in [0, 1]; boxes: the
    convention of box coordinates that the IoU is taken in; measure: the figure of a class; mean: how the headline comes from
    the classes; sources: where the rules are published; iou_thresholds: all of them, rising, where there are several.
    """

    task: str
    title: str
    counts: str
    iou_threshold: float | None
    boxes: str | None
    measure: str
    mean: str
    sources: tuple[str, ...]
    iou_thresholds: tuple[float, ...] = ()

    @property
    def threshold(self) -> str | None:
        """The threshold as a condition: "IoU of at least 0.5", or "IoU above 0.5" for the next larger number."""
        if self.iou_threshold is None:
            return None
        if self.iou_thresholds:
            return f"IoU of at least {', '.join(f'{each:g}' for each in self.iou_thresholds)}"
        plain = round(self.iou_threshold, 9)
        above = self.iou_threshold == math.nextafter(plain, 1.0)
        return f"IoU above {plain:g}" if above else f"IoU of at least {plain:g}"


@dataclass(frozen=True, slots=True)
class ProtocolDescription:
    """A protocol's name, its title, other names by which it is found, and how it scores each of its tasks."""

    name: str
    title: str
    other_names: tuple[str, ...]
    tasks: tuple[TaskDescription, ...]


def describe_protocols() -> tuple[ProtocolDescription, ...]:
    """Every protocol in the order of `PROTOCOLS`, each once.

    >>> describe_protocols()[0].name
    'voc2006'
    """
    return tuple(describe_protocol(row) for name, row in PROTOCOLS.items() if name == row.name)


def describe_protocol(protocol: Protocol) -> ProtocolDescription:
    """What a protocol does, of `PROTOCOLS` or any other.

    >>> detection = describe_protocol(PROTOCOLS["voc2012"]).tasks[1]
    >>> detection.threshold, detection.measure.partition(":")[0]
    ('IoU of at least 0.5', 'Average precision')
    """
    others = tuple(name for name, row in PROTOCOLS.items() if row is protocol and name != protocol.name)
    tasks = tuple(_describe_task(each) for each in protocol.tasks)
    return ProtocolDescription(protocol.name, protocol.title, others, tasks)


def _describe_task(each: TaskRules[Any]) -> TaskDescription:
    rules = each.rules
    if isinstance(rules, CocoRules):
        return _describe_coco(each.task, rules)
    functions = [getattr(rules, name) for name in _FUNCTIONS if getattr(rules, name, None)]
    totals = [measure for measure in (rules.measure, getattr(rules, "total", None)) if measure]
    mean = getattr(rules, "pool", None) or rules.average
    sources = (words_of(each).source for each in (*functions, *(measure.of for measure in totals)))
    return TaskDescription(
        each.task.name,
        each.task.title,
        _counts(rules),
        getattr(rules, "iou_threshold", None),
        _boxes(rules),
        " ".join(f"{measure.name}: {words_of(measure.of).text}" for measure in totals),
        words_of(mean).text,
        tuple(dict.fromkeys(source for source in sources if source is not None)),
    )


def _describe_coco(task: Task[Any, Any, Any, CocoRules], rules: CocoRules) -> TaskDescription:
    """What COCO's rules say, whose functions work for all classes and thresholds at once."""
    return TaskDescription(
        task.name,
        task.title,
        counts=" ".join(_counts_of_coco(rules)),
        iou_threshold=float(rules.iou_thresholds[0]),
        boxes=None if task.load is load_masks else _WRITTEN[BoxConvention.HALF_OPEN],
        measure=f"AP: the mean over the thresholds and {len(rules.recalls)} recalls from 0 to 1 of the best precision at such a"
        " recall or beyond it, 0 where it is not reached.",
        mean="Mean over the classes that have an object that counts.",
        sources=("lvis 0.5.3, eval.py" if rules.federated else "pycocotools 2.0.11, cocoeval.py",),
        iou_thresholds=tuple(rules.iou_thresholds.round(9).tolist()),
    )


def _counts_of_coco(rules: CocoRules) -> Iterator[str]:
    yield "Positives are the objects that are not crowds."
    if rules.federated:
        yield f"Of all classes together the {rules.in_image} most confident detections of an image count, and of these the ones"
        yield "of classes that are annotated in the image or known to be absent from it; where a class is not annotated"
        yield "throughout, its unmatched detections are ignored."
    yield f"The {rules.max_detections[-1]} most confident detections of a class in an image are matched, the most confident"
    yield "first, each with the free object of the largest IoU at each threshold; what matches only a crowd is ignored."
    by_size = ", ".join(f"{name} {low:g} to {high:g}" for name, low, high in rules.areas[1:])
    yield f"Figures by size leave out objects, and unmatched detections, of other areas: {by_size} pixels."


def _counts(rules: Any) -> str:
    """What the functions that choose positives and match do; of rules without any what the rules do."""
    functions = [getattr(rules, name) for name in ("select_positives", "match") if hasattr(rules, name)]
    return " ".join(words_of(each).text for each in functions or [type(rules)])


def _boxes(rules: Any) -> str | None:
    if not hasattr(rules, "iou"):
        return None
    convention = getattr(rules, "convention", _CONVENTIONS.get(rules.iou))
    return _AS_STORED if convention is None else _WRITTEN[convention]
