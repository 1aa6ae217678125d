"""What each protocol does with each task, in words: made of its row and the words of the row's functions."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from heldout_scoring import PROTOCOLS, BoxConvention, Protocol, TaskRules


@dataclass(frozen=True, slots=True)
class _Words:
    """What a function does, in sentences, and where it is published; None where it is not."""

    text: str
    source: str | None = None


_TENSORFLOW: Final = "TensorFlow Object Detection API"
_RELEASE: Final = "tf-models-research-object-detection 2.8.0"

_PASCAL: Final = (
    "A detection is matched to the object of its image with the largest IoU, the first of them in an exact tie, if that"
    " reaches the threshold. The most confident detection of an object is a true positive, all further ones are false"
    " positives even where another object is left."
)
_DIFFICULT: Final = " Detections of difficult objects are ignored."
_DROPPED: Final = (
    " Also ignored are boxes whose right edge is not beyond the left or whose bottom edge is not beyond the top,"
    " confidences of -10 or less, and in each image all but the 10,000 most confident of the"
    " others."
)
_SINGLE: Final = f"Single objects are matched first. {_PASCAL}"
_UNVERIFIED: Final = " Detections in images whose labels say nothing of the class are ignored."
_PERSONS: Final = (
    "A layout is a true positive if it has as many parts of each kind as the person, and every part of either has an IoU"
    " that reaches the threshold with one of its kind of the other."
)
_NUMBERED: Final = f"{_PERSONS} Further layouts of a person are false positives; those of persons who are not in the set are ignored."
_BOXED: Final = (
    "A layout belongs to the person of its image, difficult or not, whose box has the largest IoU with its own, if that"
    " reaches the threshold. Only the most confident layout of a person can be a true positive. " + _PERSONS
)
_SINGLE_PART: Final = (
    " As in the program of the year, layouts of persons with a single part are always false positives"
)

_ELEVEN: Final = "The mean of the highest precision at or beyond each of eleven recalls"
_AREA: Final = "The area under the PR curve with precision made monotone"

WORDS: Final[Mapping[str, _Words]] = {
    "LabelRules": _Words(
        "Images or persons with the label 1 are positives, those with -1 negatives; those with 0, which have difficult objects"
        " only, are ignored. What has no prediction ranks last, in the order of the ground truth."
    ),
    "SegmentationRules": _Words(
        "Every pixel that is not void (255) counts once, by its true and its predicted label; the background is a label like"
        " others."
    ),
    "positives_without_difficult": _Words(
        "All objects but difficult ones are positives; a group-of box is an object like any other."
    ),
    "all_objects_positive": _Words("Every annotated object is a positive, difficult or not."),
    "single_objects_positive": _Words(
        "Boxes of single objects are positives, and no group-of box; Open Images has no difficult objects."
    ),
    "match_pascal": _Words(
        _PASCAL + _DIFFICULT,
        'VOC2012 development kit, VOCevaldet.m; it says `>=` where its documentation says "exceeds"',
    ),
    "match_pascal_2006": _Words(
        f"{_PASCAL} The most confident detection of a difficult object is ignored; unlike in later years, further ones are"
        " false positives.",
        "VOC2006 development kit, VOCpr.m",
    ),
    "match_pascal_tensorflow": _Words(
        _PASCAL + _DIFFICULT + _DROPPED, "PascalDetectionEvaluator, WeightedPascalDetectionEvaluator"
    ),
    "match_open_images": _Words(
        f"{_SINGLE} A false positive of which one half or more lies in a group is ignored.{_DROPPED}",
        f"{_RELEASE}, OpenImagesDetectionEvaluator",
    ),
    "match_open_images_documented": _Words(
        f"{_SINGLE} A false positive of which more than one half lies in a group is ignored. No detection is dropped.",
        f"{_TENSORFLOW}, g3doc/evaluation_protocols.md",
    ),
    "match_open_images_challenge": _Words(
        f"{_SINGLE} A group counts as one object: the most confident false positive of which one half or more lies in it"
        f" becomes a true positive if its confidence is above 0, the others are ignored.{_UNVERIFIED}{_DROPPED}",
        f"{_RELEASE}, OpenImagesChallengeEvaluator",
    ),
    "match_open_images_challenge_documented": _Words(
        f"{_SINGLE} A group counts as one object: the most confident false positive of which more than one half lies in it"
        f" becomes a true positive, the others are ignored.{_UNVERIFIED} No detection is dropped.",
        "Open Images Challenge object detection evaluation, the page of the challenge",
    ),
    "match_boxed_persons_2007": _Words(
        f"{_BOXED}{_SINGLE_PART}.", "VOC2007 development kit, VOCevallayout.m"
    ),
    "match_boxed_persons_2007_corrected": _Words(_BOXED),
    "match_persons_2008": _Words(
        f"{_NUMBERED}{_SINGLE_PART}, and layouts rank in the order of the file, whatever their confidence.",
        "VOC2008 development kit, VOCevallayout.m",
    ),
    "match_persons_2008_corrected": _Words(_NUMBERED),
    "match_parts": _Words(
        "Only the most confident layout of each person counts, and none of a person who is not in the set. Its parts are matched"
        " as detections of their kind within this person, in the order of the file, with the confidence of the layout.",
        "VOC2012 development kit, VOCevallayout_pr.m",
    ),
    "iou_inclusive": _Words("", "VOC2012 development kit, VOCevaldet.m"),
    "iou_half_open": _Words("", f"{_TENSORFLOW}, np_box_ops.py"),
    "average_precision_11_points": _Words(
        f"{_ELEVEN}, as in VOC2006 to VOC2009.", "VOC2007 development kit, VOCevaldet.m"
    ),
    "average_precision": _Words(f"{_AREA}, as in VOC2010 to VOC2012.", "VOC2012 development kit, VOCap.m"),
    "average_precision_of_objects": _Words(
        f"{_AREA}, as in VOC2010 to VOC2012; undefined wherever there are no positives.",
        f"{_TENSORFLOW}, metrics.py",
    ),
    "ranked_average_precision_11_points": _Words(
        f"{_ELEVEN}, as in VOC2007 to VOC2009.", "VOC2007 development kit, VOCevalcls.m"
    ),
    "ranked_average_precision": _Words(
        f"{_AREA}, as in VOC2010 to VOC2012.", "VOC2012 development kit, VOCevalcls.m"
    ),
    "roc_auc": _Words(
        "The area under the ROC curve of a class, as in VOC2006; equal confidences make one step.",
        "VOC2006 development kit, VOCroc.m",
    ),
    "iou_of_labels": _Words(
        "Intersection over union of the pixels of each label; undefined for a label that occurs neither as true nor as"
        " predicted.",
        "VOC2008 development kit and later, VOCevalseg.m",
    ),
    "class_accuracy": _Words(
        "The share of the pixels of each true label that are predicted as it; 0 for a label without pixels.",
        "VOC2007 development kit, VOCevalseg.m",
    ),
    "pixel_accuracy": _Words(
        "The share of pixels that are predicted as their true label; undefined without pixels.",
        "VOC2007 development kit, VOCevalseg.m",
    ),
    "mean_of_classes": _Words(
        "The arithmetic mean of the classes, added up from left to right; undefined where there is no class, or where the"
        " measure of one is undefined."
    ),
    "mean_of_classes_with_a_value": _Words(
        "The arithmetic mean of the classes whose measure is defined.",
        f"{_TENSORFLOW}, object_detection_evaluation.py",
    ),
    "pool_all_classes": _Words(
        "All classes are pooled as if they were one, so that a class weighs as much as it has objects. Equal confidences keep"
        " the order of the classes. Detections of a class without positives are false positives.",
        f'{_TENSORFLOW}, g3doc/evaluation_protocols.md, "weighted PASCAL"',
    ),
    "pool_classes_with_positives": _Words(
        "All classes with positives are pooled as if they were one, so that a class weighs as much as it has objects. Equal"
        " confidences keep the order of the classes. Detections of a class without positives are left out.",
        f"{_RELEASE}, object_detection_evaluation.py",
    ),
}
"""By the name of every function that the official protocols use, and of the rules that have none that match."""

_WRITTEN: Final = {
    BoxConvention.INCLUSIVE: "pixels from 1, the right and the bottom one inside the box",
    BoxConvention.HALF_OPEN: "edges from 0, right and bottom behind the last pixel",
}
_AS_STORED: Final = "numbers as the ground truth stores them, without conversion"
_CONVENTIONS: Final = {"iou_inclusive": BoxConvention.INCLUSIVE, "iou_half_open": BoxConvention.HALF_OPEN}
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


@cache
def protocols() -> tuple[ProtocolDescription, ...]:
    """Every protocol in the order of `heldout_scoring.PROTOCOLS`, each once."""
    return tuple(describe_protocol(row) for name, row in PROTOCOLS.items() if name == row.name)


def protocol_named(name: str) -> ProtocolDescription | None:
    """The protocol with this name or alias.

    >>> protocol_named("voc2012").title
    'PASCAL VOC 2012'
    """
    return next((each for each in protocols() if name in (each.name, *each.other_names)), None)


def task_rules(protocol: str, task: str) -> TaskDescription | None:
    """How a protocol scores a task.

    >>> task_rules("voc2007", "detection").threshold, task_rules("none", "detection")
    ('IoU of at least 0.5', None)
    """
    known = protocol_named(protocol)
    return next((each for each in known.tasks if each.task == task), None) if known else None


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
    if hasattr(rules, "iou_thresholds"):
        return _describe_coco(each)
    functions = [getattr(rules, name) for name in _FUNCTIONS if getattr(rules, name, None)]
    totals = [measure for measure in (rules.measure, getattr(rules, "total", None)) if measure]
    mean = getattr(rules, "pool", None) or rules.average
    found = (_words_of(each).source for each in (*functions, *(measure.of for measure in totals)))
    sources = tuple(dict.fromkeys(source for source in found if source is not None))
    return TaskDescription(
        each.task.name,
        each.task.title,
        _counts(rules),
        getattr(rules, "iou_threshold", None),
        _boxes(rules),
        " ".join(f"{measure.name}: {_words_of(measure.of).text}" for measure in totals),
        _words_of(mean).text,
        tuple(each for each in sources if not any(other.startswith(f"{each};") for other in sources)),
    )


def _describe_coco(each: TaskRules[Any]) -> TaskDescription:
    """What COCO's rules say, whose functions work for all classes and thresholds at once."""
    task, rules = each.task, each.rules
    return TaskDescription(
        task.name,
        task.title,
        counts=" ".join(_counts_of_coco(rules)),
        iou_threshold=float(rules.iou_thresholds[0]),
        boxes=None if task.name.endswith("segmentation") else _WRITTEN[BoxConvention.HALF_OPEN],
        measure=f"AP: the mean over the thresholds and {len(rules.recalls)} recalls from 0 to 1 of the best precision at such a"
        " recall or beyond it, 0 where it is not reached.",
        mean="Mean over the classes that have an object that counts.",
        sources=("lvis 0.5.3, eval.py" if rules.federated else "pycocotools 2.0.11, cocoeval.py",),
        iou_thresholds=tuple(rules.iou_thresholds.round(9).tolist()),
    )


def _counts_of_coco(rules: Any) -> Iterator[str]:
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
    return " ".join(_words_of(each).text for each in functions or [type(rules)])


def _boxes(rules: Any) -> str | None:
    if not hasattr(rules, "iou"):
        return None
    convention = getattr(rules, "convention", _CONVENTIONS[rules.iou.__name__])
    return _AS_STORED if convention is None else _WRITTEN[convention]


def _words_of(thing: Callable[..., Any]) -> _Words:
    return WORDS[thing.__name__]
