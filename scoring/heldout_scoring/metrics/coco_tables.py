"""Precision and recall of every class, threshold and size, and the twelve figures made of them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import numpy as np

from ..data.arrays import Flags, Floats, Integers, Labels, Places
from ..data.matches import FALSE_POSITIVE, IGNORED, TRUE_POSITIVE
from ..parallel import parallel_map
from .coco import (
    COCO_RULES,
    EVERY_SIZE,
    FREQUENCIES,
    Arranged,
    CocoDetections,
    CocoMatches,
    CocoObjects,
    CocoRules,
    PairIoU,
    PlacedMatches,
    Ranks,
    Sizes,
    accumulate,
    arrange,
    find_pairs,
    match_coco,
)

_ABSENT: Final = -1
_AT_ONCE: Final = 1 << 17
"""Detections that are matched and counted in one go."""


@dataclass(frozen=True, slots=True, eq=False)
class Matched:
    """Which detection was matched with which object, in objects of every size.

    by_class: int32 (k,), rows of the detections that count, by class and then falling confidence; begin: intp (classes + 1,), where classes
    begin in it; matches: with places of detections in `by_class`.
    """

    by_class: Integers
    begin: Places
    matches: tuple[CocoMatches, ...]


@dataclass(frozen=True, slots=True, eq=False)
class CocoTables:
    """What COCO's evaluation knows of every class.

    precision: float64 (areas, thresholds, classes, points), at the most detections that the rules allow; recall: float64
    (areas, counts of detections, thresholds, classes); both in [0, 1], and -1 where a class has no object that counts.
    positives: (areas, classes), how many objects count. parts: the matches of some classes after the other.
    """

    precision: Floats
    recall: Floats
    positives: Places
    parts: tuple[Matched, ...]

    def matched(self) -> Matched:
        """The matches of all classes."""
        before = np.cumsum([0, *(len(part.by_class) for part in self.parts)]).tolist()
        begins = [part.begin[:-1] + first for first, part in zip(before, self.parts, strict=False)]
        return Matched(
            np.concatenate([part.by_class for part in self.parts]),
            np.concatenate([*begins, before[-1:]]),
            tuple(
                CocoMatches(each.threshold, each.detection + first, each.object)
                for first, part in zip(before, self.parts, strict=False)
                for each in part.matches
            ),
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Classes:
    """Some classes that follow each other: the first, the one after the last, their detections and objects."""

    begin: int
    end: int
    detections: Places
    objects: Places


@dataclass(frozen=True, slots=True, eq=False)
class _Job:
    """What the classes have in common; for each area range, which objects are ignored and how many of each class count."""

    detections: CocoDetections
    objects: CocoObjects
    iou: PairIoU
    images: int
    rules: CocoRules
    ignored: Flags
    positives: Places


def tabulate_coco(
    detections: CocoDetections,
    objects: CocoObjects,
    iou: PairIoU,
    *,
    images: int,
    classes: int,
    rules: CocoRules = COCO_RULES,
) -> CocoTables:
    """Match detections with objects and compute precision and recall as pycocotools 2.0.11 does, to the last bit.

    >>> none, one = np.array([False]), np.zeros(1, np.int32)
    >>> car = CocoObjects(one, one, np.array([100.0]), none, none)
    >>> found = CocoDetections(one, one, np.array([0.9]), np.array([100.0]))
    >>> tables = tabulate_coco(found, car, lambda d, o: np.array([0.72]), images=1, classes=1)
    >>> tables.recall[0, -1, :, 0].tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    """
    ignored = np.array([_ignored(area, objects) for area in rules.areas])
    positives = np.array([np.bincount(objects.label[~each], minlength=classes) for each in ignored])
    job = _Job(detections, objects, iou, images, rules, ignored, positives)
    found = list(parallel_map(partial(_tabulate, job), _parts(detections, objects, classes)))
    return CocoTables(
        precision=np.concatenate([precision for precision, _, _ in found], axis=2),
        recall=np.concatenate([recall for _, recall, _ in found], axis=3),
        positives=positives,
        parts=tuple(matched for _, _, matched in found),
    )


def _ignored(area: tuple[str, float, float], objects: CocoObjects) -> Flags:
    _, low, high = area
    return objects.crowd | (objects.area < low) | (objects.area > high)


def _parts(detections: CocoDetections, objects: CocoObjects, classes: int) -> Iterator[_Classes]:
    """All classes, some at a time: what is sorted and counted in one go stays small, and threads share the work."""
    found, there = (
        np.argsort(label.astype(np.min_scalar_type(classes)), kind="stable")
        for label in (detections.label, objects.label)
    )
    begins = np.cumsum([0, *count_labels(detections.label, classes)])
    firsts = np.cumsum([0, *count_labels(objects.label, classes)])
    begin = 0
    while begin < classes or begin == 0:
        end = max(begin + 1, int(np.searchsorted(begins, begins[begin] + _AT_ONCE, side="right")) - 1)
        end = min(end, classes)
        yield _Classes(begin, end, found[begins[begin] : begins[end]], there[firsts[begin] : firsts[end]])
        begin = max(end, 1)


def count_labels(label: Integers, classes: int) -> Places:
    """How many there are of each class, int64 (classes,), without a copy of all labels, int32 (n,), as wider numbers.

    >>> count_labels(np.array([0, 2, 2], np.int32), 3).tolist()
    [1, 0, 2]
    """
    found = np.zeros(classes, np.int64)
    for begin in range(0, len(label), _AT_ONCE):
        found += np.bincount(label[begin : begin + _AT_ONCE], minlength=classes)
    return found


def _tabulate(job: _Job, part: _Classes) -> tuple[Floats, Floats, Matched]:
    """Precision and recall of some classes."""
    rules = job.rules
    arranged = arrange(job.detections, part.detections, job.images, rules.max_detections[-1])
    pairs = find_pairs(arranged, job.objects, part.objects, job.images, job.iou, rules.iou_thresholds[0])
    common, others = match_coco(pairs, job.objects, job.ignored, rules.iou_thresholds)
    ranks = Ranks.of(arranged, (common, *others), part.begin, part.end)
    placed = PlacedMatches.of(common, ranks)
    found = [
        accumulate(
            (placed, PlacedMatches.of(other, ranks)),
            ranks,
            Sizes(ignored, positives[part.begin : part.end], inside),
            rules,
            job.objects.unnumbered,
        )
        for other, ignored, positives, inside in zip(
            others, job.ignored, job.positives, _inside(job, arranged), strict=True
        )
    ]
    return (
        np.array([precision for precision, _ in found]),
        np.array([recall for _, recall in found]),
        Matched(
            arranged.by_class.astype(np.int32),
            ranks.begin,
            tuple(
                replace(each, detection=ranks.place[each.detection]) for each in (common, others[EVERY_SIZE])
            ),
        ),
    )


def _inside(job: _Job, arranged: Arranged) -> Iterator[Integers | None]:
    """For each area range, how many of the first detections are not ignored where they match nothing; None for all."""
    area = job.detections.area[arranged.by_class]
    exempt = None if job.detections.exempt is None else job.detections.exempt[arranged.by_class]
    for _, low, high in job.rules.areas:
        counts = (area >= low) & (area <= high)
        if exempt is not None:
            counts &= ~exempt
        if counts.all():
            yield None
            continue
        inside = np.zeros(len(counts) + 1, np.int32)
        np.cumsum(counts, out=inside[1:])
        yield inside


def figures_of(tables: CocoTables, rules: CocoRules = COCO_RULES) -> Mapping[str, float | None]:
    """The twelve figures of pycocotools' summary, in [0, 1], or None where no class has an object that counts.

    AP is the mean of precision over points, classes and thresholds, AP50 and AP75 those at an IoU of 0.5 and 0.75 where the rules have these, APs,
    APm and APl of small, medium and large objects; AR1, AR10 and AR100 are the means of recall with at most that many detections
    of a class in an image, ARs, ARm and ARl again by size.

    >>> none, one = np.array([False]), np.zeros(1, np.int32)
    >>> car = CocoObjects(one, one, np.array([100.0]), none, none)
    >>> found = CocoDetections(one, one, np.array([0.9]), np.array([100.0]))
    >>> tables = tabulate_coco(found, car, lambda d, o: np.array([0.72]), images=1, classes=1)
    >>> figures_of(tables)["AR1"], figures_of(tables)["APl"]
    (0.5, None)
    """
    return {name: _mean(values) for name, values in _values(tables, rules).items()}


def figures_by_frequency(tables: CocoTables, frequency: Labels) -> Mapping[str, float | None]:
    """AP of rare, common and frequent classes, in [0, 1] or None; frequency: int8 (classes,), 0, 1 or 2.

    Source: lvis 0.5.3, eval.py, LVISEval.summarize.

    >>> none, one = np.array([False]), np.zeros(1, np.int32)
    >>> car = CocoObjects(one, one, np.array([100.0]), none, none)
    >>> found = CocoDetections(one, one, np.array([0.9]), np.array([100.0]))
    >>> tables = tabulate_coco(found, car, lambda d, o: np.array([0.72]), images=1, classes=1)
    >>> figures_by_frequency(tables, np.array([1]))["APr"]
    """
    precision = tables.precision[EVERY_SIZE]
    return {
        f"AP{letter}": _mean(np.compress(frequency == group, precision, axis=1))
        for group, letter in enumerate(FREQUENCIES)
    }


def figures_by_class(tables: CocoTables, rules: CocoRules = COCO_RULES) -> Mapping[str, list[float | None]]:
    """The same twelve figures of each class, in the order of the classes.

    >>> none, one = np.array([False]), np.zeros(1, np.int32)
    >>> car = CocoObjects(one, one, np.array([100.0]), none, none)
    >>> found = CocoDetections(one, one, np.array([0.9]), np.array([100.0]))
    >>> tables = tabulate_coco(found, car, lambda d, o: np.array([0.72]), images=1, classes=2)
    >>> figures_by_class(tables)["AR1"]
    [0.5, None]
    """
    return {name: _means_by_class(values) for name, values in _values(tables, rules).items()}


def _values(tables: CocoTables, rules: CocoRules) -> Mapping[str, Floats]:
    """What each figure is the mean of: float64 (thresholds, classes, …)."""
    precision, recall = tables.precision, tables.recall
    found = {"AP": precision[EVERY_SIZE]}
    for threshold in (0.5, 0.75):
        if threshold not in rules.iou_thresholds:
            continue
        found[f"AP{threshold * 100:.0f}"] = precision[EVERY_SIZE][rules.iou_thresholds == threshold]
    sizes = list(enumerate(rules.sizes, EVERY_SIZE + 1))
    found |= {f"AP{name}": precision[index] for index, name in sizes}
    found |= {f"AR{most}": recall[EVERY_SIZE, index] for index, most in enumerate(rules.max_detections)}
    return found | {f"AR{name}": recall[index, -1] for index, name in sizes}


def _means_by_class(values: Floats) -> list[float | None]:
    """A class is absent at every threshold and point or at none."""
    means = values.mean(axis=(0, *range(2, values.ndim)))
    return [None if value == _ABSENT else value for value in means.tolist()]


def _mean(values: Floats) -> float | None:
    present: Flags = values != _ABSENT
    return float(values[present].mean()) if present.any() else None


def outcomes_of(
    matched: Matched, detections: CocoDetections, objects: CocoObjects, rules: CocoRules
) -> Labels:
    """Whether each detection is a true positive (1), a false positive (0) or ignored (-1) among objects of every size.

    Returns int8 (k, thresholds), in the order of `matched.by_class`.

    >>> none, one = np.array([False]), np.zeros(1, np.int32)
    >>> car = CocoObjects(one, one, np.array([100.0]), none, none)
    >>> found = CocoDetections(one, one, np.array([0.9]), np.array([100.0]))
    >>> tables = tabulate_coco(found, car, lambda d, o: np.array([0.72]), images=1, classes=1)
    >>> outcomes_of(tables.matched(), found, car, COCO_RULES).tolist()
    [[1, 1, 1, 1, 1, 0, 0, 0, 0, 0]]
    """
    _, low, high = rules.areas[EVERY_SIZE]
    ignored = objects.crowd | (objects.area < low) | (objects.area > high)
    unmatched = (detections.area < low) | (detections.area > high)
    if detections.exempt is not None:
        unmatched |= detections.exempt
    of_objects = np.where(objects.unnumbered, np.int8(FALSE_POSITIVE), np.int8(TRUE_POSITIVE))
    of_objects[ignored] = IGNORED
    of_others = np.where(unmatched[matched.by_class], np.int8(IGNORED), np.int8(FALSE_POSITIVE))
    found = np.repeat(of_others[:, np.newaxis], len(rules.iou_thresholds), axis=1)
    for matches in matched.matches:
        found[matches.detection, matches.threshold] = of_objects[matches.object]
    return found
